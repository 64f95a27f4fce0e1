"""Who should have received what, on Spark: per event how many and a hash of who, or every pair.

The kernels and the planner within a task are those of ``truth``; here is only how boxes and events meet. Both sides are packed
into blocks, a few thousand rows as one value, so that a shuffle moves hundreds of rows and not millions: boxes to every task
of every tile they touch, an event to one task (``plan``). That shuffle is the one place where lineage is cut. A task then asks
the kernel once.

The answer is the same whatever the plan: counts and hashes add up in any order, and a pair comes out of one task only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from gossamer.arrays import Coordinates, Numbers
from gossamer.errors import DataError
from gossamer.pipeline.plan import Plan, Tiles, part_of, planned, touched
from gossamer.pipeline.schemas import (
    ARROW_SUBSCRIPTIONS,
    MATCHES,
    PAIRS,
    Subscribed,
    matches_batch,
    numbers,
    pairs_batch,
    subscribed,
    timed_boxes,
    timed_points,
)
from gossamer.truth import judge

__all__ = ["LOADS", "Verdict", "judged", "loads", "matches", "matches_in", "pairs", "pairs_within"]

LOADS: Final = "task int, events long, boxes long, tested long, matches long"
"""The work of each task, in counters; ``tested`` are the pairs that agree in the most telling attribute alone."""
BLOCKS: Final = "task int, kind int, block binary"
_BOXES, _EVENTS = 0, 1
_ROWS_AT_ONCE: Final = 1 << 16
_EVENT = ["event", "cycle", "point"]
_SUBSCRIPTION = ["row", "key", "node", "since", "until", "lo", "hi"]
_PAIRS_AT_ONCE: Final = 1 << 20

Verdict: TypeAlias = Callable[[int, pa.Table, pa.Table], Iterable[pa.RecordBatch]]
"""What is asked of a task: its number, its boxes and its events come in, rows go out."""


def matches(subscriptions: DataFrame, events: DataFrame, plan: Plan | None = None) -> DataFrame:
    """How many subscriptions want each event, and a hash of which: SUBSCRIPTIONS x EVENTS -> MATCHES."""
    plan = plan or planned(subscriptions, events)
    return judged(subscriptions, events, plan, partial(_count, plan.moment), MATCHES)


def pairs(subscriptions: DataFrame, events: DataFrame, plan: Plan | None = None) -> DataFrame:
    """Every event with each row that wants it: SUBSCRIPTIONS x EVENTS -> PAIRS."""
    plan = plan or planned(subscriptions, events)
    return judged(subscriptions, events, plan, partial(_pairs, plan.moment), PAIRS)


def loads(subscriptions: DataFrame, events: DataFrame, plan: Plan) -> DataFrame:
    """How evenly the plan spreads the work: -> LOADS, a row a task that has events."""
    return judged(subscriptions, events, plan, partial(_load, plan.moment), LOADS)


def judged(subscriptions: DataFrame, events: DataFrame, plan: Plan, verdict: Verdict, schema: str) -> DataFrame:
    """Bring boxes and events together as planned and ask each task for its verdict.

    Either table may have more columns than its schema; the verdict gets them all.
    """
    boxes = subscriptions.mapInArrow(partial(_packed_boxes, plan.tiles), BLOCKS)
    points = events.mapInArrow(partial(_packed_events, plan.tiles, plan.moment), BLOCKS)
    met = boxes.unionByName(points).repartitionById(plan.tasks, "task")
    return met.mapInArrow(partial(_judge, verdict), schema)


def _tables(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches as Spark cuts them, gathered into larger ones."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= _ROWS_AT_ONCE:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if any(one.num_rows for one in waiting):
        yield pa.Table.from_batches(waiting)


def _packed_boxes(tiles: Tiles, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Boxes in blocks, one for every task that needs it."""
    for table in _tables(batches):
        for tile, those in enumerate(touched(tiles, timed_boxes(subscribed(table)))):
            if those.size:
                block = _written(table if those.size == table.num_rows else table.take(pa.array(those)))
                for n in range(int(tiles.tasks[tile])):
                    yield _block(int(tiles.first[tile]) + n, _BOXES, block)


