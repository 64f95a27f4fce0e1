"""Rings: for every event, those who want it stand in a circle by key, and each learns who is next to it by asking.

A row writes to one of its links what that peer would select out of all that the row knows, and gets the same back. What a
row selects, and why the order of the mail does not matter, is in `links`.

The surprising thing is that all ring mail of a tick is answered from the views as they stood at its start, and then merged
in one selection: a hub is written to by hundreds in a tick, and selecting is all of the cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gossamer.arrays import NONE, Handles
from gossamer.draws import Purpose, below, draw, uniform
from gossamer.interest.ask import overlaps
from gossamer.interest.cover import frame
from gossamer.jit import kernel, tiny
from gossamer.protocol.cyclon import Samples
from gossamer.protocol.descriptor import Book, same_peer
from gossamer.protocol.links import TELL, Links, consider, drop, find, place, reselect, settle
from gossamer.protocol.selection import (
    AHEAD,
    ASKED,
    BEHIND,
    BOTH,
    DONE,
    FRESH,
    MET,
    NO_DESK,
    NO_MAIL,
    NO_PIECES,
    WHOLE,
    Desk,
    put,
    select,
)
from gossamer.protocol.vicinity import Near
from gossamer.protocol.view import ANSWER, ASK, BOUNCE, Now, Parcels

__all__ = ["Params", "drop", "exchanges", "merge", "reply", "request", "reselect", "tell"]

_0 = np.uint64(0)
_1 = np.uint64(1)


@dataclass(frozen=True, kw_only=True)
class Params:
    """How rings are kept."""

    depth: int = 1
    """How many next ones are kept for each event and direction. 1 is the paper; more are backups."""
    links_per_exchange: int = 0
    """Start one exchange more per so many links, so that hubs keep up; 0: one exchange a cycle, the plain reading."""
    in_turn: bool = False
    """Ask the links in turn instead of at random."""
    haste: int = 0
    """Start one exchange more for each link never written to nor heard of, up to so many a cycle, and ask those first."""
    samples_too: bool = True
    """Whether what is sent is selected out of all three views, as the paper has it, or out of the ring view alone."""
    stray: float = 0.0
    """Chance of asking a random overlapping peer instead of a ring neighbour."""

    def __post_init__(self) -> None:
        if not 1 <= self.depth <= 16:  # noqa: PLR2004
            raise ValueError(f"depth: {self.depth}; expected 1..16")
        if self.links_per_exchange < 0:
            raise ValueError(f"links_per_exchange: {self.links_per_exchange}; expected 0 or more")
        if not 0.0 <= self.stray <= 1.0:
            raise ValueError(f"stray: {self.stray}; expected a chance in 0..1")


@kernel
def merge(
    book: Book,
    state: Links,
    near: Near,
    sample: Samples,
    i: int,
    own: int,
    mail: Parcels,
    order: Handles,
    first: int,
    last: int,
    depth: int,
    desk: Desk,
) -> int:
    """Select the links of row i out of those it has, its other views, and all ring mail order[first:last] of this tick.

    The requests among it have been answered, from the view as it is before this.
    """
    wanted = sample.handles.shape[1] + near.handles.shape[1] + last - first
    for q in range(first, last):
        wanted += mail.start[order[q] + 1] - mail.start[order[q]]
    if wanted + state.size[i] > desk.fresh.shape[0]:
        return NO_DESK
    fresh = 0
    for q in range(first, last):  # before all else, so that a second run meets what the first one met
        if mail.asks[order[q]] == BOUNCE:
            drop(book, state, i, own, mail.sender[order[q]])
    for q in range(first, last):
        m = order[q]
        if mail.asks[m] == BOUNCE:
            continue
        fresh = consider(book, state, i, own, mail.sender[m], mail.stamp[m], desk, fresh)
        for e in range(mail.start[m], mail.start[m + 1]):
            fresh = consider(book, state, i, own, mail.handles[e], mail.born[e], desk, fresh)
    for k in range(near.handles.shape[1]):
        fresh = consider(book, state, i, own, near.handles[i, k], near.born[i, k], desk, fresh)
    for k in range(sample.handles.shape[1]):
        fresh = consider(book, state, i, own, sample.handles[i, k], sample.born[i, k], desk, fresh)
    before = state.news[i]
    answer = settle(book, state, i, own, fresh, depth, desk)
    if answer == DONE:
        for q in range(first, last):
            _heard(book, state, i, own, mail, order[q], before)
    return answer


@tiny
def _names(mail: Parcels, m: int, handle: int) -> bool:
    """Whether a message has an entry for this very descriptor."""
    found = False
    for e in range(mail.start[m], mail.start[m + 1]):
        found |= mail.handles[e] == handle
    return found


@tiny
def _heard(book: Book, state: Links, i: int, own: int, mail: Parcels, m: int, before: np.uint32) -> None:
    """A peer has written: if it is a link, it has been met; and what it knows of us and we of it is up to date."""
    if mail.asks[m] == BOUNCE:
        return
    at = find(book, state, i, own, mail.sender[m])
    if at == NONE:
        return
    state.marks[at] |= MET
    if mail.asks[m] == ANSWER:
        state.marks[at] &= ~ASKED
    elif state.handles[at] == mail.sender[m]:
        state.told[at] = before
    if _names(mail, m, own):
        state.marks[at] |= WHOLE


@tiny
def _lay(book: Book, reader: int, handle: int, born: np.uint16, marks: np.uint8, desk: Desk, count: int) -> int:
    """Lay one entry that a reader may want on the desk, behind those before it in the reader's order; the new count."""
    offset = book.key[handle] - book.key[reader]
    if offset == _0 or not overlaps(book.wants, reader, handle):
        return count
    return put(book.wants, desk, count, handle, born, offset, marks, 0, 0)


