"""Spreading without duplicates: whoever gets an event is told which arc of the ring to see to, and delegates.

Those who want an event stand in a ring by key, so responsibility can be cut like a cake. The receiver takes up to `fanout`
peers it knows inside its arc, the next ones either way always among them, the rest spread evenly by key; each gets the part
of the arc around it, cut halfway to its neighbours. So each receives one copy, and the tree is as shallow as what is known
allows.

There is no redundancy, so three additions belong to the mode. *Check*: the next one up gets the gap back to its sender as
part of its arc, and may know of somebody there; free. *Close*: the last of a part tells the next one beyond it, who may know
of somebody in between and answers with a hint; a small message. *Fail-over*: a part whose receiver is dead goes whole to
another inside it; where none is known, those inside are sought from the far side: somebody beyond the gap is asked, passes the
question on to the one it knows nearest to the gap's near end, and so on, until one is met that has not had the event.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gossamer.arrays import NONE, Coordinates, Handles, Keys
from gossamer.interest.ask import matches
from gossamer.jit import kernel, tiny
from gossamer.protocol.descriptor import Book, same_peer
from gossamer.protocol.links import Links
from gossamer.protocol.spread import ARC, CLOSE, DONE, HINT, NO_MAIL, SEEK, Copies, Happenings, next_down, next_up, write
from gossamer.protocol.views import Views, most_known

__all__ = [
    "DOWN",
    "NO_DESK",
    "UP",
    "Desk",
    "answer_close",
    "ask_beyond",
    "bounced",
    "cover",
    "desk",
    "follow_hint",
    "go_on",
    "step_around",
    "whole",
]

NO_DESK = 3
"""Too many candidates for the desk; nothing has changed."""

UP, DOWN = np.uint64(0), np.uint64(1)
"""Which way the one looks who asks whether somebody lies in between; which way a search goes."""
_FIRST, _SOUGHT = np.uint64(2), np.uint64(4)
"""Beside the way: the first step of a search, across the gap; a hint that answers one."""

_0 = np.uint64(0)
_1 = np.uint64(1)
_HALF = np.uint64(1 << 63)
_MOST_HOPS = 200
"""A hint is not followed for ever: views that contradict each other could pass an event back and forth."""


class Desk(NamedTuple):
    """Candidates of one side of an arc, nearest first."""

    handles: Handles
    apart: Keys
    """(C,) uint64: key distance from the row, on the side looked at."""
    chosen: Handles
    """(F,) int32: positions among the candidates."""


def desk(candidates: int = 256) -> Desk:
    """Room for so many candidates."""
    return Desk(handles=np.zeros(candidates, np.int32), apart=np.zeros(candidates, np.uint64), chosen=np.zeros(64, np.int32))


@tiny
def whole(key: np.uint64) -> np.uint64:
    """Both ends of the arc that is the whole circle, for the first who gets an event: the point opposite its key."""
    return key + _HALF


@tiny
def _add(desk: Desk, count: int, handle: int, apart: np.uint64) -> int:
    """Put one candidate in its place by distance, once a peer; the new count."""
    at = count
    while at > 0 and desk.apart[at - 1] > apart:
        at -= 1
    if at > 0 and desk.apart[at - 1] == apart:
        return count
    for later in range(count, at, -1):
        desk.handles[later], desk.apart[later] = desk.handles[later - 1], desk.apart[later - 1]
    desk.handles[at], desk.apart[at] = handle, apart
    return count + 1


@kernel
def _gather(
    book: Book,
    point: Coordinates,
    views: Views,
    i: int,
    own: int,
    up: int,
    reach: np.uint64,
    desk: Desk,
) -> int:
    """All known peers who want the point and lie within reach on one side; how many."""
    count, key = 0, book.key[own]
    links, near, sample, fingers = views.links, views.near, views.sample, views.fingers
    first, last = links.start[i], links.start[i] + links.size[i]
    for step in range(last - first):
        at = first + step if up != 0 else last - 1 - step
        apart = links.offset[at] if up != 0 else ~links.offset[at] + _1
        if apart > reach:
            break
        if matches(book.wants, links.handles[at], point):
            count = _add(desk, count, links.handles[at], apart)
    for k in range(fingers.handles.shape[1]):
        count = _weigh(book, point, key, fingers.handles[i, k], up, reach, desk, count)
    for k in range(near.handles.shape[1]):
        count = _weigh(book, point, key, near.handles[i, k], up, reach, desk, count)
    for k in range(sample.handles.shape[1]):
        count = _weigh(book, point, key, sample.handles[i, k], up, reach, desk, count)
    return count


@tiny
def _weigh(
    book: Book, point: Coordinates, key: np.uint64, handle: int, up: int, reach: np.uint64, desk: Desk, count: int
) -> int:
    if handle == NONE:
        return count
    apart = book.key[handle] - key if up != 0 else key - book.key[handle]
    if apart == _0 or apart > reach or not matches(book.wants, handle, point):
        return count
    return _add(desk, count, handle, apart)


@kernel
def _choose(desk: Desk, count: int, parts: int, reach: np.uint64) -> int:
    """Choose up to `parts` candidates: the nearest, and those nearest to even cuts of what is in reach; how many."""
    if count <= parts:
        for c in range(count):
            desk.chosen[c] = c
        return count
    desk.chosen[0] = 0
    kept, c = 1, 1
    for part in range(1, parts):
        aim = np.uint64((float(part) + 0.5) / float(parts) * float(reach))
        spare = parts - 1 - part  # leave one candidate for each part still to come
        while c < count - 1 - spare and desk.apart[c] < aim:
            c += 1
        if c > desk.chosen[kept - 1] + 1 and desk.apart[c] > aim and aim - desk.apart[c - 1] < desk.apart[c] - aim:
            c -= 1
        desk.chosen[kept] = c
        kept += 1
        c += 1
    return kept


@tiny
def _parts(share: float, fanout: int) -> int:
    """Into how many parts one side is cut that has so large a share of the arc; each side gets one at least."""
    return min(max(int(share * fanout + 0.5), 1), fanout - 1)


@kernel
def _delegate(
    desk: Desk, parts: int, up: int, reach: np.uint64, key: np.uint64, own: int, event: int, hop: int, out: Copies
) -> None:
    """Give each chosen one the part of the side around it, cut halfway to the next."""
    start = _0
    for p in range(parts):
        c = desk.chosen[p]
        end = reach
        if p + 1 < parts:
            apart = desk.apart[c]
            end = apart + (desk.apart[desk.chosen[p + 1]] - apart) // np.uint64(2)
        if up != 0:
            write(out, own, desk.handles[c], ARC, event, hop + 1, key + start, key + end, NONE)
        else:
            write(out, own, desk.handles[c], ARC, event, hop + 1, key - end - _1, key - start - _1, NONE)
        start = end


@kernel
def cover(
    book: Book,
    happenings: Happenings,
    views: Views,
    i: int,
    own: int,
    source: int,
    event: int,
    hop: int,
    low: np.uint64,
    high: np.uint64,
    fanout: int,
    close: int,
    desk: Desk,
    out: Copies,
) -> int:
    """See to the arc (low, high] around row i: cut it among those known inside, tell the next one beyond where it ends."""
    if most_known(views, i) > desk.handles.shape[0]:
        return NO_DESK
    if out.used[0] + fanout + 2 > out.to.shape[0]:
        return NO_MAIL
    key, point = book.key[own], happenings.points[event]
    reach_up, reach_down = high - key, key - low - _1
    share = float(reach_up) / (float(reach_up) + float(reach_down) + 1.0)
    ups = _gather(book, point, views, i, own, 1, reach_up, desk)
    if ups > 0:
        parts = _choose(desk, ups, _parts(share, fanout), reach_up)
        _delegate(desk, parts, 1, reach_up, key, own, event, hop, out)
    downs = _gather(book, point, views, i, own, 0, reach_down, desk)
    if downs > 0:
        parts = _choose(desk, downs, _parts(1.0 - share, fanout), reach_down)
        _delegate(desk, parts, 0, reach_down, key, own, event, hop, out)
    if ups == 0 and close != 0:
        at = next_up(book, views.links, i, point, reach_up)
        if at != NONE and (source == NONE or not same_peer(book, views.links.handles[at], source)):
            write(out, own, views.links.handles[at], CLOSE, event, hop, UP, _0, NONE)
    return DONE


@kernel
def answer_close(
    book: Book,
    happenings: Happenings,
    links: Links,
    i: int,
    own: int,
    sender: int,
    dead: int,
    event: int,
    hop: int,
    way: np.uint64,
    held: int,
    out: Copies,
) -> int:
    """Somebody says that nobody lies between it and us, but for one found dead: if we know better, see to it, or say who.

    way  : uint64  UP when it looks up to us, DOWN when it looks down
    held : int     whether we have had the event, and so can pass it on
    """
    if out.used[0] + 1 > out.to.shape[0]:
        return NO_MAIL
    point, offset, other = happenings.points[event], book.key[sender] - book.key[own], NONE
    if way == UP:
        at = next_down(book, links, i, point, ~_0)
        if at != NONE and dead != NONE and same_peer(book, links.handles[at], dead):
            at = next_down(book, links, i, point, links.offset[at])
        if at != NONE and links.offset[at] > offset:
            other = links.handles[at]
    else:
        at = next_up(book, links, i, point, _0)
        if at != NONE and dead != NONE and same_peer(book, links.handles[at], dead):
            at = next_up(book, links, i, point, links.offset[at])
        if at != NONE and links.offset[at] < offset:
            other = links.handles[at]
    if other == NONE:
        return DONE
    if held == 0:
        write(out, own, sender, HINT, event, hop, way, _0, other)
    else:
        low, high = (sender, own) if way == UP else (own, sender)
        write(out, own, other, ARC, event, hop + 1, book.key[low], book.key[high] - _1, NONE)
    return DONE


@kernel
def follow_hint(
    book: Book,
    happenings: Happenings,
    own: int,
    sender: int,
    other: int,
    event: int,
    hop: int,
    way: np.uint64,
    end: np.uint64,
    out: Copies,
) -> int:
    """Somebody knows of one between us and it who wants the event: that one gets the arc between us."""
    if out.used[0] + 1 > out.to.shape[0]:
        return NO_MAIL
    if hop >= _MOST_HOPS or not matches(book.wants, other, happenings.points[event]):
        return DONE
    low, high = (book.key[own], book.key[sender] - _1) if way & DOWN == UP else (book.key[sender], book.key[own] - _1)
    if way & _SOUGHT != _0:  # the gap, up to it; from us to the gap's end where it was asked by one who went towards that
        up = way & DOWN == UP
        if way & _FIRST != _0:
            low, high = (book.key[other] - _1, end) if up else (end - _1, book.key[other])
        else:
            low, high = (book.key[own], end) if up else (end - _1, book.key[own] - _1)
    write(out, own, other, ARC, event, hop + 1, low, high, NONE)
    return DONE


@kernel
def ask_beyond(
    book: Book,
    happenings: Happenings,
    links: Links,
    i: int,
    own: int,
    dead: int,
    event: int,
    hop: int,
    beyond: np.uint64,
    way: np.uint64,
    out: Copies,
) -> None:
    """Ask the first one known beyond an offset whether it knows somebody in between; there must be room."""
    if hop < _MOST_HOPS:
        point = happenings.points[event]
        at = next_up(book, links, i, point, beyond) if way == UP else next_down(book, links, i, point, beyond)
        if at != NONE:
            write(out, own, links.handles[at], CLOSE, event, hop, way, _0, dead)


@kernel
def bounced(
    book: Book,
    happenings: Happenings,
    views: Views,
    i: int,
    own: int,
    event: int,
    hop: int,
    low: np.uint64,
    high: np.uint64,
    desk: Desk,
    out: Copies,
) -> int:
    """The one who was to see to an arc is dead, and forgotten: give the arc whole to the one nearest to its middle.

    Where nobody is known inside, those inside are sought from beyond.
    """
    if most_known(views, i) > desk.handles.shape[0]:
        return NO_DESK
    if out.used[0] + 1 > out.to.shape[0]:
        return NO_MAIL
    key, point = book.key[own], happenings.points[event]
    up = int(high - key < key - low)  # the arc lies on one side of the row alone
    near_end = low - key if up != 0 else key - high - _1
    far_end = high - key if up != 0 else key - low - _1
    count = _gather(book, point, views, i, own, up, far_end, desk)
    middle, best, least = near_end + (far_end - near_end) // np.uint64(2), NONE, ~_0
    for c in range(count):
        if desk.apart[c] > near_end:
            away = desk.apart[c] - middle if desk.apart[c] > middle else middle - desk.apart[c]
            if away < least:
                best, least = c, away
    if best != NONE:
        write(out, own, desk.handles[best], ARC, event, hop, low, high, NONE)
    else:
        end = low + _1 if up != 0 else high
        ask_across(book, happenings, views, i, own, event, hop, up, far_end, end, desk, out)
    return DONE


@kernel
def ask_across(
    book: Book,
    happenings: Happenings,
    views: Views,
    i: int,
    own: int,
    event: int,
    hop: int,
    up: int,
    beyond: np.uint64,
    end: np.uint64,
    desk: Desk,
    out: Copies,
) -> int:
    """Begin a search: ask the first one known beyond a distance, on the far side of a gap, to go towards the gap's near end."""
    if hop >= _MOST_HOPS:
        return DONE
    count = _gather(book, happenings.points[event], views, i, own, up, ~_0, desk)
    for c in range(count):
        if desk.apart[c] > beyond:
            way = DOWN if up != 0 else UP
            write(out, own, desk.handles[c], SEEK, event, hop + 1, way | _FIRST, end, NONE)
            break
    return DONE


