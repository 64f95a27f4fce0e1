"""Which boxes hold which points, by a grid over the points.

The points are sorted by cell, and every box goes through the cells it touches. Cells are cut at quantiles of the points, so
that they hold about as many each under any law. Ranges of cells of the first axis (slabs) run on threads: a slab writes its
own points and nothing else, so the answer does not depend on how many there are.

The surprising thing: a run of cells wholly inside a box is not walked. Its points lie side by side, so the box is added at
the first and taken away after the last, and one running sum at the end does the rest. A wildcard costs two additions a run
of cells instead of one a point.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.arrays import Coordinates, Flags, Handles, Keys, Numbers, Offsets
from gossamer.draws import mix
from gossamer.jit import sweep, tiny

__all__ = ["AXES", "Grid", "brute_all", "build", "count_slab", "fill_slab", "near_each_other", "sum_up", "touch_all"]

AXES = 3
"""Axes of every grid; those not used have one cell."""
_SAMPLES_A_CELL = 64
"""Points looked at to cut an axis, for each cell."""
_SLOTS = 1024
"""Parts of an axis whose first cell is known."""
_NO_KEY = np.uint64(0)


class Grid(NamedTuple):
    """Points sorted by cell."""

    points: Coordinates
    """(E, D) int64: in order of cells."""
    order: NDArray[np.intp]
    """(E,): which point stands there."""
    axes: Numbers
    """(AXES,) int64: the attribute of each axis; -1 for an axis not used."""
    lower: Coordinates
    """(AXES, G) int64: least coordinate of each cell; the first is the least of all points."""
    top: Coordinates
    """(AXES,) int64: greatest coordinate of all points."""
    shape: Numbers
    """(AXES,) int64: cells of each axis."""
    first: Offsets
    """(cells + 1,) int64: where each cell's points begin."""
    slots: Numbers
    """(AXES, _SLOTS + 1) int64: the cell in which each of so many equal parts of an axis begins; the last cell behind them."""
    shift: Numbers
    """(AXES,) int64: bits of the width of such a part."""


@tiny
def _cell(lower: Coordinates, slots: Numbers, shift: int, value: int) -> int:
    """The cell of a value along one axis; what lies before the first is taken for it. Most parts of an axis lie in one cell."""
    last = int(slots[_SLOTS])
    if value >= lower[last]:
        return last
    if value <= lower[0]:
        return 0
    part = min((value >> shift) - (lower[0] >> shift), _SLOTS - 1)
    low, high = int(slots[part]), int(slots[part + 1])
    while low < high:
        middle = (low + high + 1) // 2
        if lower[middle] <= value:
            low = middle
        else:
            high = middle - 1
    return low


@sweep
def _cells(
    points: Coordinates, axes: Numbers, lower: Coordinates, shape: Numbers, slots: Numbers, shift: Numbers, cell: Numbers
) -> None:
    """The cell of each point."""
    for e in range(points.shape[0]):
        at = 0
        for a in range(AXES):
            if axes[a] >= 0:
                at = at * shape[a] + _cell(lower[a], slots[a], shift[a], points[e, axes[a]])
        cell[e] = at


@sweep
def _by_cell(cell: Numbers, first: Offsets, order: NDArray[np.intp]) -> None:
    """Count into cells, as they come.

    first : (cells + 1,)  written: where each cell begins
    order : (E,)          written: who lies there
    """
    first[:] = 0
    for e in range(cell.shape[0]):
        first[cell[e] + 1] += 1
    for c in range(first.shape[0] - 1):
        first[c + 1] += first[c]
    for e in range(cell.shape[0]):
        order[first[cell[e]]] = e
        first[cell[e]] += 1
    for c in range(first.shape[0] - 1, 0, -1):
        first[c] = first[c - 1]
    first[0] = 0


