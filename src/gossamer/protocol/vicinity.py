"""Vicinity: a view of the peers most alike, found by gossip on top of random samples (Voulgaris, van Steen 2005).

A row writes to the peer of its oldest entry the entries nearest to *that peer*, out of both its views, and gets the same
back. Whoever overlaps is at distance 0; there are usually more of those than places, and which of them stay is drawn anew
at every merge. Sub-2-Sub takes its shortcuts from this view: fixed ties would cluster them and triple the hops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gossamer.arrays import NONE, Coordinates, Cycles, Handles, Keys
from gossamer.draws import Purpose, below, draw, mix
from gossamer.interest.ask import HIGH, LOW, distance
from gossamer.jit import kernel, prefetch, tiny
from gossamer.protocol.cyclon import Samples
from gossamer.protocol.descriptor import Book, age, same_peer
from gossamer.protocol.links import Links
from gossamer.protocol.view import ANSWER, ASK, MOST_PLACES, Mail, Now, oldest

__all__ = ["Desk", "Near", "Params", "desk", "drop", "give_up", "merge", "near", "reply", "request"]


@dataclass(frozen=True, kw_only=True)
class Params:
    """How Vicinity is set."""

    view: int = 20
    """Places of a view. The plain reading of the papers; 40 finds ring neighbours sooner."""
    shuffle: int = 10
    """Entries of an exchange, the sender's own among them. A guess: the papers name none."""
    rings_too: bool = False
    """Whether what is sent is chosen out of the ring view as well. It holds the few who share a box's thin corners, whom a
    random choice among all that overlap seldom shows."""

    def __post_init__(self) -> None:
        if not 1 <= self.view <= 1000:  # noqa: PLR2004
            raise ValueError(f"view: {self.view} places; expected 1..1000")
        if not 1 <= self.shuffle <= self.view:
            raise ValueError(f"shuffle: {self.shuffle} entries; expected 1..view ({self.view})")


class Near(NamedTuple):
    """Vicinity's state, by row; a view is kept nearest first."""

    handles: Handles
    """(N, K) int32."""
    born: Cycles
    """(N, K) uint16."""
    partner: Handles
    """(N,) int32: who has been written to and has not answered, or NONE."""


class Desk(NamedTuple):
    """Room to choose in: the candidates, and the nearest of them."""

    handles: Handles
    born: Cycles
    place: Handles
    """(C,) int32: places on the desk: of candidates at distance 0 from the front, of the others from the back."""
    rank: Keys
    """(C,) uint64: how near a candidate is, above its place on the desk; so no two are equal."""
    order: Keys
    """(C,) uint64: the same, rising."""
    best: Keys
    """(K,) uint64: the ranks of the nearest, rising."""
    inbox: Handles
    inbox_born: Cycles


_S16, _S28 = np.uint64(16), np.uint64(28)
_PLACE = np.uint64(0xFFFF)
_MOST_CANDIDATES = 1 << 16


def near(rows: int, params: Params) -> Near:
    """Empty views for so many rows."""
    return Near(
        handles=np.full((rows, params.view), NONE, np.int32),
        born=np.zeros((rows, params.view), np.uint16),
        partner=np.full(rows, NONE, np.int32),
    )


def desk(params: Params, others: int = 256) -> Desk:
    """Room for one row at a time, with so many links or entries of a message beside its views."""
    candidates = min(params.view + MOST_PLACES + max(params.shuffle, others), _MOST_CANDIDATES)
    return Desk(
        handles=np.zeros(candidates, np.int32),
        born=np.zeros(candidates, np.uint16),
        place=np.zeros(candidates, np.int32),
        rank=np.zeros(candidates, np.uint64),
        order=np.zeros(candidates, np.uint64),
        best=np.zeros(max(params.view, params.shuffle), np.uint64),
        inbox=np.zeros(params.shuffle, np.int32),
        inbox_born=np.zeros(params.shuffle, np.uint16),
    )


