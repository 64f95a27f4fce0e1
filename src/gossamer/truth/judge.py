"""Who should receive each event, and in which ring: the questions that measures ask.

A small planner looks at a sample of boxes and points and chooses between testing everything and a grid, over which
attributes, and how fine. The answers are the same whatever it chooses.

Time is one attribute more: a descriptor holds from the cycle it counts from to the one before it ends, an event happens in
its cycle, and the same grid answers who was alive, and wanted what, at that moment.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gossamer.arrays import Coordinates, Flags, Handles, Keys, Numbers, Offsets, Rows
from gossamer.scenario.population import NEVER, Population
from gossamer.truth.grid import AXES, Grid, brute_all, build, count_slab, fill_slab, near_each_other, sum_up, touch_all
from gossamer.truth.ranges import on_threads

__all__ = ["Matches", "Pairs", "Rings", "by_node", "count", "current", "holding", "pairs", "rings", "timed"]

_SAMPLE = 256
_FEW = 1 << 21
"""Boxes times points up to which nothing beats testing everything."""
_CELL_NS, _TEST_NS = 4.0, 1.5
_FINEST = {1: (256, 2048, 16384), 2: (16, 64, 256, 1024), 3: (8, 16, 32, 64, 128)}
_MOST_CELLS = 1 << 22


class Matches(NamedTuple):
    """How many boxes hold each point, and which, as one number."""

    counts: Numbers
    """(E,) int64."""
    hashes: Keys
    """(E,) uint64: the wrapping sum of ``draws.mix`` of their keys, in whatever order."""


class Pairs(NamedTuple):
    """Which boxes hold each point."""

    offsets: Offsets
    """(E + 1,) int64: where each point's boxes begin."""
    members: Handles
    """(P,) int32: positions of boxes, rising within a point."""


class Rings(NamedTuple):
    """The ring of each event: who wants it in the order of keys. A member's successor is the next; the last one's the first."""

    offsets: Offsets
    """(E + 1,) int64."""
    rows: Rows
    """(P,) int32: rising within an event."""
    handles: Handles
    """(P,) int32: the descriptor by which the row wants it."""


def count(boxes: Coordinates, keys: Keys, points: Coordinates, *, threads: int = 1) -> Matches:
    """For each point how many boxes hold it, and an order-free hash of their keys."""
    counted, hashed = np.zeros(points.shape[0], dtype=np.int64), np.zeros(points.shape[0], dtype=np.uint64)
    if boxes.shape[0] * points.shape[0] <= _FEW:
        brute_all(boxes, keys, points, counted, hashed)
        return Matches(counted, hashed)
    axes, cells = _plan(boxes, points)
    grid = build(points, axes, cells)
    turn = near_each_other(grid, boxes)
    boxes, keys = np.take(boxes, turn, axis=0), keys[turn]
    span, core, alike = _touched(grid, boxes, threads)

    def slab(start: int, stop: int) -> None:
        begin, end = _points_of(grid, start, stop)
        counts, hashes = np.zeros(end - begin, dtype=np.int64), np.zeros(end - begin, dtype=np.uint64)
        more, rehash = np.zeros(end - begin + 1, dtype=np.int64), np.zeros(end - begin + 1, dtype=np.uint64)
        count_slab(grid, boxes, keys, span, core, alike, counts, hashes, more, rehash, start, stop)
        sum_up(counts, hashes, more, rehash, grid.order[begin:end], counted, hashed)

    on_threads(slab, int(grid.shape[0]), threads)
    return Matches(counted, hashed)


def pairs(boxes: Coordinates, points: Coordinates, *, threads: int = 1) -> Pairs:
    """For each point the positions of the boxes that hold it."""
    offsets = np.zeros(points.shape[0] + 1, dtype=np.int64)
    if 0 in (boxes.shape[0], points.shape[0]):
        return Pairs(offsets, np.empty(0, dtype=np.int32))
    counted = count(boxes, np.zeros(boxes.shape[0], dtype=np.uint64), points, threads=threads).counts
    np.cumsum(counted, out=offsets[1:])
    members = np.empty(int(offsets[-1]), dtype=np.int32)
    grid = build(points, *_plan(boxes, points))
    span, _, _ = _touched(grid, boxes, threads)
    cursor = offsets[:-1][grid.order]

    def slab(start: int, stop: int) -> None:
        fill_slab(grid, boxes, span, cursor, members, start, stop)

    on_threads(slab, int(grid.shape[0]), threads)
    return Pairs(offsets, members)