@tiny
def _insert(book: Book, reader: int, handle: int, born: np.uint16, desk: Desk, count: int) -> int:
    """Lay one entry on the desk, wherever its place is; of two that speak of one peer the newer; the new count."""
    if handle == NONE:
        return count
    offset = book.key[handle] - book.key[reader]
    if offset == _0 or not overlaps(book.wants, reader, handle):
        return count
    at = count
    while at > 0 and desk.offset[at - 1] > offset:
        at -= 1
    if at > 0 and desk.offset[at - 1] == offset:
        if book.version[handle] > book.version[desk.handles[at - 1]]:
            put(book.wants, desk, at - 1, handle, born, offset, FRESH, 0, 0)
        return count
    for later in range(count, at, -1):
        put(
            book.wants,
            desk,
            later,
            desk.handles[later - 1],
            desk.born[later - 1],
            desk.offset[later - 1],
            desk.marks[later - 1],
            0,
            0,
        )
    put(book.wants, desk, at, handle, born, offset, FRESH, 0, 0)
    return count + 1


@kernel
def _lay_out(
    book: Book,
    state: Links,
    near: Near,
    sample: Samples,
    i: int,
    own: int,
    reader: int,
    limit: int,
    samples_too: int,
    desk: Desk,
) -> int:
    """Lay all that row i knows and a reader may want on the desk, in the reader's order; how many they are.

    limit : int  the news up to which the reader has been told all: links since then are marked as fresh
    """
    first, last, count = state.start[i], state.start[i] + state.size[i], 0
    if samples_too == 0:
        news = 0
        for at in range(first, last):
            if state.since[at] > limit:
                news += overlaps(book.wants, reader, state.handles[at])
        if news == 0:
            return 0
    frame(desk.line, book.wants, reader)
    middle = place(state, i, book.key[reader] - book.key[own])
    for at in range(middle, last):
        marks = FRESH if state.since[at] > limit else BOTH
        count = _lay(book, reader, state.handles[at], state.born[at], marks, desk, count)
    count = _lay(book, reader, own, np.uint16(0), BOTH, desk, count)
    for at in range(first, middle):
        marks = FRESH if state.since[at] > limit else BOTH
        count = _lay(book, reader, state.handles[at], state.born[at], marks, desk, count)
    if samples_too != 0:
        for k in range(near.handles.shape[1]):
            count = _insert(book, reader, near.handles[i, k], near.born[i, k], desk, count)
        for k in range(sample.handles.shape[1]):
            count = _insert(book, reader, sample.handles[i, k], sample.born[i, k], desk, count)
    return count