@kernel
def _nearest(book: Book, desk: Desk, count: int, target: int, salt: np.uint64, most: int, now: int) -> int:
    """Put the `most` nearest of the first `count` candidates, once a peer, in order; how many they are.

    Those at distance 0 come first, in an order drawn by the salt. They are found without a branch, so many boxes are
    fetched at a time; how far away the others are is asked only where places are left.

    A distance above 0 ranks by the upper 48 of its bits (floats above 0 are ordered as their bits are), which are all above
    2**36; what is drawn stays below.
    """
    if book.versioned != 0:
        count = _without_outdated(book, desk, count)
    alike, apart = 0, count
    for c in range(count):
        desk.place[alike] = desk.place[apart - 1] = c
        far = _apart(book.wants.boxes, target, desk.handles[c])
        alike, apart = alike + 1 - far, apart - far
    for r in range(alike):
        c = desk.place[r]
        desk.rank[r] = (mix(salt ^ book.key[desk.handles[c]]) >> _S28 << _S16) | np.uint64(c)
    kept = _keep(desk, alike, 0, most, now)
    if kept < most and alike < count:
        for r in range(count - alike):
            c = desk.place[alike + r]
            bits = np.float64(distance(book.wants, target, desk.handles[c])).view(np.uint64)
            desk.rank[r] = (bits >> _S16 << _S16) | np.uint64(c)
        kept = _keep(desk, count - alike, kept, most, now)
    return kept


@tiny
def _apart(boxes: Coordinates, one: int, other: int) -> int:
    """1 when two boxes have no point in common, else 0; computed without a branch."""
    apart = 0
    for d in range(boxes.shape[2]):
        apart |= int(boxes[one, LOW, d] > boxes[other, HIGH, d]) | int(boxes[other, LOW, d] > boxes[one, HIGH, d])
    return apart


@kernel
def _keep(desk: Desk, count: int, kept: int, most: int, now: int) -> int:
    """Put the ranked in order behind those kept already, each peer once as its youngest entry tells; how many are kept then.

    A rank's place is the number of those below it: more comparisons than sorting takes, but a machine makes many at once.
    """
    rank, order, best = desk.rank, desk.order, desk.best
    for r in range(count):
        at = 0
        for other in range(count):
            at += int(rank[other] < rank[r])
        order[at] = rank[r]
    for r in range(count):
        c = order[r] & _PLACE
        twin = kept - 1  # the same peer from two sides has the same rank, but for its place on the desk
        while twin >= 0 and best[twin] ^ order[r] <= _PLACE and desk.handles[best[twin] & _PLACE] != desk.handles[c]:
            twin -= 1
        if twin >= 0 and best[twin] ^ order[r] <= _PLACE:
            old = best[twin] & _PLACE
            if age(desk.born[c], now) < age(desk.born[old], now):
                desk.born[old] = desk.born[c]
        elif kept < most:
            best[kept] = order[r]
            kept += 1
        elif best[kept - 1] ^ order[r] > _PLACE:
            break
    return kept


@kernel
def _without_outdated(book: Book, desk: Desk, count: int) -> int:
    """Take from the desk whoever has a newer version there, however far away what it wants now may be; the new count."""
    kept = 0
    for c in range(count):
        handle, outdated = desk.handles[c], False
        for other in range(count):
            latest = desk.handles[other]
            if book.version[latest] > book.version[handle] and book.key[latest] == book.key[handle]:
                outdated = True
        if not outdated:
            desk.handles[kept], desk.born[kept] = handle, desk.born[c]
            kept += 1
    return kept


@tiny
def _gather(book: Book, handles: Handles, born: Cycles, target: int, desk: Desk, count: int) -> int:
    """Lay everybody in a view, but the target itself, on the desk; the new count."""
    for k in range(min(handles.shape[0], desk.handles.shape[0] - count)):
        handle = handles[k]
        prefetch(book.wants.boxes, max(handle, 0))
        desk.handles[count], desk.born[count] = handle, born[k]
        count += int(handle != NONE and not same_peer(book, handle, target))
    return count


@tiny
def give_up(book: Book, view: Near, i: int) -> None:
    """End an exchange that brought no answer: the partner is taken for dead."""
    if view.partner[i] != NONE:
        drop(book, view, i, view.partner[i])
        view.partner[i] = NONE


@kernel
def drop(book: Book, view: Near, i: int, handle: int) -> None:
    """Forget a peer known to be dead; those behind it move up."""
    to = 0
    for k in range(view.handles.shape[1]):
        other = view.handles[i, k]
        if other != NONE and not same_peer(book, other, handle):
            view.handles[i, to], view.born[i, to] = other, view.born[i, k]
            to += 1
    for k in range(to, view.handles.shape[1]):
        view.handles[i, k] = NONE


