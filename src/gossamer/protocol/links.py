"""The ring view: for every event a row wants, who stands next to it by key, going up and going down.

In one sentence: j is in i's ring view iff for some point in both boxes j is the first of all that i has heard of to want
it, going up from i's key or going down (cyclically). With `depth` r: among the first r, which keeps backups at hand.

The surprising thing is that this selection is order-free, select(A u B) = select(select(A) u select(B)): it does not matter
who selects what first, a sender may leave out what its reader would drop, all mail of a tick can be merged at once, and
what has once been rejected stays rejected as long as no member is lost. So only candidates not seen before are tested.

A view is kept in order of *offset*, the key's distance going up from the row's own key, in an arena: rows hold from two
to thousands of links.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.arrays import NONE, Counts, Cycles, Flags, Handles, Keys, Numbers, Offsets
from gossamer.interest.ask import contains, overlaps
from gossamer.interest.cover import frame
from gossamer.jit import kernel, tiny
from gossamer.protocol.descriptor import Book
from gossamer.protocol.selection import (
    AHEAD,
    ASKED,
    BEHIND,
    BOTH,
    DONE,
    FRESH,
    MET,
    NO_ARENA,
    NO_PIECES,
    WHOLE,
    Desk,
    note,
    put,
    select,
)

__all__ = ["TELL", "Links", "change", "consider", "drop", "find", "links", "place", "reselect", "settle", "widen"]

ANEW, TELL = np.uint8(1), np.uint8(2)
"""What a row has yet to do: judge its links anew, and tell them that it wants something else."""


class Links(NamedTuple):
    """The ring layer's state, by row; its links in an arena."""

    start: Offsets
    """(N,) int64: where a row's links begin in the arena."""
    size: Counts
    """(N,) int32: how many there are."""
    room: Counts
    """(N,) int32: how many would fit."""
    turn: Keys
    """(N,) uint64: the offset of the link asked last."""
    news: NDArray[np.uint32]
    """(N,) uint32: how often the row got new links."""
    stale: Flags
    """(N,) uint8: ANEW where links are to be judged anew, TELL where they are to be told first of a changed mind."""
    ahead: Keys
    """(N,) uint64: the offset beyond which, going up, every event of the row has its next ones already."""
    behind: Keys
    """(N,) uint64: the same going down: the offset below which."""
    known: Handles
    """(N, C) int32: candidates that have been rejected; a cache, no part of the state."""
    changed: Handles
    """(N, C) int32: newer versions of peers that were links; older ones are not believed. The place goes by the key."""
    handles: Handles
    """(P,) int32."""
    born: Cycles
    """(P,) uint16."""
    offset: Keys
    """(P,) uint64."""
    marks: Flags
    """(P,) uint8."""
    since: NDArray[np.uint32]
    """(P,) uint32: the row's news when the link became one; at least 1."""
    told: NDArray[np.uint32]
    """(P,) uint32: the news that this link has been told, up to which; 0 for nothing."""
    tail: Numbers
    """(1,) int64: how much of the arena is given out."""


_FIRST_ROOM = 16
_KNOWN = 128
_CHANGED = 128
_0 = np.uint64(0)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_S32 = np.uint64(32)


def links(rows: int) -> Links:
    """No links yet, with a little room for each row."""
    return _arena(
        rows,
        start=np.arange(rows, dtype=np.int64) * _FIRST_ROOM,
        room=np.full(rows, _FIRST_ROOM, np.int32),
        total=2 * rows * _FIRST_ROOM,
    )


def _arena(rows: int, start: Offsets, room: Counts, total: int) -> Links:
    return Links(
        start=start,
        size=np.zeros(rows, np.int32),
        room=room,
        turn=np.zeros(rows, np.uint64),
        news=np.zeros(rows, np.uint32),
        stale=np.zeros(rows, np.uint8),
        ahead=np.full(rows, 2**64 - 1, np.uint64),
        behind=np.zeros(rows, np.uint64),
        known=np.full((rows, _KNOWN), NONE, np.int32),
        changed=np.full((rows, _CHANGED), NONE, np.int32),
        handles=np.full(total, NONE, np.int32),
        born=np.zeros(total, np.uint16),
        offset=np.zeros(total, np.uint64),
        marks=np.zeros(total, np.uint8),
        since=np.zeros(total, np.uint32),
        told=np.zeros(total, np.uint32),
        tail=np.array([int(room.sum(dtype=np.int64))], np.int64),
    )


def widen(state: Links) -> Links:
    """The same links in an arena with as much free room again; what rows have left behind is not carried over."""
    room = np.maximum(2 * state.size, _FIRST_ROOM).astype(np.int32)
    start = np.concatenate(([0], np.cumsum(room, dtype=np.int64)))
    total = 2 * int(start[-1])
    if state.tail[0] <= start[-1]:  # nothing was left behind: one row wants more than all the room there is
        total = max(total, 2 * state.handles.shape[0])
    wide = _arena(state.size.shape[0], start[:-1], room, total)
    wide = wide._replace(
        size=state.size,
        turn=state.turn,
        news=state.news,
        stale=state.stale,
        ahead=state.ahead,
        behind=state.behind,
        known=state.known,
        changed=state.changed,
    )
    _carry(state, wide)
    return wide


