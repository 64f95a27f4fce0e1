"""How the question who wants what is cut into tasks, and why so.

There is one mechanism and three ways to set it. A tree of cuts sends every event to one tile, and every box to all tiles it
touches; a tile may be spread over several tasks, each with all of its boxes and a share of its events.

    one     one tile, one task            both sides are small: what a task costs is more than the work
    events  one tile, a task a share      the boxes fit into each task
    tiles   a k-d tree of median cuts     the boxes do not, or most of them need not be looked at

Cuts are medians of a bounded sample of the events, so tiles hold about as many events under any law; among the attributes the
cut is taken that leaves least pairs to look at. The surprising thing is the tile that cannot be cut: when half of all events
are one point, that point's tile is spread over as many tasks as its share asks for.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as Spark's own pages call it)

from gossamer.arrays import Coordinates, Keys, Mask, Numbers
from gossamer.errors import CallerError
from gossamer.pipeline.schemas import subscribed, timed_boxes, timed_points

__all__ = ["MEMORY_BYTES", "WAYS", "Plan", "Tiles", "bounds", "cut", "leaves", "part_of", "planned", "spread_over", "touched"]

WAYS: Final = ("one", "events", "tiles")
MEMORY_BYTES: Final = 384 << 20
"""What the boxes of one task may take unless told otherwise: four million of them in three attributes."""
_FEW: Final = 1 << 17
"""Boxes and events together up to which one task is done before several have begun."""
_SAMPLE_EVENTS, _SAMPLE_BOXES = 8192, 2048
_DEEPEST: Final = 10
_CROWDED: Final = 1.5
"""A tile with so many times its fair share of events is spread over several tasks."""
_WIDE: Final = 0.5
"""Boxes that touch this share of all tiles gain nothing from tiles."""
_LOWEST = np.iinfo(np.int64).min
_HIGHEST = np.iinfo(np.int64).max
_ODD = np.uint64(0x9E3779B97F4A7C15)
_UPPER = np.uint64(32)


class Tiles(NamedTuple):
    """A complete binary tree of cuts, its leaves the tiles, and the tasks of each."""

    axis: Numbers
    """(T - 1,) int64: the attribute cut at each inner place; children of place i are 2 i + 1 and 2 i + 2."""
    at: Numbers
    """(T - 1,) int64: what is at least this goes right; the lowest int64 sends everything there."""
    tasks: Numbers
    """(T,) int64: over how many tasks each tile is spread."""
    first: Numbers
    """(T,) int64: the first of them."""


class Plan(NamedTuple):
    """How it will be done, and why."""

    way: str
    """One of WAYS."""
    tiles: Tiles
    why: tuple[str, ...]
    """For people: what was counted, what was compared."""
    pairs: float = math.nan
    """How many matches a sample lets expect."""
    moment: int = 0
    """The cycle in which events without a moment of their own are asked."""

    @property
    def tasks(self) -> int:
        """How many tasks there will be."""
        return int(self.tiles.tasks.sum())


def spread_over(tasks: int) -> Tiles:
    """One tile, spread over so many tasks."""
    none = np.empty(0, dtype=np.int64)
    return Tiles(none, none, np.array([tasks]), np.array([0]))


def cut(points: Coordinates, boxes: Coordinates, depth: int) -> Tiles:
    """A tree of so many levels for samples of the events and the boxes."""
    size = 1 << depth
    axis, at = np.zeros(size - 1, dtype=np.int64), np.full(size - 1, _LOWEST, dtype=np.int64)
    place = np.zeros(points.shape[0], dtype=np.int64)
    within = {0: np.ones(boxes.shape[0], dtype=np.bool_)}
    for node in range(size - 1):
        some, inner = points[place == node], within.pop(node)
        axis[node], at[node] = _best_cut(some, boxes[inner])
        d, c = axis[node], at[node]
        here = place == node
        place[here] = 2 * node + 1 + (points[here, d] >= c)
        within[2 * node + 1] = inner & (boxes[:, 0, d] < c)
        within[2 * node + 2] = inner & (boxes[:, 1, d] >= c)
    share = np.bincount(place - (size - 1), minlength=size) / max(points.shape[0], 1)
    crowd = share * size
    tasks = np.where(crowd > _CROWDED, np.ceil(crowd), 1).astype(np.int64)
    return Tiles(axis, at, tasks, np.cumsum(tasks) - tasks)


def _best_cut(points: Coordinates, boxes: Coordinates) -> tuple[int, int]:
    """The attribute and the value that leave least pairs of an event and a box on one side; the lower attribute wins a tie."""
    best, found = float(points.shape[0]) * boxes.shape[0], (0, _LOWEST)
    for d in range(points.shape[1]):
        column = np.sort(points[:, d])
        if column.shape[0] == 0 or column[0] == column[-1]:
            continue
        middle = int(column[column.shape[0] // 2])
        for c in {middle, int(column[np.searchsorted(column, middle, side="right") % column.shape[0]])}:
            left = int(np.searchsorted(column, c))
            if left == 0:
                continue
            pairs = float(left) * (boxes[:, 0, d] < c).sum() + float(column.shape[0] - left) * (boxes[:, 1, d] >= c).sum()
            # Without boxes in the sample, or with wildcards alone, an even cut is still worth having.
            pairs += abs(column.shape[0] - 2 * left) / column.shape[0]
            if pairs < best or (found[1] == _LOWEST and boxes.shape[0] == 0):
                best, found = pairs, (d, c)
    return found


def leaves(tiles: Tiles, points: Coordinates) -> Numbers:
    """(E,) int64: the tile of each event."""
    node, inner = np.zeros(points.shape[0], dtype=np.int64), tiles.axis.shape[0]
    row = np.arange(points.shape[0])
    for _ in range(int(inner + 1).bit_length() - 1):
        node = 2 * node + 1 + (points[row, tiles.axis[node]] >= tiles.at[node])
    found: Numbers = node - inner
    return found


def part_of(tiles: Tiles, points: Coordinates, names: Keys) -> Numbers:
    """(E,) int64: the task of each event; within a tile by its name."""
    tile = leaves(tiles, points)
    tasks = tiles.tasks[tile].astype(np.uint64)
    within: Numbers = (((names * _ODD) >> _UPPER) % tasks).astype(np.int64)
    found: Numbers = tiles.first[tile] + within
    return found


def bounds(tiles: Tiles, attributes: int) -> tuple[Coordinates, Mask]:
    """(T, 2, D) int64: what each tile can hold, and whether it can hold anything."""
    size = tiles.tasks.shape[0]
    all_of = np.empty((2 * size - 1, 2, attributes), dtype=np.int64)
    some = np.ones(2 * size - 1, dtype=np.bool_)
    all_of[0, 0], all_of[0, 1] = _LOWEST, _HIGHEST
    for node in range(size - 1):
        d, c = int(tiles.axis[node]), int(tiles.at[node])
        left, right = 2 * node + 1, 2 * node + 2
        all_of[[left, right]], some[[left, right]] = all_of[node], some[node]
        all_of[right, 0, d] = c
        if c == _LOWEST:
            some[left] = False
        else:
            all_of[left, 1, d] = c - 1
    return all_of[size - 1 :], some[size - 1 :]


def touched(tiles: Tiles, boxes: Coordinates) -> list[NDArray[np.intp]]:
    """For each tile the boxes that have a point in common with it."""
    spaces, some = bounds(tiles, boxes.shape[2])
    nothing = np.empty(0, dtype=np.intp)
    return [_meeting(boxes, space) if there else nothing for space, there in zip(spaces, some, strict=True)]


def _meeting(boxes: Coordinates, space: Coordinates) -> NDArray[np.intp]:
    met = np.ones(boxes.shape[0], dtype=np.bool_)
    for d in np.flatnonzero((space[0] > _LOWEST) | (space[1] < _HIGHEST)):
        met &= (boxes[:, 0, d] <= space[1, d]) & (boxes[:, 1, d] >= space[0, d])
    return np.flatnonzero(met)


def planned(
    subscriptions: DataFrame,
    events: DataFrame,
    *,
    way: str | None = None,
    tasks: int | None = None,
    memory_bytes: int = MEMORY_BYTES,
    moment: int = 0,
) -> Plan:
    """The plan for these tables, by their counts and a bounded sample of each; ``way`` and ``tasks`` overrule it.

    tasks        : at least so many where there are several; as a shuffle has unless given
    memory_bytes : what the boxes of one task may take
    moment       : the cycle in which events without a moment of their own are asked
    """
    if way is not None and way not in WAYS:
        raise CallerError(f"no plan is called {way!r}\nHint: {', '.join(WAYS)}")
    count_boxes, count_events = subscriptions.count(), events.count()
    parts = tasks or int(subscriptions.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    counted = f"{count_boxes:,} boxes, {count_events:,} events"
    if not count_boxes or not count_events:
        return Plan(way or "one", spread_over(1), (counted, "one: there is nothing to compare"), 0.0, moment)
    boxes = timed_boxes(subscribed(_some(subscriptions, "row", count_boxes, _SAMPLE_BOXES)))
    points = timed_points(_some(events, "event", count_events, _SAMPLE_EVENTS), moment)
    share = _selectivity(boxes, points)
    pairs = share * count_boxes * count_events
    size = boxes.shape[2] * 16 + 40
    whole = count_boxes * size
    why = [f"{counted}; of sampled pairs {share:.3g} match: about {pairs:.3g} matches, {pairs / count_events:.3g} an event"]
    chosen = way or ("one" if count_boxes + count_events <= _FEW else "events" if whole <= memory_bytes else "tiles")
    reason = "asked for" if way is not None else ""
    if chosen == "one":
        why.append(f"one: {reason or f'together at most {_FEW:,}, a second task would cost more than it saves'}")
        return Plan(chosen, spread_over(1), tuple(why), pairs, moment)
    room = f"the boxes take {_said(whole)} in a task, which may take {_said(memory_bytes)}"
    if chosen == "events":
        why.append(f"events: {reason or room}; {parts} tasks with all boxes and an even share of the events each")
        return Plan(chosen, spread_over(parts), tuple(why), pairs, moment)
    return _tiled(points, boxes, parts, whole, memory_bytes, [*why, f"tiles: {reason or room}"], pairs, moment)


def _tiled(
    points: Coordinates, boxes: Coordinates, parts: int, whole: int, memory: int, why: list[str], pairs: float, moment: int
) -> Plan:
    """As many tiles as tasks are wanted, or more until the boxes of each fit."""
    depth = max(1, math.ceil(math.log2(max(parts, 2))))
    while True:
        tiles = cut(points, boxes, depth)
        shares = np.array([len(some) for some in touched(tiles, boxes)]) / boxes.shape[0]
        if shares.max() * whole <= memory or depth == _DEEPEST:
            break
        depth += 1
    why.append(
        f"  {1 << depth} tiles in {int(tiles.tasks.sum())} tasks; a box lies in {shares.sum():.3g} tiles on average, "
        f"a tile takes at most {_said(int(shares.max() * whole))}"
    )
    if shares.sum() > _WIDE * (1 << depth):
        why.append("  most boxes touch most tiles: they are too wide for tiles to help; more memory would (--memory)")
    return Plan("tiles", tiles, tuple(why), pairs, moment)


def _some(table: DataFrame, name: str, count: int, wanted: int) -> pa.Table:
    """About so many rows, picked by a hash: at most twice as many."""
    picked = table.where(F.pmod(F.xxhash64(name), F.lit(max(1, count // wanted))) == 0).limit(2 * wanted)
    found = picked.toArrow()
    return found if found.num_rows else table.limit(wanted).toArrow()


def _selectivity(boxes: Coordinates, points: Coordinates) -> float:
    """The share of sampled pairs that match."""
    few = points[:: max(1, points.shape[0] // 1024)]
    inside = np.ones((boxes.shape[0], few.shape[0]), dtype=np.bool_)
    for d in range(boxes.shape[2]):
        inside &= (boxes[:, None, 0, d] <= few[None, :, d]) & (few[None, :, d] <= boxes[:, None, 1, d])
    return float(inside.mean())


def _said(size: int) -> str:
    return f"{size / (1 << 20):,.0f} MiB"
