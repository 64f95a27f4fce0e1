"""Regions: unions of boxes, kept as boxes that do not meet, with exact subtraction.

This is the algebra that says what a set of boxes covers, without rounding: subtraction cuts slabs off a box, attribute by
attribute, so one cut makes at most 2 D pieces. Pieces multiply (thousands of them in five attributes from a few hundred
boxes), so every operation has a limit and ends in an InterestError beyond it. Nodes that only need to know *whether* a box
is covered ask `gossamer.interest.cover`, which makes no pieces.

The surprising thing is what a peer advertises: an or-filter of many boxes becomes at most 16 (`at_most`), merged where
that adds least, and is then a superset. `merged` comes first and changes nothing: it drops boxes inside others and joins
boxes that together are one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from gossamer.arrays import Coordinates, Mask, Reals
from gossamer.errors import InterestError
from gossamer.interest.ask import HIGH, LOW
from gossamer.interest.box import Box, as_array, volume

__all__ = ["MAX_PIECES", "Region", "at_most", "merged", "minus"]

MAX_PIECES: Final = 4096
"""Pieces a region may have unless told otherwise."""


class Region:
    """A set of points with D attributes, as disjoint boxes. Immutable; equal when the points are."""

    __slots__ = ("pieces",)

    pieces: Coordinates
    """(P, 2, D) int64, read-only: boxes that do not meet."""

    def __init__(self, boxes: Iterable[Box] | Coordinates, attributes: int, *, limit: int = MAX_PIECES) -> None:
        """The union of boxes, which may overlap."""
        given = boxes if isinstance(boxes, np.ndarray) else as_array(boxes, attributes)
        pieces = np.empty((0, 2, attributes), np.int64)
        for box in merged(given):
            fresh = _minus_all(box[None], pieces, limit)
            pieces = _within(np.concatenate([pieces, fresh]), limit)
        self.pieces = pieces
        self.pieces.flags.writeable = False

    @classmethod
    def _of(cls, pieces: Coordinates) -> Region:
        """A region of boxes known to be disjoint."""
        region = cls.__new__(cls)
        region.pieces = pieces
        region.pieces.flags.writeable = False
        return region

    @property
    def attributes(self) -> int:
        """The number of attributes, D."""
        return int(self.pieces.shape[2])

    def __bool__(self) -> bool:
        """Whether there is any point."""
        return len(self.pieces) > 0

    def __len__(self) -> int:
        """The number of pieces, P."""
        return len(self.pieces)

    def __eq__(self, other: object) -> bool:
        """Equal when the points are, however they are cut."""
        return isinstance(other, Region) and self.covers(other) and other.covers(self)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """What it is, not every piece."""
        return f"<Region of {len(self)} pieces in {self.attributes} attributes>"

    def boxes(self) -> list[Box]:
        """The pieces as boxes."""
        return [Box(piece[LOW], piece[HIGH]) for piece in self.pieces]

    def __contains__(self, vector: Sequence[int] | Coordinates) -> bool:
        """Whether a point lies in the region."""
        point = np.asarray(vector, dtype=np.int64)
        return bool(((self.pieces[:, LOW] <= point) & (point <= self.pieces[:, HIGH])).all(axis=1).any())

    def subtract(self, other: Region | Box, *, limit: int = MAX_PIECES) -> Region:
        """The points that are here and not there."""
        return Region._of(_minus_all(self.pieces, _pieces(other), limit))

    def union(self, other: Region | Box, *, limit: int = MAX_PIECES) -> Region:
        """The points that are here or there."""
        fresh = _minus_all(_pieces(other), self.pieces, limit)
        return Region._of(_within(np.concatenate([self.pieces, fresh]), limit))

    def intersect(self, other: Region | Box, *, limit: int = MAX_PIECES) -> Region:
        """The points that are here and there."""
        parts = [np.empty((0, 2, self.attributes), np.int64)]
        count = 0
        for piece in _pieces(other):
            met = self.pieces[_meets(self.pieces, piece)]
            parts.append(np.stack([np.maximum(met[:, LOW], piece[LOW]), np.minimum(met[:, HIGH], piece[HIGH])], axis=1))
            count += len(met)
            if count > limit:
                break
        return Region._of(_within(np.concatenate(parts), limit))

    def covers(self, other: Region | Box, *, limit: int = MAX_PIECES) -> bool:
        """Whether every point there is here."""
        return all(len(_minus_all(piece[None], self.pieces, limit)) == 0 for piece in _pieces(other))

    def volume(self) -> int:
        """How many points it holds, exactly."""
        return sum(volume(piece) for piece in self.pieces)

    def simplified(self) -> Region:
        """The same points in fewer pieces where pieces together are a box."""
        return Region._of(merged(self.pieces))

    def at_most(self, most: int) -> tuple[Coordinates, bool]:
        """Few boxes around the region, and whether they are exactly it; see `at_most`."""
        return at_most(self.pieces, most)


def _pieces(what: Region | Box) -> Coordinates:
    return what.pieces if isinstance(what, Region) else what.corners[None]


def _within(pieces: Coordinates, limit: int) -> Coordinates:
    if len(pieces) > limit:
        raise InterestError(
            f"the region falls into more than {limit} pieces",
            hint="take fewer or simpler boxes, merge them with at_most, or raise the limit",
        )
    return pieces


def _meets(boxes: Coordinates, box: Coordinates) -> Mask:
    """(B,) bool: which boxes share a point with one."""
    met: Mask = ((boxes[:, LOW] <= box[HIGH]) & (boxes[:, HIGH] >= box[LOW])).all(axis=1)
    return met


def minus(boxes: Coordinates, cut: Coordinates) -> Coordinates:
    """Boxes without the points of one more, as boxes; disjoint when they were.

    boxes : (B, 2, D) int64  what is cut
    cut   : (2, D) int64     what is taken away

    Attribute by attribute the slabs below and above the cut are set aside; what is left after the last lies in the cut.
    """
    met = _meets(boxes, cut)
    parts, rest = [boxes[~met]], boxes[met]
    for d in range(boxes.shape[2]):
        below = rest[rest[:, LOW, d] < cut[LOW, d]]
        if len(below):
            below[:, HIGH, d] = cut[LOW, d] - 1
            parts.append(below)
        above = rest[rest[:, HIGH, d] > cut[HIGH, d]]
        if len(above):
            above[:, LOW, d] = cut[HIGH, d] + 1
            parts.append(above)
        rest[:, LOW, d] = np.maximum(rest[:, LOW, d], cut[LOW, d])
        rest[:, HIGH, d] = np.minimum(rest[:, HIGH, d], cut[HIGH, d])
    return np.concatenate(parts)


def _minus_all(boxes: Coordinates, cuts: Coordinates, limit: int) -> Coordinates:
    """Boxes without the points of many others."""
    for cut in cuts:
        if len(boxes) == 0:
            break
        boxes = _within(minus(boxes, cut), limit)
    return boxes


def merged(boxes: Coordinates) -> Coordinates:
    """The same points in fewer boxes: none inside another, none that with a neighbour makes one box.

    Boxes that differ in one attribute only, and touch or overlap there, are joined until no two do. What comes out
    does not depend on the order they came in.
    """
    boxes = np.unique(boxes, axis=0)
    before = len(boxes) + 1
    while 1 < len(boxes) < before:
        before = len(boxes)
        boxes = _without_inner(boxes)
        for d in _active(boxes):
            boxes = _joined_along(boxes, d)
    return boxes


def _active(boxes: Coordinates) -> list[int]:
    """The attributes in which not all boxes are alike."""
    return np.flatnonzero((boxes != boxes[:1]).any(axis=(0, 1))).tolist()


def _without_inner(boxes: Coordinates) -> Coordinates:
    """Different boxes without those that lie inside another."""
    inside = ~np.eye(len(boxes), dtype=np.bool_)
    for d in _active(boxes):
        lo, hi = boxes[:, LOW, d], boxes[:, HIGH, d]
        inside &= (lo[:, None] >= lo[None]) & (hi[:, None] <= hi[None])
    return boxes[~inside.any(axis=1)]


def _joined_along(boxes: Coordinates, d: int) -> Coordinates:
    """Boxes joined where they differ in attribute d only and touch or overlap there."""
    others = boxes.copy()
    others[:, :, d] = 0
    groups: dict[bytes, list[int]] = {}
    for b in np.argsort(boxes[:, LOW, d], kind="stable").tolist():
        groups.setdefault(others[b].tobytes(), []).append(b)
    kept = []
    ends = boxes[:, :, d].tolist()
    for group in groups.values():
        current = group[0]
        for b in group[1:]:
            if ends[b][LOW] <= ends[current][HIGH] + 1:
                ends[current][HIGH] = max(ends[current][HIGH], ends[b][HIGH])
            else:
                kept.append(current)
                current = b
        kept.append(current)
    out = boxes[sorted(kept)]
    out[:, HIGH, d] = [ends[b][HIGH] for b in sorted(kept)]
    return out


def at_most(boxes: Coordinates, most: int) -> tuple[Coordinates, bool]:
    """At most so many boxes around all points of the given ones, and whether they hold no other points.

    While there are too many, the two whose smallest common box adds least volume are replaced by it; the lower positions
    win a tie. Volumes are compared by their logarithms, for in 64 attributes they leave the range of floats.
    """
    if most < 1:
        raise InterestError(f"at least one box is needed, not {most}")
    boxes = merged(boxes)
    if len(boxes) <= most:
        return boxes, True
    active = _active(boxes)
    few = np.repeat(boxes[:1], most, axis=0)
    joined = _joined_until(boxes[:, :, active], most)
    few[: len(joined), :, active] = joined
    return merged(few[: len(joined)]), False


def _joined_until(boxes: Coordinates, most: int) -> Coordinates:
    """At most so many boxes around many, joined two by two."""
    alive = np.ones(len(boxes), np.bool_)
    costs = np.stack([_added(boxes, alive, b) for b in range(len(boxes))])
    least, partner = costs.min(axis=1), costs.argmin(axis=1)
    while alive.sum() > most:
        one = int(least.argmin())
        other = int(partner[one])
        boxes[one, LOW] = np.minimum(boxes[one, LOW], boxes[other, LOW])
        boxes[one, HIGH] = np.maximum(boxes[one, HIGH], boxes[other, HIGH])
        inner = alive & (boxes[:, LOW] >= boxes[one, LOW]).all(axis=1) & (boxes[:, HIGH] <= boxes[one, HIGH]).all(axis=1)
        inner[one] = False
        alive &= ~inner
        costs[inner], costs[:, inner], least[inner] = np.inf, np.inf, np.inf
        costs[one] = costs[:, one] = _added(boxes, alive, one)
        # A pair need be known in one of its rows only, and the row of the box just made knows all of its pairs.
        stale = alive & (inner[partner] | (partner == one))
        least[stale], partner[stale] = costs[stale].min(axis=1), costs[stale].argmin(axis=1)
    return boxes[alive]


def _added(boxes: Coordinates, alive: Mask, one: int) -> Reals:
    """(B,) float64: log2 of the volume that joining one box with each other would add; infinite for itself and the dead."""
    lo, hi = boxes[:, LOW], boxes[:, HIGH]
    hull = _log_volume(np.minimum(lo, lo[one]), np.maximum(hi, hi[one]))
    both = _log_volume(np.maximum(lo, lo[one]), np.minimum(hi, hi[one]))
    own = _log_volume(lo, hi)
    new = 1.0 - np.exp2(own - hull) - np.exp2(own[one] - hull) + np.exp2(both - hull)
    with np.errstate(divide="ignore"):
        added = hull + np.log2(np.maximum(new, 0.0))
    out: Reals = np.where(alive, added, np.inf)
    out[one] = np.inf
    return out


def _log_volume(lo: Coordinates, hi: Coordinates) -> Reals:
    """(B,) float64: log2 of each box's volume; minus infinity for an empty one."""
    width = (hi.view(np.uint64) - lo.view(np.uint64)).astype(np.float64)  # uint64 holds what int64 would overflow on
    with np.errstate(divide="ignore"):
        logs: Reals = np.log2(np.where(hi >= lo, width + 1.0, 0.0)).sum(axis=1)
    return logs
