"""The four questions every interest answers: matches, overlaps, contains, distance.

Asked by handle, of the columns in which a book keeps interests. A box is stored as its two corners side by side, so that
one question about one box touches one cache line in up to four attributes.

Distance is 0 between boxes that overlap, else Euclidean over the *gaps*, each measured in widths of its attribute's domain.
# Departs from the paper: the printed formula squares the overlapping dimensions too, so that two boxes alike in one
# attribute and a hair apart in another would be far from each other.
"""

from __future__ import annotations

from typing import NamedTuple

from gossamer.arrays import Coordinates, Scales
from gossamer.jit import tiny

__all__ = ["HIGH", "LOW", "Interests", "contains", "distance", "distance_to", "matches", "overlaps"]

LOW, HIGH = 0, 1
"""The two corners of a box."""

_LEAST = 2.0**-1000
"""What is between boxes whose gap is lost in rounding."""


class Interests(NamedTuple):
    """What each descriptor wants, by handle."""

    boxes: Coordinates
    """(B, 2, D) int64: lower and upper corner, both inside the box."""
    scale: Scales
    """(D,) float64: one over the width of each attribute's domain."""


@tiny
def matches(wants: Interests, handle: int, point: Coordinates) -> bool:
    """Whether the point lies in the box; corners count."""
    for d in range(point.shape[0]):
        if point[d] < wants.boxes[handle, LOW, d] or point[d] > wants.boxes[handle, HIGH, d]:
            return False
    return True


@tiny
def overlaps(wants: Interests, one: int, other: int) -> bool:
    """Whether some point lies in both boxes."""
    boxes = wants.boxes
    for d in range(boxes.shape[2]):
        if boxes[one, LOW, d] > boxes[other, HIGH, d] or boxes[other, LOW, d] > boxes[one, HIGH, d]:
            return False
    return True


@tiny
def contains(wants: Interests, outer: int, inner: int) -> bool:
    """Whether every point of the inner box lies in the outer."""
    boxes = wants.boxes
    for d in range(boxes.shape[2]):
        if boxes[inner, LOW, d] < boxes[outer, LOW, d] or boxes[inner, HIGH, d] > boxes[outer, HIGH, d]:
            return False
    return True


@tiny
def distance(wants: Interests, one: int, other: int) -> float:
    """Squared distance over the gaps between two boxes; 0.0 exactly when they overlap. Computed without a branch."""
    boxes, total, apart = wants.boxes, 0.0, False
    for d in range(boxes.shape[2]):
        low, high = boxes[one, LOW, d], boxes[one, HIGH, d]
        other_low, other_high = boxes[other, LOW, d], boxes[other, HIGH, d]
        apart |= (low > other_high) | (other_low > high)
        gap = max(float(low) - float(other_high), float(other_low) - float(high), 0.0) * wants.scale[d]
        total += gap * gap
    return max(total, _LEAST) if apart else 0.0


@tiny
def distance_to(wants: Interests, handle: int, point: Coordinates) -> float:
    """Squared distance over the gaps from a box to a point; 0.0 exactly when the box holds it."""
    boxes, total = wants.boxes, 0.0
    for d in range(point.shape[0]):
        gap = 0.0
        if boxes[handle, LOW, d] > point[d]:
            gap = float(boxes[handle, LOW, d]) - float(point[d])
        elif point[d] > boxes[handle, HIGH, d]:
            gap = float(point[d]) - float(boxes[handle, HIGH, d])
        gap *= wants.scale[d]
        total += gap * gap
    return total
