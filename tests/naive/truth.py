"""Who should receive what, typed out."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

__all__ = ["mixed", "naive_hash", "naive_pairs", "worlds"]

_WORD = 1 << 64


def naive_pairs(boxes: NDArray[np.int64], points: NDArray[np.int64]) -> list[list[int]]:
    """The boxes that hold each point."""
    return [[b for b, (low, high) in enumerate(boxes) if all(low <= point) and all(point <= high)] for point in points]


def mixed(word: int) -> int:
    """The splitmix64 finaliser in Python's integers."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % _WORD
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % _WORD
    return word ^ (word >> 31)


def naive_hash(keys: list[int]) -> int:
    """The order-free hash of a set of keys."""
    return sum(mixed(key) for key in keys) % _WORD


@st.composite
def worlds(draw: st.DrawFn) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]]:
    """Boxes, points and keys: few values, so that borders meet; some boxes empty, some wide, some at the ends of int64."""
    attributes = draw(st.integers(1, 5))
    ends = st.sampled_from([-(1 << 63), (1 << 63) - 1])
    values = st.one_of(st.integers(-4, 4), st.integers(-4, 4), ends)
    boxes = draw(hnp.arrays(np.int64, st.tuples(st.integers(1, 30), st.just(2), st.just(attributes)), elements=values))
    if draw(st.booleans()):
        boxes = np.sort(boxes, axis=1)
    points = draw(hnp.arrays(np.int64, st.tuples(st.integers(1, 60), st.just(attributes)), elements=values))
    keys = draw(hnp.arrays(np.uint64, boxes.shape[0], elements=st.integers(0, _WORD - 1)))
    return boxes, points, keys
