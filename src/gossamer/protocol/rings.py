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
from gossamer.interest.ask import contains, overlaps
from gossamer.jit import kernel, tiny
from gossamer.protocol.cyclon import Samples
from gossamer.protocol.descriptor import Book, same_peer
from gossamer.protocol.links import (
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
    Desk,
    Links,
    consider,
    drop,
    heard,
    note,
    place,
    put,
    reselect,
    select,
    settle,
)
from gossamer.protocol.vicinity import Near
from gossamer.protocol.view import ANSWER, ASK, Now, Parcels

__all__ = ["Params", "drop", "exchanges", "merge", "reply", "request", "reselect"]

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
    """Select the links of row i out of those it has, its other views, and all ring mail order[first:last] of this tick."""
    most = desk.fresh.shape[0]
    wanted = sample.handles.shape[1] + near.handles.shape[1]
    for q in range(first, last):
        wanted += mail.start[order[q] + 1] - mail.start[order[q]]
    fresh = 0
    if wanted + state.size[i] > most:
        return NO_DESK
    for q in range(first, last):
        m = order[q]
        heard(book, state, i, own, mail.sender[m], mail.asks[m])
        for e in range(mail.start[m], mail.start[m + 1]):
            fresh = consider(book, state, i, own, mail.handles[e], mail.born[e], desk, fresh)
    for k in range(near.handles.shape[1]):
        fresh = consider(book, state, i, own, near.handles[i, k], near.born[i, k], desk, fresh)
    for k in range(sample.handles.shape[1]):
        fresh = consider(book, state, i, own, sample.handles[i, k], sample.born[i, k], desk, fresh)
    return settle(book, state, i, own, fresh, depth, desk)


@tiny
def _candidate(
    book: Book, reader: int, handle: int, born: np.uint16, ahead: np.uint64, behind: np.uint64, desk: Desk, count: int
) -> int:
    """Note one entry for a reader who may want it; the new count."""
    if handle == NONE:
        return count
    offset = book.key[handle] - book.key[reader]
    if offset == _0 or (offset > ahead and offset < behind) or not overlaps(book.wants, reader, handle):
        return count
    return note(desk, count, book, handle, born, offset)


@tiny
def _sight(book: Book, reader: int, handle: int, ahead: np.uint64, behind: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Draw in the horizon of a reader by one peer that wants all that it wants."""
    if handle != NONE:
        offset = book.key[handle] - book.key[reader]
        if offset != _0 and (offset < ahead or offset > behind) and contains(book.wants, handle, reader):
            return min(ahead, offset), max(behind, offset)
    return ahead, behind


@kernel
def _horizon(
    book: Book, state: Links, near: Near, sample: Samples, i: int, own: int, reader: int, depth: int
) -> tuple[np.uint64, np.uint64]:
    """The offsets beyond which nobody we know of can be a next one of the reader's, either way.

    Only for depth 1: with more the reader's own selection draws the line.
    """
    ahead, behind = ~_0, _0
    if depth == 1:
        ahead, behind = _sight(book, reader, own, ahead, behind)
        for at in range(state.start[i], state.start[i] + state.size[i]):
            ahead, behind = _sight(book, reader, state.handles[at], ahead, behind)
        for k in range(near.handles.shape[1]):
            ahead, behind = _sight(book, reader, near.handles[i, k], ahead, behind)
        for k in range(sample.handles.shape[1]):
            ahead, behind = _sight(book, reader, sample.handles[i, k], ahead, behind)
    return ahead, behind


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
    mail: Parcels,
    samples_too: int,
    depth: int,
    desk: Desk,
) -> int:
    """Write to a peer what it would select out of all that row i knows, ourselves included."""
    m = mail.used[0]
    known = state.size[i] + near.handles.shape[1] + sample.handles.shape[1] + 1
    if known > desk.fresh.shape[0]:
        return NO_DESK
    if m >= mail.to.shape[0] or mail.start[m] + known > mail.handles.shape[0]:
        return NO_MAIL
    # The links from the reader's own key on stand in its order already, so that each is noted at the end.
    first, last, count = state.start[i], state.start[i] + state.size[i], 0
    ahead, behind = _horizon(book, state, near, sample, i, own, reader, depth)
    middle = place(state, i, book.key[reader] - book.key[own])
    for at in range(middle, last):
        count = _candidate(book, reader, state.handles[at], state.born[at], ahead, behind, desk, count)
    count = _candidate(book, reader, own, np.uint16(now.cycle), ahead, behind, desk, count)
    for at in range(first, middle):
        count = _candidate(book, reader, state.handles[at], state.born[at], ahead, behind, desk, count)
    if samples_too != 0:
        for k in range(near.handles.shape[1]):
            count = _candidate(book, reader, near.handles[i, k], near.born[i, k], ahead, behind, desk, count)
        for k in range(sample.handles.shape[1]):
            count = _candidate(book, reader, sample.handles[i, k], sample.born[i, k], ahead, behind, desk, count)
    for c in range(count):
        put(desk, c, desk.fresh[c], desk.fresh_born[c], desk.fresh_offset[c], FRESH)
    if select(book, reader, count, depth, desk, AHEAD) == NO_PIECES:
        return NO_PIECES
    if select(book, reader, count, depth, desk, BEHIND) == NO_PIECES:
        return NO_PIECES
    mail.sender[m], mail.to[m], mail.stamp[m], mail.asks[m] = own, reader, now.cycle, asks
    at = mail.start[m]
    for c in range(count):
        if desk.marks[c] & BOTH != 0:
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
    return max(many, min(unmet, haste))


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
    answer = _write(book, now, state, near, sample, i, own, partner, ASK, mail, samples_too, depth, desk)
    if answer == DONE and at != NONE:
        state.turn[i] = state.offset[at]
        state.marks[at] |= ASKED | MET
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
    reader: int,
    mail: Parcels,
    samples_too: int,
    depth: int,
    desk: Desk,
) -> int:
    """Answer one request from the view as it stood at the start of the tick."""
    return _write(book, now, state, near, sample, i, own, reader, ANSWER, mail, samples_too, depth, desk)