@tiny
def _write(
    book: Book,
    now: Now,
    view: Near,
    sample: Samples,
    links: Links,
    i: int,
    own: int,
    to: int,
    mail: Mail,
    m: int,
    asks: int,
    rings_too: int,
    desk: Desk,
    n: int,
) -> None:
    """Write to a peer whom it should know: ourselves, then the nearest to it that we know."""
    entries = mail.handles.shape[1]
    salt = draw(now.seed, book.key[own], now.cycle, Purpose.VICINITY_TIE, n)
    count = _gather(book, view.handles[i], view.born[i], to, desk, 0)
    count = _gather(book, sample.handles[i], sample.born[i], to, desk, count)
    if rings_too != 0:
        first, last = links.start[i], links.start[i] + links.size[i]
        count = _gather(book, links.handles[first:last], links.born[first:last], to, desk, count)
    count = _nearest(book, desk, count, to, salt, entries - 1, now.cycle)
    mail.sender[m], mail.to[m], mail.stamp[m], mail.asks[m] = own, to, now.cycle, asks
    mail.handles[m, 0], mail.born[m, 0] = own, now.cycle
    for e in range(1, entries):
        if e <= count:
            c = desk.best[e - 1] & _PLACE
            mail.handles[m, e], mail.born[m, e] = desk.handles[c], desk.born[c]
        else:
            mail.handles[m, e] = NONE


@tiny
def _take_in(
    book: Book, now: Now, view: Near, sample: Samples, i: int, own: int, entries: Handles, minted: Cycles, desk: Desk, n: int
) -> None:
    """Keep the nearest of all that the row has and gets."""
    places = view.handles.shape[1]
    salt = draw(now.seed, book.key[own], now.cycle, Purpose.VICINITY_TIE, n)
    count = _gather(book, view.handles[i], view.born[i], own, desk, 0)
    count = _gather(book, sample.handles[i], sample.born[i], own, desk, count)
    count = _gather(book, entries, minted, own, desk, count)
    count = _nearest(book, desk, count, own, salt, places, now.cycle)
    for k in range(places):
        if k < count:
            c = desk.best[k] & _PLACE
            view.handles[i, k], view.born[i, k] = desk.handles[c], desk.born[c]
        else:
            view.handles[i, k] = NONE


@tiny
def request(
    book: Book,
    now: Now,
    view: Near,
    sample: Samples,
    links: Links,
    i: int,
    own: int,
    mail: Mail,
    m: int,
    rings_too: int,
    desk: Desk,
) -> bool:
    """Write to the peer of the oldest entry, or to a random sample while the view is empty; whether there was anybody."""
    give_up(book, view, i)
    place = oldest(view.handles[i], view.born[i], now.cycle)
    if place != NONE:
        partner = view.handles[i, place]
    else:
        partner = NONE
        start = below(draw(now.seed, book.key[own], now.cycle, Purpose.VICINITY_PARTNER, 0), sample.handles.shape[1])
        for k in range(sample.handles.shape[1]):
            partner = sample.handles[i, (start + k) % sample.handles.shape[1]]
            if partner != NONE:
                break
        if partner == NONE:
            return False
    _write(book, now, view, sample, links, i, own, partner, mail, m, ASK, rings_too, desk, 0)
    view.partner[i] = partner
    return True


@tiny
def reply(
    book: Book,
    now: Now,
    view: Near,
    sample: Samples,
    links: Links,
    i: int,
    own: int,
    mail: Mail,
    m: int,
    rings_too: int,
    desk: Desk,
    n: int,
) -> None:
    """Answer request m, the n-th this row gets in this tick, then merge it; the answer takes its place in the mail."""
    for e in range(mail.handles.shape[1]):
        desk.inbox[e], desk.inbox_born[e] = mail.handles[m, e], mail.born[m, e]
    _write(book, now, view, sample, links, i, own, mail.sender[m], mail, m, ANSWER, rings_too, desk, 2 * n + 1)
    _take_in(book, now, view, sample, i, own, desk.inbox, desk.inbox_born, desk, 2 * n + 2)


@tiny
def merge(book: Book, now: Now, view: Near, sample: Samples, i: int, own: int, mail: Mail, m: int, desk: Desk, n: int) -> None:
    """Take in answer m, the n-th mail of the kind this row gets in this tick."""
    if view.partner[i] != NONE and same_peer(book, view.partner[i], mail.sender[m]):
        view.partner[i] = NONE
    _take_in(book, now, view, sample, i, own, mail.handles[m], mail.born[m], desk, 2 * n + (1 << 20))
