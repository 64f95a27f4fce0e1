"""The truth on Spark is that of the definition, of DuckDB and of one process, whatever the plan."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from gossamer.arrays import NONE
from gossamer.errors import DataError
from gossamer.pipeline import truth, workload
from gossamer.pipeline.plan import WAYS, planned
from gossamer.pipeline.schemas import events_batch, numbers
from gossamer.scenario.population import NEVER, population
from gossamer.scenario.workload import events
from gossamer.truth import judge
from tests.naive.truth import naive_hash
from tests.pipeline.tables import BUSY, Given, given, tables


def naive_timed(it: Given) -> list[list[int]]:
    """The boxes that hold each event at its moment, typed out."""
    found = []
    for point, cycle in zip(it.points, it.cycle, strict=True):
        inside = (it.who.boxes[:, 0] <= point).all(axis=1) & (point <= it.who.boxes[:, 1]).all(axis=1)
        there = (it.who.since <= cycle) & ((cycle < it.who.until) | (it.who.until == NEVER))
        found.append(np.flatnonzero(inside & there).tolist())
    return found


def duck_pairs(it: Given) -> list[tuple[int, int]]:
    """Events and rows as DuckDB joins them."""
    attributes = range(it.points.shape[1])
    boxes = pa.table(
        {"row": it.who.row, "since": it.who.since, "until": it.who.until}
        | {f"{side}{d}": it.who.boxes[:, s, d] for s, side in enumerate(("lo", "hi")) for d in attributes}
    )
    published = pa.table(
        {"event": np.arange(it.cycle.shape[0]) * 5, "cycle": it.cycle} | {f"x{d}": it.points[:, d] for d in attributes}
    )
    between = " and ".join(f"x{d} between lo{d} and hi{d}" for d in attributes)
    with duckdb.connect() as session:
        session.register("boxes", boxes)
        session.register("published", published)
        query = f'select event, "row" from published, boxes where {between} and cycle >= since and cycle < until order by all'  # noqa: S608
        return session.execute(query).fetchall()


@pytest.mark.parametrize("way", WAYS)
def test_every_plan_gives_the_answer_of_the_definition_and_of_duckdb(spark: SparkSession, way: str) -> None:
    for seed, attributes, width in ((1, 1, 0.05), (2, 3, 0.2)):
        it = given(seed, 120, 150, attributes, width)
        subscriptions, published = tables(spark, it)
        plan = planned(subscriptions, published, way=way, tasks=4)
        assert plan.tasks == 1 if way == "one" else plan.tasks >= 4
        wanted = naive_timed(it)
        found = truth.matches(subscriptions, published, plan).toArrow().sort_by("event")
        assert numbers(found, "event").tolist() == [5 * e for e in range(150)]
        assert numbers(found, "matches").tolist() == [len(some) for some in wanted]
        keys = [naive_hash([int(it.who.key[b]) for b in some]) for some in wanted]
        assert numbers(found, "hash").view(np.uint64).tolist() == keys
        pairs = truth.pairs(subscriptions, published, plan).toArrow().sort_by([("event", "ascending"), ("row", "ascending")])
        assert list(zip(numbers(pairs, "event"), numbers(pairs, "row"), strict=True)) == duck_pairs(it)
        assert numbers(pairs, "node").tolist() == [int(it.who.node[b]) for some in wanted for b in some]


def test_a_scenario_is_judged_as_in_one_process(spark: SparkSession) -> None:
    people = population(BUSY, 4)
    published = events(BUSY, people, 4)
    boxes, points = judge.timed(people, published.points, published.cycle.astype(np.int64))
    wanted = judge.count(boxes, people.key[people.owner], points)
    both = workload.subscriptions(spark, BUSY, 4, 3), workload.events(spark, BUSY, 4, 2)
    for way in WAYS:
        found = truth.matches(*both, planned(*both, way=way, tasks=2)).toArrow().sort_by("event")
        assert numbers(found, "matches").tolist() == wanted.counts.tolist()
        assert numbers(found, "hash").view(np.uint64).tolist() == wanted.hashes.tolist()


def test_folders_are_judged_without_a_shuffle_alike(spark: SparkSession, tmp_path: Path) -> None:
    subscriptions, published = tables(spark, given(9, 90, 70))
    subscriptions.repartition(2).write.parquet(str(tmp_path / "subscriptions"))
    published.repartition(3).write.parquet(str(tmp_path / "events"))
    wanted = truth.matches(subscriptions, published).toArrow().sort_by("event")
    for tasks in (1, 2, None):
        found = truth.matches_in(spark, tmp_path / "subscriptions", tmp_path / "events", tasks).toArrow().sort_by("event")
        assert found.equals(wanted)
    with pytest.raises(DataError, match="no Parquet file"):
        truth.matches_in(spark, tmp_path / "nothing", tmp_path / "events")


def test_events_without_a_moment_are_asked_in_the_one_given(spark: SparkSession) -> None:
    it = given(3, 60, 40)
    subscriptions, _ = tables(spark, it)
    batch = events_batch(np.arange(40), np.arange(40, dtype=np.uint64), np.full(40, NONE), it.points)
    frozen = spark.createDataFrame(pa.Table.from_batches([batch]))
    for moment in (0, 7):
        wanted = [len(some) for some in naive_timed(it._replace(cycle=np.full(40, moment)))]
        for way in ("one", "tiles"):
            plan = planned(subscriptions, frozen, way=way, tasks=2, moment=moment)
            assert numbers(truth.matches(subscriptions, frozen, plan).toArrow().sort_by("event"), "matches").tolist() == wanted


def test_a_crowd_in_the_middle_is_shared_out(spark: SparkSession) -> None:
    rng = np.random.default_rng(5)
    it = given(5, 400, 4000, 2, 0.01)
    rank = np.minimum(rng.zipf(1.3, (4000, 2)), 10_000)
    points = 500 + np.where(rng.random((4000, 2)) < 0.5, rank, -rank)
    low = 500 + np.where(rng.random((400, 2)) < 0.5, 1, -1) * np.minimum(rng.zipf(1.3, (400, 2)), 10_000)
    it = it._replace(points=points, who=it.who._replace(boxes=np.stack([low, low + 3], axis=1)))
    subscriptions, published = tables(spark, it)
    for way in ("events", "tiles"):
        found = truth.loads(subscriptions, published, planned(subscriptions, published, way=way, tasks=4)).toArrow()
        work = numbers(found, "events")
        assert work.sum() == 4000
        assert work.max() <= 2.0 * work.mean()
        assert numbers(found, "matches").sum() == sum(map(len, naive_timed(it)))
        tested = numbers(found, "tested")
        assert tested.max() <= 3.0 * tested.mean()


def test_a_point_that_half_of_all_events_share_is_spread_over_tasks(spark: SparkSession) -> None:
    it = given(6, 50, 1000)
    it.points[:600] = 7
    subscriptions, published = tables(spark, it)
    plan = planned(subscriptions, published, way="tiles", tasks=4)
    assert plan.tiles.tasks.max() >= 2
    work = numbers(truth.loads(subscriptions, published, plan).toArrow(), "events")
    assert work.max() <= 450


def test_nothing_matches_where_there_is_nothing(spark: SparkSession) -> None:
    subscriptions, published = tables(spark, given(7, 20, 30))
    nobody, silence = subscriptions.where("row < 0"), published.where("event < 0")
    assert truth.matches(nobody, published).toArrow().column("matches").to_pylist() == [0] * 30
    assert truth.matches(subscriptions, silence).count() == 0
    assert truth.pairs(nobody, published).count() == 0


def test_the_planner_goes_by_size_and_memory_and_says_why(spark: SparkSession) -> None:
    subscriptions, published = tables(spark, given(8, 200, 300, 2, 0.01))
    assert planned(subscriptions, published).way == "one"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gossamer.pipeline.plan._FEW", 0)
        spread = planned(subscriptions, published, tasks=3)
        tiled = planned(subscriptions, published, tasks=3, memory_bytes=3000)
    assert (spread.way, spread.tasks) == ("events", 3)
    assert tiled.way == "tiles"
    assert tiled.tasks >= 8
    assert "200 boxes, 300 events" in spread.why[0]
    assert "MiB" in tiled.why[1]
