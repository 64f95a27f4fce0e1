"""Boxes against their points, and against the kernels that nodes ask."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import InterestError
from gossamer.interest import ask
from gossamer.interest.box import Box, as_array, volume
from gossamer.interest.field import LAST, NULL
from gossamer.interest.schema import Bool, Datetime, Float, Grid, Int, Schema, String
from tests.naive import interest as naive

PAIRS = st.integers(1, 4).flatmap(lambda attributes: st.tuples(*[naive.small_boxes(attributes)] * 2))


@given(PAIRS)
def test_a_box_is_the_set_of_its_points(pair: tuple[Box, Box]) -> None:
    one, other = pair
    mine, theirs = naive.naive_points([one]), naive.naive_points([other])
    assert one.volume() == len(mine)
    assert one.contains(other) == (theirs <= mine)
    assert one.overlaps(other) == bool(mine & theirs)
    common = one.intersection(other)
    assert (naive.naive_points([common]) if common else set()) == mine & theirs
    assert all(point in one for point in mine)
    assert all((point in one) == (point in mine) for point in theirs)
    assert one.hull(other).contains(one)
    assert one.hull(other) == other.hull(one)


@given(PAIRS)
def test_a_box_answers_as_the_kernels_do(pair: tuple[Box, Box]) -> None:
    one, other = pair
    scales = np.array([0.5, 0.25, 2.0, 1.0])[: len(one)]
    wants = ask.Interests(as_array(pair, len(one)), scales)
    assert one.contains(other) == ask.contains(wants, 0, 1)
    assert one.overlaps(other) == ask.overlaps(wants, 0, 1)
    assert (other.lo in one) == ask.matches(wants, 0, other.lo)
    assert one.distance(other, scales) == ask.distance(wants, 0, 1)
    assert one.distance(other, scales) == sum((gap * scale) ** 2 for gap, scale in zip(one.gaps(other), scales, strict=True))
    assert one.gaps(other) == other.gaps(one)
    assert (max(one.gaps(other)) == 0) == one.overlaps(other)


def test_the_ends_of_the_codes_do_not_overflow() -> None:
    everything, null = Box.everything(3), Box.point([NULL] * 3)
    assert everything.volume() == 2**192
    assert volume(everything.corners) == 2**192
    assert null.gaps(Box.point([LAST] * 3)) == (2**64 - 1,) * 3
    assert everything.contains(null)
    assert null in {null, everything}
    assert null != everything


@pytest.mark.parametrize(("lo", "hi"), [([1], [0]), ([], []), ([1, 2], [3]), ([0, 5], [9, 4])])
def test_there_is_no_empty_box(lo: list[int], hi: list[int]) -> None:
    with pytest.raises(InterestError):
        Box(lo, hi)


def test_a_box_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Box([0], [1]).lo[0] = 7


SCHEMA = Schema(Float("price"), Grid("x"), Int("size"), Bool("active"), String("name"), Datetime("at"))


@pytest.mark.parametrize(
    ("field", "lo", "hi", "shown"),
    [
        ("size", NULL, LAST, "TRUE"),
        ("size", NULL, NULL, "size IS NULL"),
        ("size", NULL + 1, LAST, "size IS NOT NULL"),
        ("size", 3, 3, "size = 3"),
        ("size", 3, 9, "size BETWEEN 3 AND 9"),
        ("size", 3, LAST, "size >= 3"),
        ("size", NULL + 1, 9, "size <= 9"),
        ("size", NULL, 9, "(size IS NULL OR size <= 9)"),
        ("active", 1, LAST, "active >= TRUE"),
        ("active", NULL + 1, 0, "active <= FALSE"),
        ("x", 0, 2**29, "x BETWEEN 0.0 AND 0.5"),
        ("x", NULL + 1, 2**29, "x <= 0.5"),
        ("at", 0, 86_400_000_000, "at BETWEEN '1970-01-01T00:00:00Z' AND '1970-01-02T00:00:00Z'"),
    ],
)
def test_a_box_is_shown_in_the_words_of_its_schema(field: str, lo: int, hi: int, shown: str) -> None:
    low, high = Box.everything(len(SCHEMA)).corners.tolist()
    low[SCHEMA.index(field)], high[SCHEMA.index(field)] = lo, hi
    assert Box(low, high).text(SCHEMA) == shown
    assert repr(Box([1], [2])) == "Box([1], [2])"
