"""Regions against the set of their points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.errors import InterestError
from gossamer.interest.box import Box, as_array, volume
from gossamer.interest.field import LAST, NULL
from gossamer.interest.region import Region, at_most, merged
from tests.naive import interest as naive


def groups(number: int) -> st.SearchStrategy[tuple[int, list[list[Box]]]]:
    """The number of attributes, and some lists of boxes that have them."""

    def of(attributes: int) -> st.SearchStrategy[tuple[int, list[list[Box]]]]:
        some = st.lists(naive.small_boxes(attributes, 4 if attributes < 4 else 2), max_size=6)
        return st.tuples(st.just(attributes), st.lists(some, min_size=number, max_size=number))

    return st.integers(1, 4).flatmap(of)


@settings(max_examples=200)
@given(groups(2))
def test_the_algebra_of_regions_is_that_of_their_points(drawn: tuple[int, list[list[Box]]]) -> None:
    attributes, (these, those) = drawn
    one, other = Region(these, attributes), Region(those, attributes)
    mine, theirs = naive.naive_points(these), naive.naive_points(those)
    for region, points in (
        (one, mine),
        (one.subtract(other), mine - theirs),
        (one.union(other), mine | theirs),
        (one.intersect(other), mine & theirs),
        (one.simplified(), mine),
    ):
        assert naive.naive_points(region.boxes()) == points
        assert region.volume() == len(points)  # so the pieces do not meet
        assert bool(region) == bool(points)
    assert one.covers(other) == (theirs <= mine)
    assert (one == other) == (mine == theirs)
    assert all((point in one) == (point in mine) for point in theirs)
    assert all(one.covers(box) for box in these)


@settings(max_examples=200)
@given(groups(1), st.integers(1, 5))
def test_few_boxes_hold_the_points_of_many(drawn: tuple[int, list[list[Box]]], most: int) -> None:
    attributes, (boxes,) = drawn
    few, exact = at_most(as_array(boxes, attributes), most)
    points, more = naive.naive_points(boxes), naive.naive_points(few)
    assert len(few) <= most
    assert more >= points
    assert more == points or not exact
    assert np.array_equal(
        Region(boxes, attributes).at_most(len(boxes) + 4**attributes)[0], Region(boxes, attributes).simplified().pieces
    )


@given(groups(1), st.randoms())
def test_merging_keeps_the_points_whatever_the_order(drawn: tuple[int, list[list[Box]]], random: object) -> None:
    attributes, (boxes,) = drawn
    few = merged(as_array(boxes, attributes))
    assert naive.naive_points(few) == naive.naive_points(boxes)
    assert len(few) <= len(boxes)
    random.shuffle(boxes)  # type: ignore[attr-defined]
    assert np.array_equal(merged(as_array(boxes, attributes)), few)


def test_two_that_add_least_are_joined_first() -> None:
    boxes = as_array([Box([0], [1]), Box([3], [4]), Box([100], [200]), Box([210], [300])], 1)
    few, exact = at_most(boxes, 3)
    assert few[:, :, 0].tolist() == [[0, 4], [100, 200], [210, 300]]
    assert not exact
    assert at_most(boxes, 4)[1]
    assert at_most(boxes, 1)[0].tolist() == [[[0], [300]]]


@pytest.mark.parametrize("attributes", [1, 2, 3])
@pytest.mark.parametrize("width", [10, 10**5, 10**6])
def test_joining_is_greedy_by_exact_volumes(attributes: int, width: int) -> None:
    draws = np.random.default_rng(attributes * width)
    for _ in range(25):
        number, most = draws.integers(4, 25), int(draws.integers(1, 7))
        corners = draws.integers(0, 10**6, (number, 1, attributes)) + draws.integers(0, width, (number, 2, attributes))
        corners.sort(axis=1)
        boxes = [Box(lo, hi) for lo, hi in merged(corners)]
        expected = as_array(naive.naive_at_most(boxes, most), attributes)  # ties are rare among a million codes
        assert np.array_equal(at_most(corners, most)[0], merged(expected))


def test_joining_sees_small_gaps_between_high_codes() -> None:
    high = 2**62
    boxes = as_array([Box([high + i], [high + i]) for i in (0, 10, 13, 40)], 1)
    assert (at_most(boxes, 3)[0][:, :, 0] - high).tolist() == [[0, 0], [10, 13], [40, 40]]


def test_in_64_attributes_volumes_are_compared_all_the_same() -> None:
    codes = np.random.default_rng(3).integers(NULL, LAST, (40, 1, 64))
    boxes = np.repeat(codes, 2, axis=1)
    boxes[1] = boxes[0]
    boxes[1, :, 7] ^= 1
    few, _ = at_most(boxes, 39)
    assert len(few) == 39
    assert volume(few[np.argmax((few[:, 0] != few[:, 1]).any(axis=1))]) == 2


def test_the_ends_of_the_codes_do_not_overflow() -> None:
    everything = Region([Box.everything(2)], 2)
    hole = Box([NULL, LAST], [NULL, LAST])
    rest = everything.subtract(hole)
    assert rest.volume() == 2**128 - 1
    assert rest.union(hole) == everything
    assert rest.union(hole).simplified().pieces.tolist() == everything.pieces.tolist()
    assert everything.subtract(everything).volume() == 0


def grid(size: int) -> list[Box]:
    """Points of a grid, every second in each attribute, so that none can be joined."""
    return [Box.point([2 * x, 2 * y, 2 * z]) for x in range(size) for y in range(size) for z in range(size)]


@pytest.mark.parametrize(
    "operation",
    [
        lambda holes: Region([Box([0] * 3, [20] * 3)], 3, limit=100).subtract(holes, limit=100),
        lambda holes: Region([Box([50] * 3, [60] * 3)], 3).union(holes, limit=100),
        lambda holes: Region([Box([0] * 3, [20] * 3)], 3).intersect(holes, limit=100),
        lambda holes: holes.covers(Box([0] * 3, [20] * 3), limit=100),
        lambda holes: Region(holes.pieces, 3, limit=100),
    ],
)
def test_pieces_beyond_the_limit_are_an_error(operation: Callable[[Region], object]) -> None:
    holes = Region(grid(5), 3)
    with pytest.raises(InterestError, match="more than 100 pieces"):
        operation(holes)


def test_at_least_one_box_is_needed() -> None:
    with pytest.raises(InterestError, match="at least one"):
        at_most(as_array([], 1), 0)
    assert "3 attributes" in repr(Region([], 3))