@kernel
def _write(
    book: Book,
    now: Now,
    state: Links,
    near: Near,
    sample: Samples,
    i: int,
    own: int,
    reader: int,
    asks: int,
    limit: int,
    minted: int,
    new: int,
    mail: Parcels,
    samples_too: int,
    depth: int,
    desk: Desk,
) -> int:
    """Write to a peer what it would select out of all that row i knows, ourselves included, and has not told it yet.

    What it has been told stands in the way of the rest and is not sent again: the reader has it, or something better.

    limit  : int  the news up to which the reader has been told all
    minted : int  the cycle in which the reader minted its own entry, as far as we know; NONE if we do not
    new    : int  whether we ask to be told all, which is said by an entry for ourselves

    That a message holds all that there is for the reader is said by an entry for the reader.
    """
    m = mail.used[0]
    known = state.size[i] + near.handles.shape[1] + sample.handles.shape[1] + 1
    if known > desk.handles.shape[0]:
        return NO_DESK
    if m >= mail.to.shape[0] or mail.start[m] + known + 2 > mail.handles.shape[0]:
        return NO_MAIL
    count = _lay_out(book, state, near, sample, i, own, reader, limit, samples_too, desk)
    fresh = 0
    for c in range(count):
        fresh += desk.marks[c] & FRESH != 0
    if fresh > 0:
        if select(book, reader, count, fresh, depth, 0, desk, AHEAD) == NO_PIECES:
            return NO_PIECES
        if select(book, reader, count, fresh, depth, 0, desk, BEHIND) == NO_PIECES:
            return NO_PIECES
    mail.sender[m], mail.to[m], mail.stamp[m], mail.asks[m] = own, reader, now.cycle, asks
    at = mail.start[m]
    if new != 0:
        mail.handles[at], mail.born[at] = own, now.cycle
        at += 1
    if limit == 0 and minted != NONE:
        mail.handles[at], mail.born[at] = reader, minted
        at += 1
    for c in range(count):
        if desk.marks[c] & FRESH != 0 and desk.marks[c] & BOTH != 0:
            mail.handles[at], mail.born[at] = desk.handles[c], desk.born[c]
            at += 1
    mail.start[m + 1] = at
    mail.used[0] = m + 1
    return DONE


@kernel
def _stranger(book: Book, now: Now, near: Near, sample: Samples, i: int, own: int, n: int) -> int:
    """A random peer out of the other views that overlaps, or NONE."""
    places = near.handles.shape[1]
    start = below(draw(now.seed, book.key[own], now.cycle, Purpose.RING_OTHER, n), places)
    for k in range(places):
        handle = near.handles[i, (start + k) % places]
        if handle != NONE and overlaps(book.wants, own, handle):
            return int(handle)
    for k in range(sample.handles.shape[1]):
        handle = sample.handles[i, k]
        if handle != NONE and not same_peer(book, handle, own) and overlaps(book.wants, own, handle):
            return int(handle)
    return NONE


@tiny
def _nearest(now: Now, near: Near, i: int, n: int, haste: int) -> int:
    """One of the nearest peers, where none is known that overlaps: `haste` others in each cycle, the nearest half always."""
    half = haste // 2
    place = n if n < half else half + (now.cycle * (haste - half) + n - half) % max(near.handles.shape[1] - half, 1)
    return near.handles[i, place] if place < near.handles.shape[1] else NONE


@kernel
def exchanges(state: Links, i: int, links_per_exchange: int, haste: int) -> int:
    """How many exchanges a row starts in a cycle."""
    many = 1 if links_per_exchange == 0 else 1 + state.size[i] // links_per_exchange
    unmet = 0
    for at in range(state.start[i], state.start[i] + state.size[i]):
        unmet += state.marks[at] & MET == 0
    if state.size[i] == 0:
        unmet = haste  # alone, as far as it knows: look around
    return many + min(unmet, max(haste - many, 0))