def _packed_events(tiles: Tiles, moment: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Events in blocks, each event in one."""
    for table in _tables(batches):
        task = part_of(tiles, timed_points(table, moment), numbers(table, "event").view(np.uint64))
        turn = np.argsort(task, kind="stable")
        ordered, rows = task[turn], table.take(pa.array(turn))
        for n in np.unique(ordered).tolist():
            start, stop = np.searchsorted(ordered, (n, n + 1)).tolist()
            yield _block(n, _EVENTS, _written(rows.slice(start, stop - start)))


def _written(table: pa.Table) -> bytes:
    """Rows as one value."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    block: bytes = sink.getvalue().to_pybytes()
    return block


def _block(task: int, kind: int, block: bytes) -> pa.RecordBatch:
    columns = [pa.array([task], pa.int32()), pa.array([kind], pa.int32()), pa.array([block], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, names=["task", "kind", "block"])


def _judge(verdict: Verdict, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All blocks of a task, then its verdict, event by event in rising order."""
    found: dict[int, list[pa.Table]] = {_BOXES: [], _EVENTS: []}
    task = 0
    for batch in batches:
        for n, kind, block in zip(*(batch.column(name) for name in ("task", "kind", "block")), strict=True):
            task = n.as_py()
            found[kind.as_py()].append(pa.ipc.open_stream(block.as_buffer()).read_all())
    if not found[_EVENTS]:
        return
    events = pa.concat_tables(found[_EVENTS])
    events = events.take(pa.array(np.argsort(numbers(events, "event"), kind="stable")))
    boxes = pa.concat_tables(found[_BOXES]) if found[_BOXES] else ARROW_SUBSCRIPTIONS.empty_table()
    yield from verdict(task, boxes, events)


def _asked(moment: int, boxes: pa.Table, events: pa.Table) -> tuple[Subscribed, Coordinates, Coordinates]:
    """Subscriptions, their boxes and the points; time is an attribute only where it tells any apart."""
    it, points = subscribed(boxes), timed_points(events, moment)
    cycle = points[:, -1]
    if it.row.shape[0] == 0:
        return it, np.empty((0, 2, points.shape[1]), dtype=np.int64), points
    if it.since.max() <= cycle.min() and it.until.min() > cycle.max():
        return it, it.boxes, np.ascontiguousarray(points[:, :-1])
    return it, timed_boxes(it), points


def _count(moment: int, _task: int, boxes: pa.Table, events: pa.Table) -> Iterator[pa.RecordBatch]:
    it, wanted, points = _asked(moment, boxes, events)
    found = judge.count(wanted, it.key, points)
    yield matches_batch(numbers(events, "event"), found.counts, found.hashes)


def _pairs(moment: int, _task: int, boxes: pa.Table, events: pa.Table) -> Iterator[pa.RecordBatch]:
    # Blocks come in any order; rows put in theirs make an answer that can be written twice alike.
    it, wanted, points = _asked(moment, boxes.sort_by("row"), events)
    event = numbers(events, "event")
    for which, member in pairs_within(wanted, points):
        yield pairs_batch(event[which], it.row[member], it.node[member])


def matches_in(spark: SparkSession, subscriptions: Path, events: Path, tasks: int | None = None, moment: int = 0) -> DataFrame:
    """As ``matches``, from the Parquet folders that both lie in, where every worker can read them: -> MATCHES.

    A task reads its row groups of the events and all boxes, which its worker keeps for the next task; nothing goes through the
    JVM but the answers, and nothing is shuffled. For boxes that fit into a worker.
    """
    groups = row_groups(events)
    size = max(1, min(len(groups), tasks or 2 * int(spark.conf.get("spark.sql.shuffle.partitions") or 1)))
    boxes = tuple((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in _parquet_files(subscriptions))

    def made(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for n in numbers(batch, "id").tolist():
                tables = [pq.ParquetFile(path).read_row_group(group, columns=_EVENT) for path, group in groups[n::size]]
                if tables:
                    yield from _count(moment, n, _boxes_in(boxes), pa.concat_tables(tables))

    return spark.range(0, size, 1, size).mapInArrow(made, MATCHES)


def row_groups(folder: Path) -> list[tuple[str, int]]:
    """Every file with each of its row groups."""
    return [(str(path), n) for path in _parquet_files(folder) for n in range(pq.read_metadata(path).num_row_groups)]


def _parquet_files(folder: Path) -> list[Path]:
    found = sorted(it for it in folder.rglob("*.parquet") if not it.name.startswith(("_", ".")))
    if not found:
        raise DataError(f"{folder}: no Parquet file in it\nHint: the folder that a DataFrame was written to")
    return found


@lru_cache(1)
def _boxes_in(files: tuple[tuple[str, int, int], ...]) -> pa.Table:
    """All boxes of these files, as they were at that time; a worker keeps the last ones."""
    return pa.concat_tables([pq.read_table(path, columns=_SUBSCRIPTION) for path, *_ in files])


def pairs_within(boxes: Coordinates, points: Coordinates) -> Iterator[tuple[Numbers, NDArray[np.int32]]]:
    """Positions of events and boxes, pair by pair in the order of events, some million at a time."""
    counts = judge.count(boxes, np.zeros(boxes.shape[0], dtype=np.uint64), points).counts
    piece = np.cumsum(counts) // _PAIRS_AT_ONCE
    edges = np.append(np.flatnonzero(np.diff(piece, prepend=-1)), points.shape[0])
    for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        found = judge.pairs(boxes, points[start:stop])
        yield np.repeat(np.arange(start, stop), np.diff(found.offsets)), found.members


def _load(moment: int, task: int, boxes: pa.Table, events: pa.Table) -> Iterator[pa.RecordBatch]:
    it, wanted, points = _asked(moment, boxes, events)
    matched = int(judge.count(wanted, it.key, points).counts.sum())
    row = {
        "task": task,
        "events": points.shape[0],
        "boxes": wanted.shape[0],
        "tested": _tested(wanted, points),
        "matches": matched,
    }
    yield pa.RecordBatch.from_pylist([row], schema=_ARROW_LOADS)


def _tested(boxes: Coordinates, points: Coordinates) -> int:
    """Pairs that agree in one attribute, of the attribute with the fewest: what an index over it would have to test."""
    least: int = boxes.shape[0] * points.shape[0]
    for d in range(points.shape[1]):
        column = np.sort(points[:, d])
        upto, before = np.searchsorted(column, boxes[:, 1, d], side="right"), np.searchsorted(column, boxes[:, 0, d])
        least = min(least, int(np.maximum(upto - before, 0).sum()))
    return least


_ARROW_LOADS = pa.schema([("task", pa.int32()), *((name, pa.int64()) for name in ("events", "boxes", "tested", "matches"))])
