"""A scenario as tables: who wants what, and what is published.

Any row follows from the seed and its number, so a task makes its own range of rows and needs nothing from another; however
the work is cut, the table is the same and equal to what ``scenario`` draws in one process. What a task is told is the
scenario as text and the seed.

What is left that grows with the world, in each worker: the register of lives, 9 bytes a node (17 while it is written); for
events the boxes they are drawn from, 48 bytes a starter in three attributes, and 8 more and marks of at most 256 MiB. Where
subscriptions change, one pass over all rows here, in the driver, finds the draw up to which rows change: 16 bytes a row.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from gossamer.arrays import Counts, Keys, Mask, Numbers, Rows
from gossamer.draws import Purpose
from gossamer.pipeline.schemas import EVENTS, SUBSCRIPTIONS, Subscribed, events_batch, numbers, subscriptions_batch
from gossamer.scenario.lives import Lives, chosen, draw_each, live
from gossamer.scenario.population import Part, Plan, changed, part, plan
from gossamer.scenario.scenario import Scenario
from gossamer.scenario.toml import loads, to_toml
from gossamer.scenario.workload import Pool, drawn_from, published

__all__ = ["World", "blocks", "events", "subscriptions", "world"]

ROWS_AT_ONCE: Final = 1 << 16
"""Rows of a batch that leaves a task."""
_EVENTS_AT_ONCE: Final = 1 << 14


class World(NamedTuple):
    """What a task knows: enough to make any row."""

    scenario: Scenario
    seed: int
    lives: Lives
    plan: Plan


@lru_cache(1)
def world(text: str, seed: int) -> World:
    """The world of a scenario's text; a worker keeps the last one from task to task."""
    scenario = loads(text, "scenario")[0]
    lives = live(scenario, seed)
    return World(scenario, seed, lives, plan(scenario, seed, lives))


