"""Selecting ring links: who of some candidates is next for some event, going up and going down by key.

The candidates lie on a *desk* in order of offset, the key's distance going up from the row that selects. One that is next for
no event, because those before it want together all that it and the row want, gets no mark and is left out. What the question
costs, and how it is asked, is in ``interest.cover``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.arrays import Cycles, Flags, Handles, Keys
from gossamer.interest.ask import Interests, contains, overlaps
from gossamer.interest.cover import COVERED, NO_ROOM, Line, add, aim, begin, line, points, uncovered
from gossamer.jit import kernel, tiny
from gossamer.protocol.descriptor import Book

__all__ = [
    "AHEAD",
    "ASKED",
    "BEHIND",
    "BOTH",
    "DONE",
    "FRESH",
    "MET",
    "NO_ARENA",
    "NO_DESK",
    "NO_MAIL",
    "NO_PIECES",
    "WHOLE",
    "Desk",
    "desk",
    "note",
    "put",
    "select",
]

DONE, NO_ARENA, NO_DESK, NO_PIECES, NO_MAIL = 0, 1, 2, 3, 4
"""What a move answers: done, or what it has too little of. Then nothing has changed, and it is to be run again with more."""

AHEAD, BEHIND, ASKED, MET, WHOLE = np.uint8(1), np.uint8(2), np.uint8(4), np.uint8(16), np.uint8(64)
"""Marks of a link: first going up for some event, first going down for some, asked and not yet answered, written to or
heard of since it became one, and once heard out: it keeps track of what it has told us, and nothing it told is missing."""

BOTH, FRESH = AHEAD | BEHIND, np.uint8(8)
"""A link has one of the first two marks or both; the last is that of a candidate on the desk which is yet to be judged."""


class Desk(NamedTuple):
    """Room to select in."""

    handles: Handles
    born: Cycles
    offset: Keys
    marks: Flags
    since: NDArray[np.uint32]
    told: NDArray[np.uint32]
    points: Keys
    """The points of a grid over the row's box that each candidate wants."""
    fresh: Handles
    fresh_born: Cycles
    fresh_offset: Keys
    arrived: Handles
    """The new ones among those kept so far, going one way."""
    line: Line
    """The boxes of all kept so far, going one way."""


def desk(attributes: int, candidates: int = 256, stack: int = 256) -> Desk:
    """Room for so many candidates, and so many pieces of one box, at a time."""
    return Desk(
        handles=np.zeros(candidates, np.int32),
        born=np.zeros(candidates, np.uint16),
        offset=np.zeros(candidates, np.uint64),
        marks=np.zeros(candidates, np.uint8),
        since=np.zeros(candidates, np.uint32),
        told=np.zeros(candidates, np.uint32),
        points=np.zeros(candidates, np.uint64),
        fresh=np.zeros(candidates, np.int32),
        fresh_born=np.zeros(candidates, np.uint16),
        fresh_offset=np.zeros(candidates, np.uint64),
        arrived=np.zeros(candidates, np.int32),
        line=line(attributes, candidates, stack),
    )


@tiny
def put(
    wants: Interests,
    desk: Desk,
    count: int,
    handle: int,
    born: np.uint16,
    offset: np.uint64,
    marks: np.uint8,
    since: int,
    told: int,
) -> int:
    """Lay one candidate on the desk; the new count."""
    desk.handles[count], desk.born[count], desk.offset[count], desk.marks[count] = handle, born, offset, marks
    desk.since[count], desk.told[count] = since, told
    desk.points[count] = points(desk.line, wants, handle)
    return count + 1


@tiny
def note(desk: Desk, count: int, book: Book, handle: int, born: np.uint16, offset: np.uint64) -> int:
    """Add a candidate to the fresh ones, kept in order of offset and once a peer; the new count."""
    at = count
    while at > 0 and desk.fresh_offset[at - 1] > offset:
        at -= 1
    if at > 0 and desk.fresh_offset[at - 1] == offset:
        if book.version[handle] > book.version[desk.fresh[at - 1]]:
            desk.fresh[at - 1], desk.fresh_born[at - 1] = handle, born
        elif handle == desk.fresh[at - 1] and np.int16(born - desk.fresh_born[at - 1]) > 0:
            desk.fresh_born[at - 1] = born
        return count
    for later in range(count, at, -1):
        desk.fresh[later], desk.fresh_born[later] = desk.fresh[later - 1], desk.fresh_born[later - 1]
        desk.fresh_offset[later] = desk.fresh_offset[later - 1]
    desk.fresh[at], desk.fresh_born[at], desk.fresh_offset[at] = handle, born, offset
    return count + 1


@tiny
def _meets_any(wants: Interests, arrived: Handles, count: int, handle: int) -> bool:
    for a in range(count):
        if overlaps(wants, arrived[a], handle):
            return True
    return False


@kernel
def select(book: Book, own: int, count: int, fresh: int, depth: int, rejudge: int, desk: Desk, way: np.uint8) -> int:
    """Judge the `fresh` new ones among the first `count` candidates on the desk, going one way. Answers DONE or NO_PIECES.

    rejudge : int  whether old ones are judged again where a new one, kept before them, meets them, and only those with a
                   mark stand in the way of others; else all old ones do, and none is judged
    """
    kept, arrived, whole = begin(desk.line, depth), 0, 0
    for step in range(count):
        c = step if way == AHEAD else count - 1 - step
        handle, marks = desk.handles[c], desk.marks[c]
        new = marks & FRESH != 0
        if not new:
            if rejudge != 0 and marks & way == 0:
                continue
            if fresh == 0 and arrived == 0:
                return DONE
        if whole == depth:
            desk.marks[c] &= ~way
            continue
        fresh -= new
        if rejudge == 0 and marks & BOTH == BOTH - way:
            new = False  # sent already, as next one the other way; it need not be judged
        if new or (rejudge != 0 and _meets_any(book.wants, desk.arrived, arrived, handle)):
            aim(desk.line, book.wants, own, handle)
            answer = uncovered(desk.line, kept, depth, desk.points[c])
            if answer == NO_ROOM:
                return NO_PIECES
            if answer == COVERED:
                desk.marks[c] &= ~way
                continue
            desk.marks[c] |= way
            if new:
                desk.arrived[arrived] = handle
                arrived += 1
        kept = add(desk.line, kept, depth, book.wants, handle, desk.points[c])
        whole += contains(book.wants, handle, own)
    return DONE
