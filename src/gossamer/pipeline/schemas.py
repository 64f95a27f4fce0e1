"""The tables that travel between the steps of the pipeline, and numpy's arrays in and out of them.

One description a table, in Spark's words, and beside it the same in Arrow's, for what a task writes. Keys and hashes are 64
bits without a sign; Spark has no such number, so they travel as longs with the same bits and are looked at as unsigned again
where they are used.

A box is two lists, a point is one: as many numbers as there are attributes. Lists of one length lie side by side in Arrow, so
they are one reshape away from an array, and nothing is copied.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gossamer.arrays import NONE, Coordinates, Keys, Numbers
from gossamer.scenario.population import NEVER

__all__ = [
    "ARROW_EVENTS",
    "ARROW_MATCHES",
    "ARROW_PAIRS",
    "ARROW_SUBSCRIPTIONS",
    "EVENTS",
    "MATCHES",
    "PAIRS",
    "SUBSCRIPTIONS",
    "Subscribed",
    "events_batch",
    "lists",
    "matches_batch",
    "numbers",
    "pairs_batch",
    "points_of",
    "subscribed",
    "subscriptions_batch",
    "timed_boxes",
    "timed_points",
]

SUBSCRIPTIONS: Final = "row long, key long, node int, version int, since int, until int, lo array<long>, hi array<long>"
"""Each version of what a row wants, from the cycle ``since`` to the one before ``until``."""
EVENTS: Final = "event long, key long, cycle int, point array<long>"
"""What is published, when; the cycle is -1 for an event without a moment of its own."""
MATCHES: Final = "event long, matches long, hash long"
"""How many subscriptions want each event, and the wrapping sum of ``draws.mix`` over their keys."""
PAIRS: Final = "event long, row long, node int"
"""Who wants what, a line each."""

_LONGS = pa.list_(pa.int64())
ARROW_SUBSCRIPTIONS: Final = pa.schema(
    [
        ("row", pa.int64()),
        ("key", pa.int64()),
        ("node", pa.int32()),
        ("version", pa.int32()),
        ("since", pa.int32()),
        ("until", pa.int32()),
        ("lo", _LONGS),
        ("hi", _LONGS),
    ]
)
ARROW_EVENTS: Final = pa.schema([("event", pa.int64()), ("key", pa.int64()), ("cycle", pa.int32()), ("point", _LONGS)])
ARROW_MATCHES: Final = pa.schema([("event", pa.int64()), ("matches", pa.int64()), ("hash", pa.int64())])
ARROW_PAIRS: Final = pa.schema([("event", pa.int64()), ("row", pa.int64()), ("node", pa.int32())])


class Subscribed(NamedTuple):
    """A table of subscriptions as arrays."""

    row: Numbers
    """(B,) int64."""
    key: Keys
    """(B,) uint64."""
    node: NDArray[np.int32]
    """(B,) int32."""
    since: Numbers
    """(B,) int64."""
    until: Numbers
    """(B,) int64."""
    boxes: Coordinates
    """(B, 2, D) int64."""


def numbers(table: Any, name: str) -> NDArray[Any]:  # noqa: ANN401  (pyarrow ships no types)
    """A column without nulls as an array."""
    column = table.column(name)
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    found: NDArray[Any] = np.asarray(column.to_numpy(zero_copy_only=False))
    return found


def lists(values: Coordinates) -> pa.Array:
    """(n, D) numbers as a column of lists."""
    offsets = np.arange(values.shape[0] + 1, dtype=np.int32) * np.int32(values.shape[1])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.ascontiguousarray(values).reshape(-1)))


def _matrix(table: Any, name: str) -> Coordinates:  # noqa: ANN401
    """A column of lists of one length as (n, D) numbers."""
    column = table.column(name)
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    flat: Coordinates = np.asarray(column.flatten().to_numpy(zero_copy_only=False), dtype=np.int64)
    size = len(column)
    return flat.reshape(size, flat.shape[0] // size if size else 1)


def subscriptions_batch(it: Subscribed, version: NDArray[Any]) -> pa.RecordBatch:
    """Subscriptions as rows."""
    columns = [
        it.row.astype(np.int64),
        it.key.view(np.int64),
        it.node.astype(np.int32),
        version.astype(np.int32),
        it.since.astype(np.int32),
        it.until.astype(np.int32),
        lists(it.boxes[:, 0]),
        lists(it.boxes[:, 1]),
    ]
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=ARROW_SUBSCRIPTIONS)


def subscribed(table: Any) -> Subscribed:  # noqa: ANN401
    """Rows of subscriptions as arrays."""
    return Subscribed(
        row=numbers(table, "row"),
        key=numbers(table, "key").view(np.uint64),
        node=numbers(table, "node"),
        since=numbers(table, "since").astype(np.int64),
        until=numbers(table, "until").astype(np.int64),
        boxes=np.stack([_matrix(table, "lo"), _matrix(table, "hi")], axis=1),
    )


def events_batch(event: Numbers, key: Keys, cycle: NDArray[Any], points: Coordinates) -> pa.RecordBatch:
    """Events as rows."""
    columns = [pa.array(event), pa.array(key.view(np.int64)), pa.array(cycle.astype(np.int32)), lists(points)]
    return pa.RecordBatch.from_arrays(columns, schema=ARROW_EVENTS)


def points_of(table: Any) -> Coordinates:  # noqa: ANN401
    """(E, D) int64: the points of rows of events."""
    return _matrix(table, "point")


def timed_points(table: Any, at: int) -> Coordinates:  # noqa: ANN401
    """(E, D + 1) int64: points with their cycle as the last attribute; ``at`` for those without a moment of their own."""
    cycle = numbers(table, "cycle").astype(np.int64)
    return np.concatenate([points_of(table), np.where(cycle == NONE, at, cycle)[:, None]], axis=1)


def timed_boxes(it: Subscribed) -> Coordinates:
    """(B, 2, D + 1) int64: boxes with the cycles in which they hold as the last attribute."""
    span = np.stack([it.since, np.where(it.until >= NEVER, NEVER, it.until - 1)], axis=1)
    return np.concatenate([it.boxes, span[:, :, None]], axis=2)


def matches_batch(event: Numbers, counts: Numbers, hashes: Keys) -> pa.RecordBatch:
    """Answers as rows."""
    columns = [pa.array(event), pa.array(counts), pa.array(hashes.view(np.int64))]
    return pa.RecordBatch.from_arrays(columns, schema=ARROW_MATCHES)


def pairs_batch(event: Numbers, row: Numbers, node: NDArray[np.int32]) -> pa.RecordBatch:
    """Pairs as rows."""
    return pa.RecordBatch.from_arrays([pa.array(event), pa.array(row), pa.array(node)], schema=ARROW_PAIRS)