def current(people: Population, cycle: int) -> Handles:
    """What the rows alive in a cycle want then: their latest descriptors, in the order of rows."""
    latest = np.arange(people.key.shape[0], dtype=np.int32)
    done = np.searchsorted(people.change_cycle, cycle, side="right")
    latest[people.change_row[:done]] = people.change_handle[:done]
    return latest[(people.joins <= cycle) & (people.leaves > cycle)]


def holding(people: Population) -> tuple[Numbers, Numbers]:
    """For each descriptor the first cycle in which it counts and the first in which it no longer does."""
    since, until = people.joins.astype(np.int64)[people.owner], people.leaves.astype(np.int64)[people.owner]
    since[people.change_handle] = people.change_cycle
    latest = np.arange(people.key.shape[0])
    for cycle, row, handle in zip(people.change_cycle, people.change_row, people.change_handle, strict=True):
        until[latest[row]] = cycle
        latest[row] = handle
    return since, until


def timed(people: Population, points: Coordinates, cycle: Numbers) -> tuple[Coordinates, Coordinates]:
    """Boxes of all descriptors and points of all events, with time as the last attribute."""
    since, until = holding(people)
    span = np.stack([since, np.where(until >= NEVER, NEVER, until - 1)], axis=1)[:, :, None]
    boxes = np.concatenate([people.boxes, span], axis=2)
    return boxes, np.concatenate([points, cycle.astype(np.int64)[:, None]], axis=1)


def rings(people: Population, points: Coordinates, cycle: int, *, threads: int = 1) -> Rings:
    """The ring of each event as it should be in a cycle."""
    handles = current(people, cycle)
    offsets, members = pairs(people.boxes[handles], points, threads=threads)
    chosen = handles[members]
    return Rings(offsets, people.owner[chosen], chosen)


def by_node(people: Population, ring: Rings) -> Pairs:
    """Which nodes want each event: a node counts once, however many of its rows want it."""
    events = np.repeat(np.arange(ring.offsets.shape[0] - 1), np.diff(ring.offsets))
    node = people.node[ring.rows].astype(np.int64)
    both = np.unique(events * (1 << 32) + node)
    offsets = np.searchsorted(both, np.arange(ring.offsets.shape[0]) * (1 << 32))
    return Pairs(offsets.astype(np.int64), (both & 0xFFFFFFFF).astype(np.int32))


def _touched(grid: Grid, boxes: Coordinates, threads: int) -> tuple[Handles, Handles, Flags]:
    span = np.empty((boxes.shape[0], AXES, 2), dtype=np.int32)
    core, alike = np.empty_like(span), np.empty(boxes.shape[0], dtype=np.uint8)

    def some(start: int, stop: int) -> None:
        touch_all(grid, boxes, span, core, alike, start, stop)

    on_threads(some, boxes.shape[0], threads)
    return span, core, alike


def _plan(boxes: Coordinates, points: Coordinates) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Attributes of the grid, most selective first, and cells along each, by what a sample says it would cost."""
    some = boxes[:: max(1, boxes.shape[0] // _SAMPLE)]
    few = points[:: max(1, points.shape[0] // _SAMPLE)]
    inside = (some[:, None, 0] <= few[None]) & (few[None] <= some[:, None, 1])
    shares = inside.mean(axis=(0, 1))
    best = np.argsort(shares, kind="stable")[:AXES]
    cheapest = np.inf
    plan: tuple[tuple[int, ...], tuple[int, ...]] = ((int(best[0]),), (1,))
    for used in range(1, len(best) + 1):
        for cells in _FINEST[used]:
            if cells**used > min(_MOST_CELLS, 2 * points.shape[0]):
                continue
            touched = float(np.prod(shares[best[:used]] * cells + 1))
            tested = float(np.prod(np.minimum(1.0, shares[best[:used]] + 1 / cells))) * points.shape[0]
            runs = touched / (shares[best[used - 1]] * cells + 1)
            cost = runs * _CELL_NS + tested * _TEST_NS
            if cost < cheapest:
                cheapest, plan = cost, (tuple(int(d) for d in best[:used]), (cells,) * used)
    return plan


def _points_of(grid: Grid, start: int, stop: int) -> tuple[int, int]:
    below = int(grid.shape[1] * grid.shape[2])
    return int(grid.first[start * below]), int(grid.first[stop * below])