def blocks(size: int, pieces: int) -> list[tuple[int, int]]:
    """Ranges of rows, one a piece, as even as can be."""
    return list(itertools.pairwise(size * i // pieces for i in range(pieces + 1)))


def subscriptions(spark: SparkSession, scenario: Scenario, seed: int, partitions: int | None = None) -> DataFrame:
    """Every version of every subscription, as SUBSCRIPTIONS; versions of a row stand side by side."""
    text = to_toml(scenario)
    it = world(text, seed)
    cuts = _cuts(it) if scenario.changes else {}
    pieces = partitions or _pieces(spark)
    rows = it.plan.rows

    def made(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        here = world(text, seed)
        for number in _numbers(batches):
            start, stop = blocks(rows, pieces)[number]
            for first in range(start, stop, ROWS_AT_ONCE):
                yield _subscribed(here, cuts, first, min(first + ROWS_AT_ONCE, stop))

    return spark.range(0, pieces, 1, pieces).mapInArrow(made, SUBSCRIPTIONS)


def events(spark: SparkSession, scenario: Scenario, seed: int, partitions: int | None = None) -> DataFrame:
    """What is published, as EVENTS, numbered from 0."""
    text = to_toml(scenario)
    pieces = partitions or _pieces(spark)
    count = scenario.events.count

    def made(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in _numbers(batches):
            start, stop = blocks(count, pieces)[number]
            for first in range(start, stop, _EVENTS_AT_ONCE):
                last = min(first + _EVENTS_AT_ONCE, stop)
                found = published(world(text, seed).scenario, _pool(text, seed), seed, first, last)
                yield events_batch(np.arange(first, last), found.key, found.cycle, found.points)

    return spark.range(0, pieces, 1, pieces).mapInArrow(made, EVENTS)


def _pieces(spark: SparkSession) -> int:
    """As many as a shuffle has: two to eight on one machine."""
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)


def _numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    for batch in batches:
        yield from numbers(batch, "id").tolist()


@lru_cache(1)
def _pool(text: str, seed: int) -> Pool:
    """What events are drawn from: the boxes of those there from the start."""
    it = world(text, seed)
    rows, starting = it.plan.rows, int((it.lives.born == 0).sum()) * it.scenario.population.subscriptions
    boxes, filled = np.empty((starting, 2, it.scenario.population.attributes), dtype=np.int64), 0
    for first in range(0, rows, ROWS_AT_ONCE):
        found = part(it.plan, it.lives, first, min(first + ROWS_AT_ONCE, rows))
        some = found.boxes[found.joins == 0]
        boxes[filled : filled + some.shape[0]] = some
        filled += some.shape[0]
    return drawn_from(boxes)


def _draws(seed: int, rows: Numbers, cycle: int, n: int) -> Keys:
    bits = np.empty(rows.shape[0], dtype=np.uint64)
    draw_each(np.uint64(seed), rows, cycle, Purpose.CHANGE, n, bits, 0, bits.shape[0])
    return bits


def _cuts(it: World) -> dict[int, np.uint64]:
    """For each change the draw up to which the rows alive then change their mind; no two rows draw alike."""
    joins, leaves = np.empty(it.plan.rows, dtype=np.int32), np.empty(it.plan.rows, dtype=np.int32)
    for first in range(0, it.plan.rows, ROWS_AT_ONCE):
        last = min(first + ROWS_AT_ONCE, it.plan.rows)
        found = part(it.plan, it.lives, first, last)
        joins[first:last], leaves[first:last] = found.joins, found.leaves
    cuts = {}
    for n, change in enumerate(it.scenario.changes):
        alive = np.flatnonzero(_alive(joins, leaves, change.cycle)).astype(np.int64)
        bits = _draws(it.seed, alive, change.cycle, n)
        those = chosen(bits, round(change.share * alive.shape[0]))
        if those.size:
            cuts[n] = bits[those].max()
    return cuts


def _alive(joins: Counts, leaves: Counts, cycle: int) -> Mask:
    found: Mask = (joins <= cycle) & (leaves > cycle)
    return found


def _subscribed(it: World, cuts: dict[int, np.uint64], start: int, stop: int) -> pa.RecordBatch:
    """All versions of the rows start .. stop-1, in the order of rows and versions."""
    rows = part(it.plan, it.lives, start, stop)
    who, since, version = _versions(it, cuts, rows, start)
    later = version > 0
    boxes = rows.boxes[who]
    boxes[later] = changed(it.plan, rows.key, who[later], version[later])
    until = rows.leaves[who].astype(np.int64)
    followed = np.append(who[1:] == who[:-1], np.False_) if who.size else later
    until[followed] = np.append(since[1:], 0)[followed]
    found = Subscribed(who.astype(np.int64) + start, rows.key[who], rows.node[who], since, until, boxes)
    return subscriptions_batch(found, version)


def _versions(it: World, cuts: dict[int, np.uint64], rows: Part, start: int) -> tuple[Rows, Numbers, NDArray[np.uint32]]:
    """Position, first cycle and number of each version, in the order of rows."""
    size = rows.key.shape[0]
    count = np.zeros(size, dtype=np.uint32)
    who, since, version = [np.arange(size, dtype=np.int32)], [rows.joins.astype(np.int64)], [count.copy()]
    for n, change in sorted(enumerate(it.scenario.changes), key=lambda item: item[1].cycle):
        if n not in cuts:
            continue
        alive = np.flatnonzero(_alive(rows.joins, rows.leaves, change.cycle))
        those = alive[_draws(it.seed, alive.astype(np.int64) + start, change.cycle, n) <= cuts[n]]
        count[those] += 1
        who.append(those.astype(np.int32))
        since.append(np.full(those.shape[0], change.cycle))
        version.append(count[those])
    whose, when, which = np.concatenate(who), np.concatenate(since), np.concatenate(version)
    turn = np.lexsort((which, whose))
    return whose[turn], when[turn], which[turn]