def build(points: Coordinates, axes: tuple[int, ...], cells: tuple[int, ...]) -> Grid:
    """Sort points into about so many cells along these attributes; at least one point."""
    shape, top = np.ones(AXES, dtype=np.int64), np.zeros(AXES, dtype=np.int64)
    lower = np.zeros((AXES, max(cells)), dtype=np.int64)
    slots, shift = np.zeros((AXES, _SLOTS + 1), dtype=np.int64), np.zeros(AXES, dtype=np.int64)
    used = np.full(AXES, -1, dtype=np.int64)
    used[: len(axes)] = axes
    for a, (d, wanted) in enumerate(zip(axes, cells, strict=True)):
        some = np.sort(points[:: max(1, points.shape[0] // (wanted * _SAMPLES_A_CELL)), d])
        bounds = some[(np.arange(wanted) * some.shape[0]) // wanted]
        bounds[0] = points[:, d].min()
        bounds = np.unique(bounds)
        shape[a], top[a] = bounds.shape[0], points[:, d].max()
        lower[a, : bounds.shape[0]] = bounds
        least, most = int(bounds[0]), int(top[a])
        shift[a] = max(0, (most - least).bit_length() - _SLOTS.bit_length() + 1)
        begins = [min((least >> int(shift[a])) + s << int(shift[a]), most) for s in range(_SLOTS)]
        slots[a, :_SLOTS] = np.maximum(np.searchsorted(bounds, begins, side="right") - 1, 0)
        slots[a, _SLOTS] = bounds.shape[0] - 1
    cell, order = np.empty(points.shape[0], dtype=np.int64), np.empty(points.shape[0], dtype=np.intp)
    first = np.empty(int(np.prod(shape)) + 1, dtype=np.int64)
    _cells(points, used, lower, shape, slots, shift, cell)
    _by_cell(cell, first, order)
    return Grid(np.take(points, order, axis=0), order, used, lower, top, shape, first, slots, shift)


def near_each_other(grid: Grid, boxes: Coordinates) -> NDArray[np.intp]:
    """Boxes in the order of the cells of their lower corners: those side by side touch points that lie close together."""
    cell, order = np.empty(boxes.shape[0], dtype=np.int64), np.empty(boxes.shape[0], dtype=np.intp)
    first = np.empty(grid.first.shape[0], dtype=np.int64)
    _cells(boxes[:, 0], grid.axes, grid.lower, grid.shape, grid.slots, grid.shift, cell)
    _by_cell(cell, first, order)
    return order


@sweep
def touch_all(grid: Grid, boxes: Coordinates, span: Handles, core: Handles, alike: Flags, start: int, stop: int) -> None:
    """For each box the cells it touches and those it covers.

    span  : (B, AXES, 2) int32  written: first and last cell touched; none when the last is below the first
    core  : (B, AXES, 2) int32  written: first and last cell wholly covered; likewise
    alike : (B,) uint8          written: 1 when no attribute outside the grid tells its points apart
    """
    for b in range(start, stop):
        alike[b] = 1
        for d in range(boxes.shape[2]):
            for a in range(AXES):
                if grid.axes[a] == d:
                    break
            else:
                alike[b] = 0
        for a in range(AXES):
            d, last = grid.axes[a], grid.shape[a] - 1
            span[b, a, 0] = span[b, a, 1] = core[b, a, 0] = core[b, a, 1] = 0
            if d < 0:
                continue
            low, high = boxes[b, 0, d], boxes[b, 1, d]
            left = _cell(grid.lower[a], grid.slots[a], grid.shift[a], low)
            right = _cell(grid.lower[a], grid.slots[a], grid.shift[a], high)
            if low > grid.top[a] or high < grid.lower[a, 0] or low > high:
                right = -1
            span[b, a, 0], span[b, a, 1] = left, right
            core[b, a, 0] = left if low <= grid.lower[a, left] else left + 1
            full = grid.top[a] if right == last else grid.lower[a, right + 1] - 1
            core[b, a, 1] = right if right >= 0 and high >= full else right - 1


@tiny
def _holds(boxes: Coordinates, b: int, points: Coordinates, e: int) -> int:
    """1 when a box holds a point, else 0; computed without a branch, for it could not be foreseen."""
    inside = 1
    for d in range(points.shape[1]):
        inside &= int(points[e, d] >= boxes[b, 0, d]) & int(points[e, d] <= boxes[b, 1, d])
    return inside


@tiny
def _count_run(
    boxes: Coordinates, b: int, points: Coordinates, name: np.uint64, counts: Numbers, hashes: Keys, start: int, stop: int
) -> None:
    """Test one box against points side by side."""
    for e in range(start, stop):
        inside = _holds(boxes, b, points, e)
        counts[e] += inside
        hashes[e] += name * np.uint64(inside)


@sweep
def count_slab(
    grid: Grid,
    boxes: Coordinates,
    keys: Keys,
    span: Handles,
    core: Handles,
    alike: Flags,
    counts: Numbers,
    hashes: Keys,
    more: Numbers,
    rehash: Keys,
    start: int,
    stop: int,
) -> None:
    """Add all boxes to the points in cells start .. stop-1 of the first axis.

    counts, hashes : (points of the slab,)      int64, uint64  boxes that passed a test
    more, rehash   : (points of the slab + 1,)  int64, uint64  boxes that cover whole cells: differences between neighbours
    """
    wide, deep = grid.shape[1], grid.shape[2]
    base = grid.first[start * wide * deep]
    points = grid.points[base : grid.first[stop * wide * deep]]
    for b in range(boxes.shape[0]):
        name = mix(keys[b])
        for x in range(max(span[b, 0, 0], start), min(span[b, 0, 1], stop - 1) + 1):
            for y in range(span[b, 1, 0], span[b, 1, 1] + 1):
                row = (x * wide + y) * deep
                left, right = span[b, 2, 0], span[b, 2, 1]
                if left > right:
                    continue
                inner = alike[b] != 0 and core[b, 0, 0] <= x <= core[b, 0, 1] and core[b, 1, 0] <= y <= core[b, 1, 1]
                one, two = core[b, 2, 0], core[b, 2, 1]
                begin, end = grid.first[row + left] - base, grid.first[row + right + 1] - base
                if inner and one <= two:
                    from_, to = grid.first[row + one] - base, grid.first[row + two + 1] - base
                    more[from_] += 1
                    more[to] -= 1
                    rehash[from_] += name
                    rehash[to] -= name
                    _count_run(boxes, b, points, name, counts, hashes, begin, from_)
                    begin = to
                _count_run(boxes, b, points, name, counts, hashes, begin, end)


@sweep
def fill_slab(grid: Grid, boxes: Coordinates, span: Handles, cursor: Offsets, members: Handles, start: int, stop: int) -> None:
    """Write the boxes that hold each point in cells start .. stop-1 of the first axis, in rising order.

    cursor  : (E,) int64  where the next box of a point goes, by place in the grid; moved on
    members : (P,) int32  written
    """
    wide, deep = grid.shape[1], grid.shape[2]
    for b in range(boxes.shape[0]):
        if span[b, 2, 0] > span[b, 2, 1]:
            continue
        for x in range(max(span[b, 0, 0], start), min(span[b, 0, 1], stop - 1) + 1):
            for y in range(span[b, 1, 0], span[b, 1, 1] + 1):
                row = (x * wide + y) * deep
                for e in range(grid.first[row + span[b, 2, 0]], grid.first[row + span[b, 2, 1] + 1]):
                    if _holds(boxes, b, grid.points, e) != 0:
                        members[cursor[e]] = b
                        cursor[e] += 1


@sweep
def sum_up(
    counts: Numbers, hashes: Keys, more: Numbers, rehash: Keys, order: NDArray[np.intp], counted: Numbers, hashed: Keys
) -> None:
    """Add the running sums of differences, and put the points in the order they came in."""
    count, name = np.int64(0), _NO_KEY
    for e in range(order.shape[0]):
        count += more[e]
        name += rehash[e]
        counted[order[e]] = counts[e] + count
        hashed[order[e]] = hashes[e] + name


@sweep
def brute_all(boxes: Coordinates, keys: Keys, points: Coordinates, counted: Numbers, hashed: Keys) -> None:
    """Test every box against every point: faster than a grid while both are few."""
    for e in range(points.shape[0]):
        count, name = np.int64(0), _NO_KEY
        for b in range(boxes.shape[0]):
            if _holds(boxes, b, points, e) != 0:
                count += 1
                name += mix(keys[b])
        counted[e] = count
        hashed[e] = name