@kernel
def _carry(old: Links, new: Links) -> None:
    for i in range(old.start.shape[0]):
        for k in range(old.size[i]):
            a, b = old.start[i] + k, new.start[i] + k
            new.handles[b], new.born[b], new.offset[b] = old.handles[a], old.born[a], old.offset[a]
            new.marks[b], new.since[b], new.told[b] = old.marks[a], old.since[a], old.told[a]


@tiny
def place(state: Links, i: int, offset: np.uint64) -> int:
    """Where in row i's part of the arena an offset stands, or would stand: the first link not below it."""
    low, high = state.start[i], state.start[i] + state.size[i]
    while low < high:
        middle = (low + high) >> 1
        if state.offset[middle] < offset:
            low = middle + 1
        else:
            high = middle
    return int(low)


@tiny
def find(book: Book, state: Links, i: int, own: int, handle: int) -> int:
    """Where in the arena row i has a peer for a link, in whatever version; NONE if it has not."""
    offset = book.key[handle] - book.key[own]
    at = place(state, i, offset)
    return at if at < state.start[i] + state.size[i] and state.offset[at] == offset else NONE


# ---------------------------------------------------------------------------------------------------- one row's view


@tiny
def _slot(state: Links, handle: int) -> int:
    """Where a rejected candidate would be remembered."""
    mixed = (np.uint64(handle) * _SPREAD) >> _S32
    return int((mixed * np.uint64(state.known.shape[1])) >> _S32)


@tiny
def _changed(book: Book, state: Links, handle: int) -> int:
    """Where it would be remembered that a peer has changed its mind."""
    mixed = (book.key[handle] * _SPREAD) >> _S32
    return int((mixed * np.uint64(state.changed.shape[1])) >> _S32)


@tiny
def _outdated(book: Book, state: Links, i: int, handle: int) -> bool:
    """Whether the row has lost a link to this peer, who wants something else now.

    Without that, those who have not heard of it yet would bring it back, and it would never be gone from all views.
    """
    latest = state.changed[i, _changed(book, state, handle)]
    return bool(latest != NONE and book.key[latest] == book.key[handle] and book.version[latest] > book.version[handle])


@tiny
def _rejected(state: Links, i: int, handle: int) -> bool:
    """Whether a candidate is remembered as rejected."""
    return bool(state.known[i, _slot(state, handle)] == handle)


@tiny
def _yet_to_judge(state: Links, i: int, fresh: int, desk: Desk) -> int:
    """Close up the fresh candidates to those that are not remembered as rejected; how many there are."""
    kept = 0
    for f in range(fresh):
        if not _rejected(state, i, desk.fresh[f]):
            desk.fresh[kept], desk.fresh_born[kept] = desk.fresh[f], desk.fresh_born[f]
            desk.fresh_offset[kept] = desk.fresh_offset[f]
            kept += 1
    return kept


@kernel
def consider(book: Book, state: Links, i: int, own: int, handle: int, born: np.uint16, desk: Desk, count: int) -> int:
    """Look at one entry that row i has or gets: bring a link up to date, or note a candidate not yet judged."""
    if handle == NONE:
        return count
    if book.versioned == 0 and _rejected(state, i, handle):  # else an older version of it may be a link or noted, and has to go
        return count
    offset = book.key[handle] - book.key[own]
    if offset == _0 or (offset > state.ahead[i] and offset < state.behind[i] and book.versioned == 0):
        return count
    wanted = overlaps(book.wants, own, handle)
    if book.versioned == 0:
        if not wanted:
            return count
    elif _outdated(book, state, i, handle):
        return count
    at = place(state, i, offset)
    if at < state.start[i] + state.size[i] and state.offset[at] == offset:
        if state.handles[at] == handle:
            if np.int16(born - state.born[at]) > 0:
                state.born[at] = born
            return count
        if book.version[state.handles[at]] >= book.version[handle]:
            return count
        reselect(state, i)  # a peer that changed its mind: the old descriptor goes, and whom it covered is judged anew
        state.changed[i, _changed(book, state, handle)] = handle
        if not wanted:
            state.handles[at] = handle  # laid out no more, since it no longer overlaps
    if not wanted:
        return count
    return note(desk, count, book, handle, born, offset)


