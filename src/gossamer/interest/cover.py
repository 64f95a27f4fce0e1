"""Is this box already covered by those boxes, r times over? The question that nearly all of the ring layer's time goes into.

Asked, not computed: the pieces that are left are looked at depth first, and the first uncovered one ends it. Subtracting
literally leaves thousands of fragments in five attributes. Before any box is split,

- a box that contains the target counts as one cover and is done with;
- corners of the target refute most targets that are not covered;
- overlaps whose volumes sum to less than the target refute the rest of the easy ones;
- boxes with the largest overlap are split by first, which needs far fewer splits.

Every answer is exact, in any number of attributes, for boxes of zero width too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.arrays import Coordinates, Counts, Handles, Reals
from gossamer.interest.ask import HIGH, LOW, Interests
from gossamer.jit import kernel, tiny

__all__ = ["COVERED", "NO_ROOM", "UNCOVERED", "Pieces", "pieces", "uncovered"]

COVERED, UNCOVERED, NO_ROOM = 0, 1, -1

_CORNERS = 8
"""How many corners are tried; in more than three attributes not all of them."""
_SLACK = 1.0 - 1e-9
"""Volumes are floats: they refute only when the sum is short by more than rounding could be."""


class Pieces(NamedTuple):
    """Room for the pieces still to be looked at, and for the boxes that meet the target."""

    boxes: Coordinates
    """(S, 2, D) int64: the stack of pieces; the target is the first."""
    after: Counts
    """(S,) int32: a piece is yet to be cut by the boxes from this position of `list` on."""
    need: Counts
    """(S,) int32: how many covers it needs yet."""
    list: Handles
    """(C,) int32: the boxes that meet the target, largest overlap first."""
    overlap: Reals
    """(C,) float64: the volumes of those overlaps."""
    corner: NDArray[np.int64]
    """(D,) int64."""


def pieces(attributes: int, boxes: int, stack: int = 256) -> Pieces:
    """Room for targets among at most so many boxes."""
    return Pieces(
        boxes=np.zeros((stack, 2, attributes), np.int64),
        after=np.zeros(stack, np.int32),
        need=np.zeros(stack, np.int32),
        list=np.zeros(boxes, np.int32),
        overlap=np.zeros(boxes, np.float64),
        corner=np.zeros(attributes, np.int64),
    )


@tiny
def _meets(wants: Interests, handle: int, piece: Coordinates, p: int) -> bool:
    for d in range(piece.shape[2]):
        if wants.boxes[handle, LOW, d] > piece[p, HIGH, d] or wants.boxes[handle, HIGH, d] < piece[p, LOW, d]:
            return False
    return True


@tiny
def _spans(wants: Interests, handle: int, piece: Coordinates, p: int) -> bool:
    for d in range(piece.shape[2]):
        if wants.boxes[handle, LOW, d] > piece[p, LOW, d] or wants.boxes[handle, HIGH, d] < piece[p, HIGH, d]:
            return False
    return True


@tiny
def _overlap(wants: Interests, handle: int, piece: Coordinates, p: int) -> float:
    """The share of the piece's volume that lies in the box."""
    share = 1.0
    for d in range(piece.shape[2]):
        low = max(wants.boxes[handle, LOW, d], piece[p, LOW, d])
        high = min(wants.boxes[handle, HIGH, d], piece[p, HIGH, d])
        share *= (float(high) - float(low) + 1.0) / (float(piece[p, HIGH, d]) - float(piece[p, LOW, d]) + 1.0)
    return share


@kernel
def _corner_uncovered(wants: Interests, room: Pieces, count: int, need: int) -> bool:
    """Whether some corner of the target lies in fewer than `need` of the listed boxes."""
    attributes = room.boxes.shape[2]
    for corner in range(min(_CORNERS, 1 << min(attributes, 3))):
        for d in range(attributes):
            room.corner[d] = room.boxes[0, (corner >> (d % 3)) & 1, d]
        covers = 0
        for c in range(count):
            handle, inside = room.list[c], True
            for d in range(attributes):
                if wants.boxes[handle, LOW, d] > room.corner[d] or wants.boxes[handle, HIGH, d] < room.corner[d]:
                    inside = False
                    break
            if inside:
                covers += 1
                if covers == need:
                    break
        if covers < need:
            return True
    return False