@tiny
def _next_in_turn(state: Links, i: int, haste: int) -> int:
    """The link after the one asked last; one never met before all others, where there is haste."""
    first, last = state.start[i], state.start[i] + state.size[i]
    at = place(state, i, state.turn[i] + _1)
    if at == last or state.turn[i] == ~_0:
        at = first
    if haste != 0:
        for step in range(last - first):
            other = at + step if at + step < last else at + step - (last - first)
            if state.marks[other] & MET == 0:
                return other
    return at


@kernel
def request(
    book: Book,
    now: Now,
    state: Links,
    near: Near,
    sample: Samples,
    i: int,
    own: int,
    mail: Parcels,
    n: int,
    in_turn: int,
    haste: int,
    stray: float,
    samples_too: int,
    depth: int,
    desk: Desk,
) -> int:
    """Start the n-th exchange of this cycle: with a ring neighbour, or with somebody who overlaps."""
    partner, at = NONE, NONE
    count = state.size[i]
    if count > 0 and not (
        stray > 0.0 and uniform(draw(now.seed, book.key[own], now.cycle, Purpose.RING_PARTNER, 2 * n)) < stray
    ):
        if in_turn != 0:
            at = _next_in_turn(state, i, haste)
        else:
            at = state.start[i] + below(draw(now.seed, book.key[own], now.cycle, Purpose.RING_PARTNER, 2 * n + 1), count)
        partner = state.handles[at]
    else:
        partner = _stranger(book, now, near, sample, i, own, n)
        if partner == NONE and haste != 0:
            partner = _nearest(now, near, i, n, haste)
        if partner == NONE:
            return DONE
    link, limit, minted, new = find(book, state, i, own, partner), 0, NONE, 1
    if link != NONE and state.handles[link] == partner:
        minted = int(state.born[link])
        if state.marks[link] & (ASKED | MET) == MET:
            limit = int(state.told[link])
            new = int(state.marks[link] & WHOLE == 0)
    answer = _write(book, now, state, near, sample, i, own, partner, ASK, limit, minted, new, mail, samples_too, depth, desk)
    if answer == DONE and link != NONE:
        state.told[link] = state.news[i]
        state.marks[link] |= ASKED | MET
        if at != NONE:
            state.turn[i] = state.offset[at]
    return answer


@kernel
def reply(
    book: Book,
    now: Now,
    state: Links,
    near: Near,
    sample: Samples,
    i: int,
    own: int,
    mail: Parcels,
    m: int,
    out: Parcels,
    samples_too: int,
    depth: int,
    desk: Desk,
) -> int:
    """Answer request m from the view as it stood at the start of the tick."""
    reader, limit = mail.sender[m], 0
    link = find(book, state, i, own, reader)
    if link != NONE and state.handles[link] == reader and not _names(mail, m, reader):
        limit = int(state.told[link])
    return _write(
        book, now, state, near, sample, i, own, reader, ANSWER, limit, int(mail.stamp[m]), 0, out, samples_too, depth, desk
    )


@kernel
def tell(now: Now, state: Links, i: int, own: int, out: Parcels) -> int:
    """Write to all links, before any is dropped, that the row wants something else now: its descriptor alone says what."""
    # Departs from the paper: it has no word for those who were next to a row until it changed its mind. A hub asks each of
    # hundreds once in as many cycles; so long it would send the row what nobody there wants, and miss who is next behind it.
    if state.stale[i] & TELL == 0:
        return DONE
    m = out.used[0]
    if m + state.size[i] > out.to.shape[0]:
        return NO_MAIL
    for at in range(state.start[i], state.start[i] + state.size[i]):
        out.sender[m], out.to[m], out.stamp[m], out.asks[m] = own, state.handles[at], now.cycle, ANSWER
        out.start[m + 1] = out.start[m]
        m += 1
    out.used[0] = m
    state.stale[i] &= ~TELL
    return DONE
