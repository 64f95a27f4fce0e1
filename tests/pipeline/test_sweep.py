"""Many runs at once, on Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from gossamer.errors import DataError
from gossamer.pipeline import sweep as room
from gossamer.pipeline.sweep import Task, cost, results, sweep, variants
from gossamer.scenario.given import Interests, Published, drawn, save, settled
from gossamer.scenario.scenario import EventSettings, PopulationSettings, Scenario
from gossamer.sim.run import run
from gossamer.sim.run import save as save_run

WORLD = Scenario(
    name="small", form="better", cycles=6, population=PopulationSettings(nodes=60, attributes=2), events=EventSettings(count=20)
)


def _tasks(folder: Path, seeds: tuple[int, ...] = (1, 2)) -> list[Task]:
    return [Task(f"{form}/{n}", replace(WORLD, form=form), n, folder / form / str(n)) for form in ("better",) for n in seeds]


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_run_of_a_sweep_is_that_of_the_simulator_to_the_last_byte(spark: SparkSession, tmp_path: Path) -> None:
    done = sweep(spark, _tasks(tmp_path / "sweep"))
    for n, found in enumerate(done):
        outcome = run(WORLD, n + 1)
        save_run(outcome, tmp_path / "alone" / "better" / str(n + 1))
        assert found.state == outcome.state
    assert _files(tmp_path / "sweep") == _files(tmp_path / "alone")


def test_what_is_done_is_not_run_again(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep(spark, _tasks(tmp_path, (1,)))
    before = (tmp_path / "better/1/run.json").stat().st_mtime_ns
    asked: list[str] = []

    def carried_out(_: SparkSession, todo: list[Task], __: Path) -> list[tuple[str, str]]:
        asked.extend(it.name for it in todo)
        for it in todo:
            save_run(run(it.scenario, it.seed), it.folder)
        return []

    monkeypatch.setattr(room, "_carried_out", carried_out)
    assert [it.seed for it in sweep(spark, _tasks(tmp_path))] == [1, 2]
    assert asked == ["better/2"]
    assert (tmp_path / "better/1/run.json").stat().st_mtime_ns == before


def test_one_that_fails_is_named_with_its_reason_and_the_others_stay(spark: SparkSession, tmp_path: Path) -> None:
    bad = replace(WORLD, events=EventSettings(count=20, minimum_matches=61))
    tasks = [Task("impossible", bad, 1, tmp_path / "bad"), *_tasks(tmp_path, (1,))]
    with pytest.raises(
        DataError, match=r"(?s)1 of 2 runs failed.*impossible: ScenarioError: events.minimum_matches"
    ) as refused:
        sweep(spark, tasks)
    assert "  impossible: ScenarioError: events.minimum_matches" in str(refused.value)
    assert len(str(refused.value).splitlines()) < 10
    assert not (tmp_path / "bad").exists()
    assert (tmp_path / "better/1/run.json").exists()
    assert not list(tmp_path.rglob(".*"))


def test_given_interests_ride_in_a_file(spark: SparkSession, tmp_path: Path) -> None:
    people, events = drawn(WORLD, 5)
    wanted = Interests(people.boxes, people.node * 0 + range(60), people.scale)
    published = Published(events.points, events.matches)
    save(tmp_path / "world.npz", wanted, published)
    task = Task("given", WORLD, 1, tmp_path / "run", tmp_path / "world.npz")
    assert sweep(spark, [task])[0].state == run(WORLD, 1, None, settled(WORLD, 1, wanted, published)).state


def test_results_are_partitioned_by_run_and_those_of_others_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    tasks = _tasks(tmp_path / "runs")
    sweep(spark, tasks)
    results(spark, tasks[:1], tmp_path / "results")
    first = _files(tmp_path / "results/run=better%2F1")
    results(spark, tasks[1:], tmp_path / "results")
    assert first == _files(tmp_path / "results/run=better%2F1")
    rows = {row.run: row for row in spark.read.parquet(str(tmp_path / "results")).collect()}
    assert set(rows) == {"better/1", "better/2"}
    assert rows["better/2"].settings["population.nodes"] == "60"
    assert rows["better/2"].metrics["hit_ratio"] > 0


def test_settings_are_combined_and_lists_are_not_cut() -> None:
    assert variants([]) == [[]]
    assert variants(["a=1,2", "b=x"]) == [["a=1", "b=x"], ["a=2", "b=x"]]
    assert variants(['c=["uniform", "power"],["power"]', "d='p,q'"]) == [
        ['c=["uniform", "power"]', "d='p,q'"],
        ['c=["power"]', "d='p,q'"],
    ]


def test_more_rows_cycles_and_attributes_cost_more() -> None:
    people = PopulationSettings(nodes=120, attributes=2)
    assert cost(WORLD) < cost(replace(WORLD, population=people)) < cost(replace(WORLD, population=people, cycles=12))
    assert cost(WORLD) < cost(replace(WORLD, population=PopulationSettings(nodes=60, attributes=3)))
