"""Is this box already covered by those boxes, r times over? The question that nearly all of the ring layer's time goes into.

Asked, not computed: the pieces that are left are looked at depth first, and the first uncovered one ends it. Subtracting
literally leaves thousands of fragments in five attributes. Before any box is split,

- a grid of at most 64 points is laid over the box within which all targets lie, and each box knows its points: a target
  with a point that no box has is not covered, and only a box with all of a target's points can contain it;
- a box that contains the target counts as one cover and is done with;
- corners of the target, all of them in one mask, refute most others that are not covered;
- overlaps whose volumes sum to less than the target refute the rest of the easy ones;
- boxes with the largest overlap are split by first, which needs far fewer splits.

The boxes stand in a *line*, attribute by attribute, so that a long one is compared several at a time. Every answer is
exact, in any number of attributes, for boxes of zero width too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gossamer.arrays import Bits, Coordinates, Counts, Flags, Handles, Keys, Reals
from gossamer.interest.ask import HIGH, LOW, Interests
from gossamer.jit import kernel, tiny

__all__ = ["COVERED", "NO_ROOM", "UNCOVERED", "Line", "add", "aim", "begin", "frame", "line", "points", "uncovered"]

COVERED, UNCOVERED, NO_ROOM = 0, 1, -1

_SLACK = 1.0 - 1e-9
"""Volumes are floats: they refute only when the sum is short by more than rounding could be."""
_LONG = 24
"""From this length on a line is compared several boxes at a time."""
_FACES = 6
"""So many attributes have all their corners in one mask; in the others only the lower corner is looked at."""
_MOST_NEED = 64
_GRIDS = ((8,), (8, 8), (4, 4, 4), (4, 4, 2, 2), (4, 2, 2, 2, 2), (2, 2, 2, 2, 2, 2))
"""How many points the grid has along each of the first six attributes, by how many attributes there are."""
_TICKS = 8
_SPANS = _TICKS + 1

_0 = np.uint64(0)
_LOWER = np.zeros(_FACES, np.uint64)
_UPPER = np.zeros(_FACES, np.uint64)
_ALL = np.zeros(_FACES + 1, np.uint64)
for _d in range(_FACES + 1):
    _ALL[_d] = 2 ** (1 << _d) - 1
    if _d < _FACES:
        _UPPER[_d] = sum(1 << _corner for _corner in range(64) if _corner >> _d & 1)
        _LOWER[_d] = sum(1 << _corner for _corner in range(64) if not _corner >> _d & 1)


class Line(NamedTuple):
    """Boxes to be covered by, the target, and room for the pieces of it still to be looked at."""

    low: Coordinates
    """(D, C) int64: the lower corners, one attribute after the other."""
    high: Coordinates
    """(D, C) int64: the upper corners."""
    points: Bits
    """(C,) uint64: the points of the grid that lie in each box."""
    levels: Bits
    """(R,) uint64: the points that lie in more than 0, 1, .. boxes of the line."""
    ticks: Coordinates
    """(D, 8) int64: where the grid lies along each attribute, rising."""
    along: Counts
    """(D,) int32: how many of those there are."""
    slabs: Bits
    """(D, 81) uint64: the points from one of those to another; in 9 i + j those from the i-th to before the j-th."""
    hits: Flags
    """(C,) uint8: which boxes meet the target."""
    words: Keys
    """(C / 8,) uint64: the same memory, eight boxes a word."""
    list: Handles
    """(C,) int32: the places in the line of boxes that meet the target, largest overlap first."""
    overlap: Reals
    """(C,) float64: the volumes of those overlaps, as shares of the target's."""
    share: Reals
    """(D,) float64: one over the width of the target."""
    seen: Bits
    """(R,) uint64: the corners that lie in more than 0, 1, .. boxes."""
    boxes: Coordinates
    """(S, 2, D) int64: the stack of pieces; the target is the first."""
    after: Counts
    """(S,) int32: a piece is yet to be cut by the boxes from this position of `list` on."""
    need: Counts
    """(S,) int32: how many covers it needs yet."""


