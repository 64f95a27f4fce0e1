"""Metrics at scale against the small definitions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from gossamer.errors import DataError
from gossamer.measure import delivery
from gossamer.measure.summary import summary
from gossamer.pipeline.measure import grouped, metrics, summed
from gossamer.pipeline.traces import find, runs, table
from gossamer.scenario.given import drawn
from gossamer.scenario.scenario import EventSettings, Scenario
from gossamer.scenario.toml import leaves
from gossamer.sim.run import Outcome, run, save
from gossamer.trace.tables import TABLES
from gossamer.truth.judge import by_node, rings
from tests.sim.worlds import still, turmoil

EXACT = 1e-12
PATIENCE = 10
"""Cycles an event is given to reach somebody."""


def _worlds() -> Iterator[tuple[str, Scenario, int]]:
    for seed in (1, 2):
        yield f"still/{seed}", still(cycles=8), seed
    yield "dates", replace(still(cycles=8), events=EventSettings(count=12, at=(0, 3, 8))), 1
    yield "turmoil", turmoil(), 1


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """Some runs, in folders."""
    place = tmp_path_factory.mktemp("runs")
    outcomes = {}
    for name, scenario, seed in _worlds():
        outcomes[name] = run(scenario, seed)
        save(outcomes[name], place / name)
    outcomes["place"] = place  # type: ignore[assignment]
    return outcomes


def _place(made: dict[str, Any]) -> Path:
    place = made["place"]
    assert isinstance(place, Path)
    return place


def test_every_metric_of_every_run_is_that_of_the_small_definition(spark: SparkSession, made: dict[str, Outcome]) -> None:
    rows = metrics(spark, find([_place(made)])).collect()
    found: dict[str, dict[str, float | None]] = {}
    for row in rows:
        assert row.metric not in found.setdefault(row.run, {})
        found[row.run][row.metric] = row.value
    assert set(found) == {name for name, _, _ in _worlds()}
    for name, of_run in found.items():
        outcome = made[name]
        expected = leaves(summary(outcome.tables, outcome.metrics["rows"]))
        assert set(of_run) == set(expected)
        for metric, value in expected.items():
            if value is None:
                assert of_run[metric] is None, (name, metric)
            elif isinstance(value, int):
                assert of_run[metric] == value, (name, metric)
            else:
                assert of_run[metric] == pytest.approx(value, rel=EXACT, abs=EXACT), (name, metric)


def test_receipts_beside_the_truth_are_summed_as_in_the_small_definition(spark: SparkSession, made: dict[str, Outcome]) -> None:
    scenario = turmoil()
    people, events = drawn(scenario, 1)
    published = np.flatnonzero(events.cycle < scenario.cycles)
    leaves = dict(zip(people.node.tolist(), people.leaves.tolist(), strict=True))
    rows = []
    for n in published.tolist():
        cycle = int(events.cycle[n])
        ring = by_node(people, rings(people, events.points[n : n + 1], cycle))
        rows += [("turmoil", n, node, leaves[node] > cycle + PATIENCE) for node in ring.members.tolist()]
    wanting = spark.createDataFrame(rows, "run string, event long, node int, staying boolean")
    receipts = table(spark, find([_place(made)]), "receipts")
    found = {row.event: row for row in summed(receipts, wanting).collect()}
    spreads = made["turmoil"].tables["spreads"].to_pylist()
    for it in spreads:
        row = found.pop(it["event"], None)
        for name in set(delivery.Spread._fields) - {"control"}:
            assert (getattr(row, name) if row else 0) == it[name], (it["event"], name)
    assert not found


def test_metrics_are_meant_over_runs_that_share_a_setting(spark: SparkSession, made: dict[str, Outcome]) -> None:
    found = find([_place(made)])
    rows = grouped(metrics(spark, found), runs(spark, found), ["system", "events.count"]).collect()
    ours = next(row for row in rows if row.metric == "hit_ratio" and row["events.count"] == "8")
    each = [made[name].metrics["hit_ratio"] for name in ("still/1", "still/2")]
    assert (ours.system, ours.runs) == ("sub2sub", 2)
    assert (ours.least, ours.most) == (min(each), max(each))
    assert ours["mean"] == pytest.approx(sum(each) / 2, abs=EXACT)


# ------------------------------------------------------------------------------------------------ what is refused


@pytest.fixture
def one(made: dict[str, Outcome], tmp_path: Path) -> Path:
    """A folder with one run, to spoil."""
    save(made["still/1"], tmp_path / "run")
    return tmp_path / "run"


def _links(folder: Path, spoilt: pa.Table) -> None:
    pq.write_table(spoilt, folder / "links.parquet")


def test_a_misnamed_column_is_told_with_the_nearest_name(spark: SparkSession, one: Path) -> None:
    links = pq.read_table(one / "links.parquet")
    _links(one, links.rename_columns(["cycle", "links_right", "links_wantd", "rings_complete", "rings_wanted"]))
    with pytest.raises(
        DataError, match=r"links.parquet: not the columns(?s:.*)no column 'links_wanted'; there is 'links_wantd'"
    ):
        table(spark, find([one]), "links")


def test_a_missing_column_is_told_with_those_there_are(spark: SparkSession, one: Path) -> None:
    _links(one, pq.read_table(one / "links.parquet").drop_columns(["rings_wanted"]))
    with pytest.raises(DataError, match="no column 'rings_wanted'; there are cycle, links_right"):
        table(spark, find([one]), "links")


def test_a_column_of_another_kind_is_told_with_both(spark: SparkSession, one: Path) -> None:
    links = pq.read_table(one / "links.parquet")
    _links(one, links.set_column(0, "cycle", links["cycle"].cast(pa.string())))
    with pytest.raises(DataError, match="column 'cycle' is string, expected int32"):
        metrics(spark, find([one]))


def test_a_truncated_file_is_told(spark: SparkSession, one: Path) -> None:
    whole = (one / "links.parquet").read_bytes()
    (one / "links.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"links.parquet: cannot be read; truncated or not Parquet"):
        metrics(spark, find([one]))


def test_rows_of_another_run_are_told(spark: SparkSession, one: Path) -> None:
    _links(one, pq.read_table(one / "links.parquet").slice(0, 3))
    with pytest.raises(DataError, match="found 3 rows, expected 9: it belongs to another run"):
        metrics(spark, find([one]))


def test_a_folder_without_a_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no run in it, expected the folder of a run"):
        find([tmp_path])
    with pytest.raises(DataError, match="not there, expected"):
        find([tmp_path / "nowhere"])
    (tmp_path / "scenario.toml").write_text("", encoding="utf-8")
    with pytest.raises(DataError, match="1 begun and none finished"):
        find([tmp_path])


def test_runs_of_several_places_are_named_apart(one: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (one / "run.json").rename(tmp_path / "other" / "run.json")
    (one / "scenario.toml").rename(tmp_path / "other" / "scenario.toml")
    found = json.loads((tmp_path / "other" / "run.json").read_text("utf-8"))
    assert find([tmp_path / "other"])[0].name == "other"
    assert find([tmp_path])[0].it.seed == found["seed"]
    assert set(TABLES) >= set(found["rows"])