@kernel
def settle(book: Book, state: Links, i: int, own: int, fresh: int, depth: int, desk: Desk) -> int:
    """Select the links of row i out of those it has and the first `fresh` candidates noted on the desk."""
    if book.versioned != 0:
        fresh = _yet_to_judge(state, i, fresh, desk)
    if fresh == 0 and state.stale[i] == 0:
        return DONE
    count = _lay_out(book, state, i, own, fresh, desk)
    fresh = 0
    for c in range(count):
        fresh += desk.marks[c] & FRESH != 0
    if select(book, own, count, fresh, depth, 1, desk, AHEAD) == NO_PIECES:
        return NO_PIECES
    if select(book, own, count, fresh, depth, 1, desk, BEHIND) == NO_PIECES:
        return NO_PIECES
    answer = _keep(state, i, count, desk)
    if answer == DONE:
        _look_out(book, state, i, own, depth)
    return answer


@kernel
def _lay_out(book: Book, state: Links, i: int, own: int, fresh: int, desk: Desk) -> int:
    """Put links and fresh candidates on the desk in order of offset; how many they are."""
    frame(desk.line, book.wants, own)
    count, f, stale = 0, 0, state.stale[i] != 0
    for at in range(state.start[i], state.start[i] + state.size[i]):
        while f < fresh and desk.fresh_offset[f] < state.offset[at]:
            count = put(book.wants, desk, count, desk.fresh[f], desk.fresh_born[f], desk.fresh_offset[f], FRESH, 0, 0)
            f += 1
        marks = state.marks[at]
        if stale:
            if f < fresh and desk.fresh_offset[f] == state.offset[at]:
                continue  # replaced by a newer descriptor
            if not overlaps(book.wants, own, state.handles[at]):
                continue
            marks = (marks & (ASKED | MET)) | FRESH
        count = put(
            book.wants, desk, count, state.handles[at], state.born[at], state.offset[at], marks, state.since[at], state.told[at]
        )
    while f < fresh:
        count = put(book.wants, desk, count, desk.fresh[f], desk.fresh_born[f], desk.fresh_offset[f], FRESH, 0, 0)
        f += 1
    return count


@kernel
def _keep(state: Links, i: int, count: int, desk: Desk) -> int:
    """Write back who has a mark; remember who has none."""
    kept, news = 0, False
    for c in range(count):
        if desk.marks[c] & BOTH != 0:
            kept += 1
            news |= desk.since[c] == 0
    if kept > state.room[i]:
        room = 2 * kept
        if state.tail[0] + room > state.handles.shape[0]:
            return NO_ARENA
        state.start[i], state.room[i] = state.tail[0], room
        state.tail[0] += room
    state.news[i] += news
    at = state.start[i]
    for c in range(count):
        if desk.marks[c] & BOTH != 0:
            state.handles[at], state.born[at], state.offset[at] = desk.handles[c], desk.born[c], desk.offset[c]
            state.marks[at], state.told[at] = desk.marks[c] & ~FRESH, desk.told[c]
            state.since[at] = desk.since[c] if desk.since[c] != 0 else state.news[i]
            at += 1
        else:
            state.known[i, _slot(state, desk.handles[c])] = desk.handles[c]
    state.size[i], state.stale[i] = kept, 0
    return DONE


@kernel
def _look_out(book: Book, state: Links, i: int, own: int, depth: int) -> None:
    """How far either way the row has to look: not beyond the depth-th link that wants all that it wants."""
    first, last = state.start[i], state.start[i] + state.size[i]
    state.ahead[i], state.behind[i] = ~_0, _0
    lacks = depth
    for at in range(first, last):
        if contains(book.wants, state.handles[at], own):
            lacks -= 1
            if lacks == 0:
                state.ahead[i] = state.offset[at]
                break
    lacks = depth
    for at in range(last - 1, first - 1, -1):
        if contains(book.wants, state.handles[at], own):
            lacks -= 1
            if lacks == 0:
                state.behind[i] = state.offset[at]
                break


# ---------------------------------------------------------------------------------------------------- losing links


@kernel
def drop(book: Book, state: Links, i: int, own: int, handle: int) -> bool:
    """Forget a peer known to be dead; whether it was a link. Whoever it covered may now be wanted."""
    at = find(book, state, i, own, handle)
    if at == NONE:
        return False
    for later in range(at, state.start[i] + state.size[i] - 1):
        state.handles[later], state.born[later] = state.handles[later + 1], state.born[later + 1]
        state.offset[later], state.marks[later] = state.offset[later + 1], state.marks[later + 1]
        state.since[later], state.told[later] = state.since[later + 1], state.told[later + 1]
    state.size[i] -= 1
    reselect(state, i)
    return True


@kernel
def reselect(state: Links, i: int) -> None:
    """A link is lost, or wants something else now: judge every link anew at the next merge.

    What was rejected, by the row or by others for its sake, may be wanted after all; so all of it has to be told again.
    """
    state.stale[i] |= ANEW
    state.ahead[i], state.behind[i] = ~_0, _0
    for k in range(state.known.shape[1]):
        state.known[i, k] = NONE
    for at in range(state.start[i], state.start[i] + state.size[i]):
        state.marks[at] &= ~WHOLE


@kernel
def change(state: Links, i: int) -> None:
    """The row wants something else now: its links are told before they are judged anew."""
    reselect(state, i)
    state.stale[i] |= TELL