def line(attributes: int, boxes: int, stack: int = 256) -> Line:
    """Room for so many boxes, and so many pieces of one target."""
    size = 8 * -(-boxes // 8)
    along = np.ones(attributes, np.int32)
    along[:_FACES] = _GRIDS[min(attributes, _FACES) - 1]
    hits = np.zeros(size, np.uint8)
    return Line(
        low=np.zeros((attributes, size), np.int64),
        high=np.zeros((attributes, size), np.int64),
        points=np.zeros(size, np.uint64),
        levels=np.zeros(_MOST_NEED, np.uint64),
        ticks=np.zeros((attributes, _TICKS), np.int64),
        along=along,
        slabs=_slabs(along),
        hits=hits,
        words=hits.view(np.uint64),
        list=np.zeros(size, np.int32),
        overlap=np.zeros(size, np.float64),
        share=np.zeros(attributes, np.float64),
        seen=np.zeros(_MOST_NEED, np.uint64),
        boxes=np.zeros((stack, 2, attributes), np.int64),
        after=np.zeros(stack, np.int32),
        need=np.zeros(stack, np.int32),
    )


def _slabs(along: Counts) -> Bits:
    """For every attribute, and every range of the grid's ticks along it: the mask of the points within."""
    points = np.indices(tuple(along.tolist())).reshape(along.shape[0], -1)
    bits = np.uint64(1) << np.arange(points.shape[1], dtype=np.uint64)
    slabs = np.zeros((along.shape[0], _SPANS * _SPANS), np.uint64)
    for d, place in enumerate(points):
        for i in range(_SPANS):
            for j in range(i, _SPANS):
                slabs[d, _SPANS * i + j] = bits[(place >= i) & (place < j)].sum()
    return slabs


@kernel
def frame(room: Line, wants: Interests, handle: int) -> None:
    """Lay the grid over the box within which all targets will lie."""
    for d in range(room.low.shape[0]):
        low, high, last = wants.boxes[handle, LOW, d], wants.boxes[handle, HIGH, d], room.along[d] - 1
        step = max(high // max(last, 1) - low // max(last, 1) - 1, 0)  # never beyond the box, however wide or narrow
        for k in range(last):
            room.ticks[d, k] = low + k * step
        room.ticks[d, last] = high


@tiny
def points(room: Line, wants: Interests, handle: int) -> np.uint64:
    """The points of the grid that lie in a box."""
    mask = ~_0
    for d in range(room.low.shape[0]):
        low, high, i, j = wants.boxes[handle, LOW, d], wants.boxes[handle, HIGH, d], 0, 0
        for k in range(room.along[d]):
            i += room.ticks[d, k] < low
            j += room.ticks[d, k] <= high
        mask &= room.slabs[d, _SPANS * i + j]
    return mask


@tiny
def begin(room: Line, need: int) -> int:
    """An empty line, for targets that need so many covers; the number of its boxes."""
    for r in range(need):
        room.levels[r] = _0
    return 0


@tiny
def add(room: Line, count: int, need: int, wants: Interests, handle: int, mask: np.uint64) -> int:
    """Put a box with these points at the end of a line of `count`; the new count."""
    for d in range(room.low.shape[0]):
        room.low[d, count], room.high[d, count] = wants.boxes[handle, LOW, d], wants.boxes[handle, HIGH, d]
    room.points[count] = mask
    for r in range(need - 1, 0, -1):
        room.levels[r] |= room.levels[r - 1] & mask
    room.levels[0] |= mask
    return count + 1


@tiny
def aim(room: Line, wants: Interests, one: int, other: int) -> None:
    """Make what two boxes have in common, which is not nothing, the target of the next question."""
    boxes = wants.boxes
    for d in range(boxes.shape[2]):
        room.boxes[0, LOW, d] = max(boxes[one, LOW, d], boxes[other, LOW, d])
        room.boxes[0, HIGH, d] = min(boxes[one, HIGH, d], boxes[other, HIGH, d])


@tiny
def _meets(room: Line, c: int, p: int) -> bool:
    for d in range(room.low.shape[0]):
        if room.low[d, c] > room.boxes[p, HIGH, d] or room.high[d, c] < room.boxes[p, LOW, d]:
            return False
    return True


@tiny
def _spans(room: Line, c: int, p: int) -> bool:
    for d in range(room.low.shape[0]):
        if room.low[d, c] > room.boxes[p, LOW, d] or room.high[d, c] < room.boxes[p, HIGH, d]:
            return False
    return True


@tiny
def _corners(room: Line, c: int, corners: np.uint64) -> np.uint64:
    """Which of the target's corners lie in a box that meets it."""
    for d in range(room.low.shape[0]):
        lower, upper = room.low[d, c] <= room.boxes[0, LOW, d], room.high[d, c] >= room.boxes[0, HIGH, d]
        if d < _FACES:
            corners &= (_LOWER[d] if lower else _0) | (_UPPER[d] if upper else _0)
        elif not lower:
            corners = _0
    return corners


@tiny
def _overlap(room: Line, c: int) -> float:
    """The share of the target's volume that lies in a box."""
    share = 1.0
    for d in range(room.low.shape[0]):
        low = max(room.low[d, c], room.boxes[0, LOW, d])
        high = min(room.high[d, c], room.boxes[0, HIGH, d])
        share *= (float(high) - float(low) + 1.0) * room.share[d]
    return share


@kernel
def _meet_all(room: Line, count: int) -> int:
    """List who meets the target; how many."""
    held = 0
    if count < _LONG:
        for c in range(count):
            if _meets(room, c, 0):
                room.list[held] = c
                held += 1
        return held
    padded = (count + 7) >> 3 << 3
    hits = room.hits
    for c in range(count):
        hits[c] = 1
    for c in range(count, padded):
        hits[c] = 0
    for d in range(room.low.shape[0]):
        low, high, first, last = room.low[d], room.high[d], room.boxes[0, LOW, d], room.boxes[0, HIGH, d]
        for c in range(count):
            hits[c] &= np.uint8(low[c] <= last) & np.uint8(high[c] >= first)
    for word in range(padded >> 3):
        if room.words[word] != _0:
            for c in range(8 * word, 8 * word + 8):
                if hits[c] != 0:
                    room.list[held] = c
                    held += 1
    return held


@kernel
def uncovered(room: Line, count: int, need: int, mask: np.uint64) -> int:
    """Whether some point of the target, which has these of the grid, lies in fewer than `need` boxes of a line of `count`.

    Answers COVERED, UNCOVERED, or NO_ROOM when the pieces in hand outgrow the stack: ask again with a larger one.
    """
    if mask & ~room.levels[need - 1] != _0:
        return UNCOVERED
    if mask != _0 and need == 1:
        for c in range(count):
            if mask & ~room.points[c] == _0 and _spans(room, c, 0):
                return COVERED
    attributes, held = room.low.shape[0], 0
    every = _ALL[min(attributes, _FACES)]
    for r in range(need):
        room.seen[r] = _0
    met = _meet_all(room, count)
    if met < need:
        return UNCOVERED
    for k in range(met):
        c = room.list[k]
        corners = _corners(room, c, every)
        if corners == every and (attributes <= _FACES or _spans(room, c, 0)):
            need -= 1
            if need == 0:
                return COVERED
            continue
        for r in range(need - 1, 0, -1):
            room.seen[r] |= room.seen[r - 1] & corners
        room.seen[0] |= corners
        room.list[held] = c
        held += 1
    if held < need or room.seen[need - 1] != every:
        return UNCOVERED
    if _too_small(room, held, need):
        return UNCOVERED
    return _split_all(room, held, need)


@tiny
def _too_small(room: Line, held: int, need: int) -> bool:
    """Whether all listed overlaps together are smaller than what is needed; puts the largest first."""
    total = 0.0
    for d in range(room.low.shape[0]):
        room.share[d] = 1.0 / (float(room.boxes[0, HIGH, d]) - float(room.boxes[0, LOW, d]) + 1.0)
    for k in range(held):
        c = room.list[k]
        share, at = _overlap(room, c), k
        total += share
        while at > 0 and room.overlap[at - 1] < share:
            room.list[at], room.overlap[at] = room.list[at - 1], room.overlap[at - 1]
            at -= 1
        room.list[at], room.overlap[at] = c, share
    return total < need * _SLACK


@kernel
def _split_all(room: Line, held: int, need: int) -> int:
    """Whether the pieces that the listed boxes leave of the target come to nothing."""
    attributes = room.low.shape[0]
    room.after[0], room.need[0] = 0, need
    top = 1
    while top > 0:
        top -= 1
        at, lacks = int(room.after[top]), int(room.need[top])
        done = False
        while not done:
            while at < held and not _meets(room, room.list[at], top):
                at += 1
            if held - at < lacks:
                return UNCOVERED
            c = room.list[at]
            at += 1
            if _spans(room, c, top):
                lacks -= 1
                done = lacks == 0
                continue
            if top + 2 * attributes + 1 >= room.after.shape[0]:
                return NO_ROOM
            top = _split(room, c, top, at, lacks)
            done = True
    return COVERED


@tiny
def _push(room: Line, rest: int, top: int, at: int, lacks: int) -> None:
    """Copy the remainder to the top of the stack, to be looked at later."""
    for d in range(room.low.shape[0]):
        room.boxes[top, LOW, d], room.boxes[top, HIGH, d] = room.boxes[rest, LOW, d], room.boxes[rest, HIGH, d]
    room.after[top], room.need[top] = at, lacks


@kernel
def _split(room: Line, c: int, top: int, at: int, lacks: int) -> int:
    """Cut the piece at `top` along a box: what lies outside is pushed, and what lies inside, which lacks one cover less."""
    stack, attributes = room.boxes, room.low.shape[0]
    rest = top + 2 * attributes  # the shrinking remainder; nothing is pushed that far
    _push(room, top, rest, at, lacks)
    for d in range(attributes):
        low, high = room.low[d, c], room.high[d, c]
        if stack[rest, LOW, d] < low:
            _push(room, rest, top, at, lacks)
            stack[top, HIGH, d] = low - 1
            top += 1
            stack[rest, LOW, d] = low
        if stack[rest, HIGH, d] > high:
            _push(room, rest, top, at, lacks)
            stack[top, LOW, d] = high + 1
            top += 1
            stack[rest, HIGH, d] = high
    if lacks > 1:
        _push(room, rest, top, at, lacks - 1)
        top += 1
    return top