@kernel
def go_on(
    book: Book,
    happenings: Happenings,
    views: Views,
    i: int,
    own: int,
    source: int,
    event: int,
    hop: int,
    way: np.uint64,
    end: np.uint64,
    held: int,
    desk: Desk,
    out: Copies,
) -> int:
    """Go on with a search: to the one known nearest to the gap's near end; or say that we are one who was missed.

    source : int     who asks us
    way    : uint64  which way the search goes, and whether this is its first step
    end    : uint64  the last key of the gap, that way
    """
    if most_known(views, i) > desk.handles.shape[0]:
        return NO_DESK
    if out.used[0] + 1 > out.to.shape[0]:
        return NO_MAIL
    if hop >= _MOST_HOPS:
        return DONE
    if held == 0:
        write(out, own, source, HINT, event, hop, way | _SOUGHT, end, own)
        return DONE
    key, up = book.key[own], int(way & DOWN == UP)
    reach = end - key if up != 0 else key - end
    count = _gather(book, happenings.points[event], views, i, own, up, reach, desk)
    if count > 0:
        write(out, own, desk.handles[count - 1], SEEK, event, hop + 1, way & DOWN, end, NONE)
    return DONE


@kernel
def step_around(
    book: Book,
    happenings: Happenings,
    views: Views,
    i: int,
    own: int,
    dead: int,
    event: int,
    hop: int,
    way: np.uint64,
    end: np.uint64,
    desk: Desk,
    out: Copies,
) -> int:
    """The one asked in a search is dead, and forgotten: ask the next best."""
    if way & _FIRST == _0:
        return go_on(book, happenings, views, i, own, NONE, event, hop - 1, way, end, 1, desk, out)
    if most_known(views, i) > desk.handles.shape[0]:
        return NO_DESK
    if out.used[0] + 1 > out.to.shape[0]:
        return NO_MAIL
    up = int(way & DOWN != UP)  # we stand on the other side of the gap, and look across
    beyond = book.key[dead] - book.key[own] if up != 0 else book.key[own] - book.key[dead]
    return ask_across(book, happenings, views, i, own, event, hop - 1, up, beyond, end, desk, out)
