"""Tables for tests of the truth: boxes and events with everything that borders can be, as arrays and as DataFrames."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from gossamer.pipeline.schemas import Subscribed, events_batch, subscriptions_batch
from gossamer.scenario.population import NEVER
from gossamer.scenario.scenario import ChangeSettings, ChurnSettings, EventSettings, PopulationSettings, Scenario

__all__ = ["BUSY", "NULL", "QUIET", "Given", "given", "tables"]

NULL = -(1 << 63)
"""The code of a missing value, and the lowest end of an open box."""
LAST = (1 << 63) - 1
BUSY = Scenario(
    cycles=30,
    population=PopulationSettings(nodes=90, attributes=2, subscriptions=2),
    events=EventSettings(count=70, frozen=False, from_cycle=3, per_cycle=5),
    churn=ChurnSettings(rate=0.03),
    changes=(ChangeSettings(share=0.3, cycle=20), ChangeSettings(share=0.3, cycle=10), ChangeSettings(share=0.2, cycle=20)),
)
QUIET = Scenario(population=PopulationSettings(nodes=150), events=EventSettings(count=40))


class Given(NamedTuple):
    """Both sides as arrays."""

    who: Subscribed
    points: NDArray[np.int64]
    cycle: NDArray[np.int64]


def given(seed: int, boxes: int, events: int, attributes: int = 2, width: float = 0.1) -> Given:
    """Boxes of some width among 1,000 values, some without width, some open; points with nulls; lives of some cycles."""
    rng = np.random.default_rng(seed)
    low = rng.integers(0, 1000, (boxes, attributes))
    high = low + (rng.exponential(width * 1000, (boxes, attributes))).astype(np.int64)
    few = rng.random((boxes, attributes))
    high = np.where(few < 0.1, low, high)
    low, high = np.where((few > 0.9), NULL, low), np.where((few > 0.85) & (few < 0.95), LAST, high)
    points = rng.integers(0, 1000, (events, attributes))
    points = np.where(rng.random((events, attributes)) < 0.05, NULL, points)
    since = rng.integers(0, 10, boxes)
    until = np.where(rng.random(boxes) < 0.5, NEVER, since + rng.integers(0, 10, boxes))
    who = Subscribed(
        row=np.arange(boxes) * 3,
        key=rng.integers(0, 1 << 64, boxes, dtype=np.uint64),
        node=(np.arange(boxes) // 2).astype(np.int32),
        since=since,
        until=until,
        boxes=np.stack([low, high], axis=1),
    )
    return Given(who, points, rng.integers(0, 12, events))


def tables(spark: SparkSession, it: Given) -> tuple[DataFrame, DataFrame]:
    """Both sides as DataFrames."""
    rows = subscriptions_batch(it.who, np.zeros(it.who.row.shape[0]))
    size = it.cycle.shape[0]
    events = events_batch(np.arange(size) * 5, np.arange(size, dtype=np.uint64), it.cycle, it.points)
    return spark.createDataFrame(pa.Table.from_batches([rows])), spark.createDataFrame(pa.Table.from_batches([events]))
