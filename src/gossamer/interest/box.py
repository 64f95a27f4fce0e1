"""A box: one interval of codes in each attribute, both ends inside.

Boxes are what gossip compares, coverage is made of, and a book stores. As an array a box is ``(2, D)`` int64, lower corner
first; many are ``(B, 2, D)``, which is what `gossamer.interest.ask` asks its questions of. This value type is for the few
boxes that people hold in their hands: what a filter wants, what a region is made of, what an error shows.

A box may have no width (an exact value), and is never empty: where nothing is left there is no box. Its volume counts the
points in it, so it is an exact Python int, of thousands of bits if need be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gossamer.arrays import Coordinates, Scales
from gossamer.errors import InterestError
from gossamer.interest import ask
from gossamer.interest.field import FIRST, LAST, NULL, AnyField
from gossamer.interest.label import String

if TYPE_CHECKING:
    from gossamer.interest.schema import Schema

__all__ = ["Box", "as_array", "box_text", "volume"]


class Box:
    """An interval in each of D attributes. Immutable, hashable, equal when the corners are."""

    __slots__ = ("corners",)

    corners: Coordinates
    """(2, D) int64, read-only: lower and upper corner, both inside."""

    def __init__(self, lo: Sequence[int] | Coordinates, hi: Sequence[int] | Coordinates) -> None:
        if len(lo) != len(hi) or len(lo) == 0:
            raise InterestError(f"a box needs two corners of one size, found {len(lo)} and {len(hi)} attributes")
        self.corners = np.array([lo, hi], dtype=np.int64)
        if (self.corners[ask.LOW] > self.corners[ask.HIGH]).any():
            raise InterestError("a box is never empty", hint="every lower end must be at most its upper end")
        self.corners.flags.writeable = False

    @classmethod
    def everything(cls, attributes: int) -> Box:
        """The box of all points, those with nulls too."""
        return cls([NULL] * attributes, [LAST] * attributes)

    @classmethod
    def point(cls, vector: Sequence[int] | Coordinates) -> Box:
        """The box of one point."""
        return cls(vector, vector)

    @property
    def lo(self) -> Coordinates:
        """(D,) int64: the lower corner."""
        corner: Coordinates = self.corners[ask.LOW]
        return corner

    @property
    def hi(self) -> Coordinates:
        """(D,) int64: the upper corner."""
        corner: Coordinates = self.corners[ask.HIGH]
        return corner

    def __len__(self) -> int:
        """The number of attributes, D."""
        return int(self.corners.shape[1])

    def __eq__(self, other: object) -> bool:
        """Equal when the corners are."""
        return isinstance(other, Box) and np.array_equal(self.corners, other.corners)

    def __hash__(self) -> int:
        """By the corners."""
        return hash(self.corners.tobytes())

    def __repr__(self) -> str:
        """As it would be written."""
        return f"Box({self.lo.tolist()}, {self.hi.tolist()})"

    def __contains__(self, vector: Sequence[int] | Coordinates) -> bool:
        """Whether a point lies in the box; corners count."""
        point = np.asarray(vector, dtype=np.int64)
        return bool(((self.lo <= point) & (point <= self.hi)).all())

    def contains(self, inner: Box) -> bool:
        """Whether every point of the other box lies in this one."""
        return bool(((self.lo <= inner.lo) & (inner.hi <= self.hi)).all())

    def overlaps(self, other: Box) -> bool:
        """Whether some point lies in both."""
        return bool(((self.lo <= other.hi) & (other.lo <= self.hi)).all())

    def intersection(self, other: Box) -> Box | None:
        """The box of the points in both; None when there are none."""
        if not self.overlaps(other):
            return None
        return Box(np.maximum(self.lo, other.lo), np.minimum(self.hi, other.hi))

    def hull(self, other: Box) -> Box:
        """The smallest box around both."""
        return Box(np.minimum(self.lo, other.lo), np.maximum(self.hi, other.hi))

    def gaps(self, other: Box) -> tuple[int, ...]:
        """How far apart the boxes are in each attribute, in codes; 0 where their intervals meet."""
        ends = zip(*self.corners.tolist(), *other.corners.tolist(), strict=True)
        return tuple(max(0, lo - other_hi, other_lo - hi) for lo, hi, other_lo, other_hi in ends)

    def distance(self, other: Box, scales: Scales) -> float:
        """Squared distance over the gaps, by the kernel that nodes use, so that both agree to the last bit."""
        return ask.distance(ask.Interests(np.stack([self.corners, other.corners]), scales), 0, 1)

    def volume(self) -> int:
        """How many points it holds."""
        return volume(self.corners)

    def text(self, schema: Schema) -> str:
        """The box as a filter over the schema's fields, for people to read."""
        return box_text(schema, self.corners)


def as_array(boxes: Iterable[Box], attributes: int) -> Coordinates:
    """Boxes as (B, 2, D) int64."""
    corners = [box.corners for box in boxes]
    return np.array(corners, dtype=np.int64).reshape(len(corners), 2, attributes)


def volume(corners: Coordinates) -> int:
    """How many points the box with these (2, D) corners holds, exactly."""
    total = 1
    for lo, hi in zip(*corners.tolist(), strict=True):
        total *= hi - lo + 1
    return total


def box_text(schema: Schema, corners: Coordinates) -> str:
    """The box with these (2, D) corners in the filter language; of texts only what their codes know."""
    parts = [_interval_text(field, lo, hi) for field, lo, hi in zip(schema, *corners.tolist(), strict=True)]
    return " AND ".join(part for part in parts if part) or "TRUE"


def _interval_text(field: AnyField, lo: int, hi: int) -> str:
    """One attribute's interval; nothing for a wildcard."""
    name, (lowest, highest) = field.name, field.codes_span
    if hi == NULL:
        return f"{name} IS NULL"
    if lo == NULL:
        return "" if hi >= highest else f"({name} IS NULL OR {_interval_text(field, FIRST, hi)})"
    if lo <= lowest and hi >= highest:
        return f"{name} IS NOT NULL"
    if isinstance(field, String):
        return _texts_text(field, lo, hi)
    low, high = (field.show(field.key(field.value(min(max(code, lowest), highest)))) for code in (lo, hi))
    if lo == hi:
        return f"{name} = {low}"
    if lo <= lowest:
        return f"{name} <= {high}"
    return f"{name} >= {low}" if hi >= highest else f"{name} BETWEEN {low} AND {high}"


def _texts_text(field: String, lo: int, hi: int) -> str:
    """An interval of codes of texts: of those of 8 bytes and more, all that begin alike are in it or none."""
    name, (lowest, highest) = field.name, field.codes_span
    low, high, after = field.value(lo), field.value(hi), field.value(min(hi + 1, highest))
    if field.prefix(low) == (lo, hi, True) and "%" not in low and "_" not in low:
        return f"{name} LIKE {field.show(low + '%')}"
    if lo == hi:
        return f"{name} = {field.show(low)}"
    ends = []
    if lo > lowest:  # one above the code of a text is all above that text
        ends.append(f"{name} {'>=' if field.code(low) == lo else '>'} {field.show(low)}")
    if hi < highest:
        alone = field.code(high) == hi < field.cut(high).gt
        ends.append(f"{name} <= {field.show(high)}" if alone else f"{name} < {field.show(after)}")
    return " AND ".join(ends)