@kernel
def uncovered(wants: Interests, others: Handles, count: int, need: int, room: Pieces) -> int:
    """Whether some point of the target lies in fewer than `need` of the first `count` of the other boxes.

    The target stands in room.boxes[0] and is overwritten. Answers COVERED, UNCOVERED, or NO_ROOM when the pieces in
    hand outgrow the stack: ask again with a larger one (room.list must hold `count`).
    """
    stack, attributes, held, total = room.boxes, room.boxes.shape[2], 0, 0.0
    for c in range(count):
        handle = others[c]
        if not _meets(wants, handle, stack, 0):
            continue
        if _spans(wants, handle, stack, 0):
            need -= 1
            if need == 0:
                return COVERED
            continue
        room.list[held] = handle
        held += 1
    if held < need or _corner_uncovered(wants, room, held, need):
        return UNCOVERED
    for c in range(held):
        room.overlap[c] = _overlap(wants, room.list[c], stack, 0)
        total += room.overlap[c]
    if total < need * _SLACK:
        return UNCOVERED
    for c in range(1, held):
        handle, share, at = room.list[c], room.overlap[c], c
        while at > 0 and room.overlap[at - 1] < share:
            room.list[at], room.overlap[at] = room.list[at - 1], room.overlap[at - 1]
            at -= 1
        room.list[at], room.overlap[at] = handle, share
    room.after[0], room.need[0] = 0, need
    top = 1
    while top > 0:
        top -= 1
        at, lacks = int(room.after[top]), int(room.need[top])
        done = False
        while not done:
            while at < held and not _meets(wants, room.list[at], stack, top):
                at += 1
            if held - at < lacks:
                return UNCOVERED
            handle = room.list[at]
            at += 1
            if _spans(wants, handle, stack, top):
                lacks -= 1
                done = lacks == 0
                continue
            if top + 2 * attributes + 1 >= stack.shape[0]:
                return NO_ROOM
            top = _split(wants, handle, room, top, at, lacks)
            done = True
    return COVERED


@kernel
def _split(wants: Interests, handle: int, room: Pieces, top: int, at: int, lacks: int) -> int:
    """Cut the piece at `top` along a box: what lies outside is pushed, and what lies inside, which lacks one cover less."""
    stack, attributes = room.boxes, room.boxes.shape[2]
    rest = top + 2 * attributes  # the shrinking remainder; nothing is pushed that far
    for d in range(attributes):
        stack[rest, LOW, d], stack[rest, HIGH, d] = stack[top, LOW, d], stack[top, HIGH, d]
    for d in range(attributes):
        low, high = wants.boxes[handle, LOW, d], wants.boxes[handle, HIGH, d]
        if stack[rest, LOW, d] < low:
            for e in range(attributes):
                stack[top, LOW, e], stack[top, HIGH, e] = stack[rest, LOW, e], stack[rest, HIGH, e]
            stack[top, HIGH, d] = low - 1
            room.after[top], room.need[top] = at, lacks
            top += 1
            stack[rest, LOW, d] = low
        if stack[rest, HIGH, d] > high:
            for e in range(attributes):
                stack[top, LOW, e], stack[top, HIGH, e] = stack[rest, LOW, e], stack[rest, HIGH, e]
            stack[top, LOW, d] = high + 1
            room.after[top], room.need[top] = at, lacks
            top += 1
            stack[rest, HIGH, d] = high
    if lacks > 1:
        for e in range(attributes):
            stack[top, LOW, e], stack[top, HIGH, e] = stack[rest, LOW, e], stack[rest, HIGH, e]
        room.after[top], room.need[top] = at, lacks - 1
        top += 1
    return top
