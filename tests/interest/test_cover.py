"""Whether a box is covered, asked of the kernel and of all its points."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.interest import cover
from gossamer.interest.ask import Interests
from tests.naive.protocol import naive_uncovered

CELLS = {1: 30, 2: 8, 3: 4, 4: 3, 5: 3, 6: 2, 7: 2}


def ask(boxes: np.ndarray[tuple[int, int, int], np.dtype[np.int64]], need: int, stack: int = 4096) -> int:
    """Whether what the first two boxes have in common is covered by the others; the grid lies over the first."""
    wants = Interests(boxes=boxes, scale=np.ones(boxes.shape[2]))
    room = cover.line(boxes.shape[2], boxes.shape[0], stack)
    cover.frame(room, wants, 0)
    count = cover.begin(room, need)
    for handle in range(2, boxes.shape[0]):
        count = cover.add(room, count, need, wants, handle, np.uint64(cover.points(room, wants, handle)))
    cover.aim(room, wants, 0, 1)
    return cover.uncovered(room, count, need, np.uint64(cover.points(room, wants, 1)))


@pytest.mark.parametrize("attributes", CELLS)
@pytest.mark.parametrize("need", [1, 2, 3])
def test_a_box_is_covered_when_each_of_its_points_is(attributes: int, need: int) -> None:
    random = np.random.default_rng(100 * attributes + need)
    seen = set()
    for _ in range(400):
        count = 2 + int(random.integers(0, 60 if attributes > 1 else 20))
        boxes = np.sort(random.integers(0, CELLS[attributes], (count, 2, attributes)), axis=1)
        target = np.stack([np.maximum(boxes[0, 0], boxes[1, 0]), np.minimum(boxes[0, 1], boxes[1, 1])])
        if (target[0] > target[1]).any():
            continue
        expected = naive_uncovered(target, boxes[2:], need)
        assert ask(boxes, need) == (cover.UNCOVERED if expected else cover.COVERED)
        seen.add(expected)
    assert seen == {True, False}


@pytest.mark.parametrize("shift", [0, -(2**63), 2**63 - 10])
def test_bounds_at_the_ends_of_all_numbers_are_no_trouble(shift: int) -> None:
    ends = [[[0], [9]], [[0], [9]], [[0], [4]], [[5], [9]]]
    boxes = np.array([[[low + shift] for (low,) in box] for box in ends], np.int64)
    assert ask(boxes, 1) == cover.COVERED
    assert ask(boxes[:-1], 1) == cover.UNCOVERED


def test_the_widest_box_there_is_can_be_covered() -> None:
    least, most = -(2**63), 2**63 - 1
    whole = [[least, least], [most, most]]
    halves = [[[least, least], [most, 0]], [[least, 1], [most, most]]]
    assert ask(np.array([whole, whole, *halves]), 1) == cover.COVERED
    assert ask(np.array([whole, whole, halves[0], [[least, 2], [most, most]]]), 1) == cover.UNCOVERED


def test_too_small_a_stack_is_told() -> None:
    """Slabs across a cube leave more pieces than a stack of ten holds."""
    slabs = [
        [[k if d == axis else 0 for d in range(4)], [k + 1 if d == axis else 49 for d in range(4)]]
        for axis in range(4)
        for k in range(1, 47, 2)
    ]
    target = [[0] * 4, [49] * 4]
    edges = [
        [[low if d == axis else 0 for d in range(4)], [high if d == axis else 49 for d in range(4)]]
        for axis in range(4)
        for low, high in ((0, 0), (47, 49))
    ]
    boxes = np.array([target, target, *slabs, *edges])
    assert ask(boxes, 1, stack=10) == cover.NO_ROOM
    assert ask(boxes, 1) == cover.COVERED
