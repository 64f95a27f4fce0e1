"""Fingers: overlapping peers at every distance by key, so that a long ring can be cut where it should be.

A few places for each power of two of key distance, going up and going down, filled from the entries that pass through the
row's other views anyway: fingers cost no message. Without them an event on a ring of a thousand finds nobody to delegate
half the ring to, and inside a small arc nobody knows anyone but the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gossamer.arrays import NONE, Cycles, Handles
from gossamer.interest.ask import overlaps
from gossamer.jit import kernel, tiny
from gossamer.protocol.cyclon import Samples
from gossamer.protocol.descriptor import Book, age, newer, same_peer
from gossamer.protocol.vicinity import Near
from gossamer.protocol.view import Now

__all__ = ["Fingers", "Params", "drop", "fingers", "learn", "no_fingers"]


@dataclass(frozen=True, kw_only=True)
class Params:
    """How many fingers."""

    levels: int = 14
    """Powers of two of key distance, from half the key space down. Nearer ones are ring links in any world below 2**14 rows."""
    places: int = 2
    """Peers kept per level and direction."""
    forget_cycles: int = 24
    """Cycles after which a finger that nobody has told of again is let go: it may want something else, or be dead. So what a
    change leaves behind is gone within the cycles of a join. With 40, one in twelve more would be kept where one attribute
    makes long rings (1,500 rows), to no fewer hops."""

    def __post_init__(self) -> None:
        """Refuse what cannot work, naming the setting."""
        if not 1 <= self.levels <= 62:  # noqa: PLR2004
            raise ValueError(f"levels: {self.levels}; expected 1..62")
        if not 1 <= self.places <= 16:  # noqa: PLR2004
            raise ValueError(f"places: {self.places}; expected 1..16")
        if not 1 <= self.forget_cycles <= 30_000:  # noqa: PLR2004
            raise ValueError(f"forget_cycles: {self.forget_cycles}; expected 1..30000")


class Fingers(NamedTuple):
    """The fingers, by row."""

    handles: Handles
    """(N, 2 * levels * places) int32: going up first, the furthest level first."""
    born: Cycles
    """(N, 2 * levels * places) uint16."""


_HALF = np.uint64(1 << 63)
_0 = np.uint64(0)
_1 = np.uint64(1)


def fingers(rows: int, params: Params) -> Fingers:
    """No fingers yet."""
    places = 2 * params.levels * params.places
    return Fingers(handles=np.full((rows, places), NONE, np.int32), born=np.zeros((rows, places), np.uint16))


def no_fingers(rows: int) -> Fingers:
    """For a system that has none."""
    return Fingers(handles=np.full((rows, 0), NONE, np.int32), born=np.zeros((rows, 0), np.uint16))


@tiny
def _level(offset: np.uint64, levels: int) -> int:
    """Which level an offset falls in, going down counted behind going up; NONE when it is too near."""
    down = offset > _HALF
    apart = ~offset + _1 if down else offset
    for level in range(levels):
        if apart >= _HALF >> np.uint64(level + 1):
            return level + levels if down else level
    return NONE


@kernel
def _consider(
    book: Book, now: Now, it: Fingers, i: int, own: int, handle: int, born: np.uint16, levels: int, places: int
) -> None:
    """Take one entry in where a place is free, else in place of the oldest if it is younger.

    What one wants now that has changed its mind counts, and may be nothing that we want.
    """
    wanted = overlaps(book.wants, own, handle)
    if not wanted and book.versioned == 0:
        return
    level = _level(book.key[handle] - book.key[own], levels)
    if level == NONE:
        return
    oldest, free = NONE, NONE
    for k in range(level * places, (level + 1) * places):
        if it.handles[i, k] == NONE:
            free = k
        elif same_peer(book, it.handles[i, k], handle):
            if newer(book, handle, born, it.handles[i, k], it.born[i, k], now.cycle):
                it.handles[i, k], it.born[i, k] = handle if wanted else NONE, born
            return
        elif oldest == NONE or age(it.born[i, k], now.cycle) > age(it.born[i, oldest], now.cycle):
            oldest = k
    if not wanted:
        return
    if free != NONE:
        it.handles[i, free], it.born[i, free] = handle, born
    elif age(born, now.cycle) < age(it.born[i, oldest], now.cycle):
        it.handles[i, oldest], it.born[i, oldest] = handle, born


@kernel
def learn(
    book: Book,
    now: Now,
    it: Fingers,
    near: Near,
    sample: Samples,
    i: int,
    own: int,
    levels: int,
    places: int,
    forget_cycles: int,
) -> None:
    """Look through the row's other views, once a cycle. Fingers that no longer overlap, or are too old, are let go."""
    for k in range(it.handles.shape[1]):
        if it.handles[i, k] != NONE and (
            age(it.born[i, k], now.cycle) > forget_cycles
            or (book.versioned != 0 and not overlaps(book.wants, own, it.handles[i, k]))
        ):
            it.handles[i, k] = NONE
    for k in range(near.handles.shape[1]):
        handle = near.handles[i, k]
        if handle != NONE and not same_peer(book, handle, own):
            _consider(book, now, it, i, own, handle, near.born[i, k], levels, places)
    for k in range(sample.handles.shape[1]):
        handle = sample.handles[i, k]
        if handle != NONE and not same_peer(book, handle, own):
            _consider(book, now, it, i, own, handle, sample.born[i, k], levels, places)


@kernel
def drop(book: Book, it: Fingers, i: int, handle: int) -> None:
    """Forget a peer known to be dead."""
    for k in range(it.handles.shape[1]):
        if it.handles[i, k] != NONE and same_peer(book, it.handles[i, k], handle):
            it.handles[i, k] = NONE
