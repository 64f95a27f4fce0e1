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
from gossamer.protocol.descriptor import Book, newer, same_peer
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

    def __post_init__(self) -> None:
        """Refuse what cannot work, naming the setting."""
        if not 1 <= self.levels <= 62:  # noqa: PLR2004
            raise ValueError(f"levels: {self.levels}; expected 1..62")
        if not 1 <= self.places <= 16:  # noqa: PLR2004
            raise ValueError(f"places: {self.places}; expected 1..16")


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
    """Take one entry in where a place is free, else in place of the oldest if it is younger."""
    level = _level(book.key[handle] - book.key[own], levels)
    if level == NONE:
        return
    oldest, free = NONE, NONE
    for k in range(level * places, (level + 1) * places):
        if it.handles[i, k] == NONE:
            free = k
        elif same_peer(book, it.handles[i, k], handle):
            if newer(book, handle, born, it.handles[i, k], it.born[i, k], now.cycle):
                it.handles[i, k], it.born[i, k] = handle, born
            return
        elif oldest == NONE or newer(
            book, it.handles[i, oldest], it.born[i, oldest], it.handles[i, k], it.born[i, k], now.cycle
        ):
            oldest = k
    if free != NONE:
        it.handles[i, free], it.born[i, free] = handle, born
    elif newer(book, handle, born, it.handles[i, oldest], it.born[i, oldest], now.cycle):
        it.handles[i, oldest], it.born[i, oldest] = handle, born


@kernel
def learn(book: Book, now: Now, it: Fingers, near: Near, sample: Samples, i: int, own: int, levels: int, places: int) -> None:
    """Look through the row's other views, once a cycle. Fingers that no longer overlap are let go."""
    if book.versioned != 0:
        for k in range(it.handles.shape[1]):
            if it.handles[i, k] != NONE and not overlaps(book.wants, own, it.handles[i, k]):
                it.handles[i, k] = NONE
    for k in range(near.handles.shape[1]):
        handle = near.handles[i, k]
        if handle != NONE and not same_peer(book, handle, own) and overlaps(book.wants, own, handle):
            _consider(book, now, it, i, own, handle, near.born[i, k], levels, places)
    for k in range(sample.handles.shape[1]):
        handle = sample.handles[i, k]
        if handle != NONE and not same_peer(book, handle, own) and overlaps(book.wants, own, handle):
            _consider(book, now, it, i, own, handle, sample.born[i, k], levels, places)


@kernel
def drop(book: Book, it: Fingers, i: int, handle: int) -> None:
    """Forget a peer known to be dead."""
    for k in range(it.handles.shape[1]):
        if it.handles[i, k] != NONE and same_peer(book, it.handles[i, k], handle):
            it.handles[i, k] = NONE
