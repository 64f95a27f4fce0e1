"""One overlay in blocks on Spark: what comes out, what it leaves behind, how it goes on, and what it refuses."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from gossamer.cli.main import DONE, REFUSED, main
from gossamer.errors import CallerError, DataError, ScenarioError
from gossamer.pipeline import session as of_spark
from gossamer.pipeline.overlay import WORK, Simulated, simulate
from gossamer.scenario import scenario as settings
from gossamer.scenario.population import population
from gossamer.scenario.scenario import Scenario
from gossamer.scenario.toml import to_toml
from gossamer.sim.prints import fingerprint
from gossamer.sim.run import Outcome, Report, run, save
from gossamer.sim.world import World
from gossamer.system.catalogue import plan

STILL = Scenario(
    system="sub2sub",
    form="better",
    cycles=3,
    population=settings.PopulationSettings(nodes=200, attributes=2),
    events=settings.EventSettings(count=40),
)
TURMOIL = replace(
    STILL,
    system="gossamer",
    cycles=4,
    population=settings.PopulationSettings(nodes=150, attributes=2, subscriptions=2),
    events=settings.EventSettings(count=40, at=(2, 4)),
    timers=settings.TimerSettings(ticks=5, phases=2),
    latency=settings.LatencySettings(low=1, high=3),
    loss=settings.LossSettings(probability=0.05),
    churn=settings.ChurnSettings(rate=0.05, silent=0.3),
    changes=(settings.ChangeSettings(share=0.3, cycle=2),),
    partitions=(settings.PartitionSettings(share=0.3, from_cycle=1, to_cycle=3),),
)


class StoppedHereError(Exception):
    """Raised by a test in the place of the driver's death."""


def killed(spark: SparkSession, scenario: Scenario, folder: Path, cycle: int, exchange: str = "files") -> None:
    """Begin a run whose driver dies after a cycle."""

    def die(report: Report) -> None:
        if report.cycle == cycle:
            raise StoppedHereError

    with pytest.raises(StoppedHereError):
        simulate(spark, scenario, 1, folder, blocks=3, exchange=exchange, tell=die)


def same(one: Outcome, other: Outcome) -> bool:
    """Whether two runs came to the same, table by table."""
    tables = set(one.tables) == set(other.tables) and all(one.tables[name].equals(other.tables[name]) for name in one.tables)
    return tables and one.state == other.state and one.metrics == other.metrics


@pytest.mark.parametrize(("scenario", "exchange"), [(STILL, "files"), (TURMOIL, "files"), (TURMOIL, "shuffle")])
def test_blocks_come_to_what_one_world_comes_to(spark: SparkSession, tmp_path: Path, scenario: Scenario, exchange: str) -> None:
    done = simulate(spark, scenario, 1, tmp_path / "out", blocks=3, exchange=exchange)
    assert same(done.outcome, run(scenario, 1))
    assert done.cost.mail_bytes > 0


def test_its_folder_is_that_of_gossamer_simulate(spark: SparkSession, tmp_path: Path) -> None:
    simulate(spark, STILL, 1, tmp_path / "blocks", blocks=2)
    save(run(STILL, 1), tmp_path / "whole")
    files = {path.name: path.read_bytes() for path in (tmp_path / "whole").iterdir()}
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "blocks").iterdir()}
    again: list[Report] = []
    known = simulate(spark, STILL, 1, tmp_path / "blocks", blocks=5, tell=again.append)
    assert same(known.outcome, run(STILL, 1))
    assert not again


@pytest.mark.parametrize("exchange", ["files", "shuffle"])
def test_a_run_whose_driver_died_goes_on_from_the_last_finished_cycle(
    spark: SparkSession, tmp_path: Path, exchange: str
) -> None:
    scenario = replace(STILL, events=settings.EventSettings(count=40, at=(1, 3)))
    killed(spark, scenario, tmp_path, 2, exchange)
    heard: list[int] = []
    done = simulate(spark, scenario, 1, tmp_path, blocks=3, exchange=exchange, tell=lambda report: heard.append(report.cycle))
    assert heard[0] == 3
    assert same(done.outcome, run(scenario, 1))


def test_nothing_is_kept_that_no_cycle_will_read(spark: SparkSession, tmp_path: Path) -> None:
    killed(spark, STILL, tmp_path, 3)
    assert {path.name for path in (tmp_path / WORK / "state").iterdir()} <= {"4", "5", "3", "2"}
    assert {path.name for path in (tmp_path / WORK / "mail").iterdir()} <= {"4", "5", "3", "2"}
    simulate(spark, STILL, 1, tmp_path, blocks=3)
    assert not (tmp_path / WORK).exists()


def test_a_task_that_is_done_again_writes_the_same_bytes(spark: SparkSession, tmp_path: Path) -> None:
    for folder in ("one", "other"):
        killed(spark, STILL, tmp_path / folder, 1)
    one, other = (
        {path.relative_to(tmp_path / folder): path.read_bytes() for path in (tmp_path / folder).rglob("*") if path.is_file()}
        for folder in ("one", "other")
    )
    assert one == other


def test_cyclon_runs_alone(spark: SparkSession, tmp_path: Path) -> None:
    done: Simulated = simulate(spark, STILL, 1, tmp_path, blocks=3, layers=("cyclon",))
    whole = plan(STILL.system, STILL.form, {})
    alone = replace(whole, layers=tuple(layer for layer in whole.layers if layer.name == "cyclon"))
    world = World(STILL, alone, population(STILL, 1), 1)
    for _ in range(STILL.cycles):
        world.run_cycle()
    world.begin()
    assert done.outcome.state == f"{fingerprint(world):016x}"
    assert not (tmp_path / "run.json").exists()


def test_ticks_in_which_nothing_happens_are_left_out(spark: SparkSession, tmp_path: Path) -> None:
    scenario = replace(STILL, timers=settings.TimerSettings(ticks=6))
    done = simulate(spark, scenario, 1, tmp_path, blocks=2, layers=("cyclon",))
    assert (done.cost.supersteps, done.cost.left_out) == (9, 9)


def test_another_run_is_never_gone_on_with(spark: SparkSession, tmp_path: Path) -> None:
    killed(spark, STILL, tmp_path, 1)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for scenario, seed, blocks, exchange, words in (
        (replace(STILL, cycles=5), 1, 3, "files", "config"),
        (STILL, 2, 3, "files", "seed"),
        (STILL, 1, 4, "files", "blocks"),
        (STILL, 1, 3, "shuffle", "exchange"),
    ):
        with pytest.raises(DataError, match=words):
            simulate(spark, scenario, seed, tmp_path, blocks=blocks, exchange=exchange)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_what_cannot_be_done_in_blocks_is_refused_before_anything_is_written(spark: SparkSession, tmp_path: Path) -> None:
    for scenario, words in (
        (replace(STILL, rejoins=settings.RejoinSettings(count=1, from_cycle=2)), "rejoins"),
        (replace(STILL, publishers=settings.PublisherSettings(count=1, from_cycle=2)), "publishers"),
        (replace(STILL, events=settings.EventSettings(count=5, frozen=False)), "events.frozen"),
    ):
        with pytest.raises(ScenarioError, match=words):
            simulate(spark, scenario, 1, tmp_path / "out")
    with pytest.raises(CallerError, match="files, shuffle"):
        simulate(spark, STILL, 1, tmp_path / "out", exchange="pigeons")
    assert not (tmp_path / "out").exists()


def test_a_mark_that_is_cut_off_is_said_to_be(spark: SparkSession, tmp_path: Path) -> None:
    killed(spark, STILL, tmp_path, 1)
    mark = tmp_path / WORK / "finished"
    mark.write_bytes(mark.read_bytes()[:100])
    with pytest.raises(DataError, match="cannot be read"):
        simulate(spark, STILL, 1, tmp_path, blocks=3)


# ---------------------------------------------------------------------------------------------------- as a shell sees it


def test_a_spool_is_for_what_is_shuffled(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["pipeline", "simulate", "rings", "--out", str(tmp_path / "out"), "--spool", "there"]) == REFUSED
    assert "--exchange shuffle" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_runs_are_told_in_one_object_and_once_done_are_not_made_again(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_spark, "session", lambda **_: nullcontext(spark))
    (tmp_path / "still.toml").write_text(to_toml(STILL))
    words = ["pipeline", "simulate", str(tmp_path / "still.toml"), "--out", str(tmp_path / "out"), "--blocks", "2", "--json"]
    assert main(words) == DONE
    found = json.loads(capsys.readouterr().out)["runs"][0]
    whole = run(STILL, 1)
    assert (found["state"], found["metrics"]["hit_ratio"]) == (whole.state, whole.metrics["hit_ratio"])
    assert (Path(found["folder"]) / "run.json").exists()
    assert main(words) == DONE
    again = json.loads(capsys.readouterr().out)["runs"][0]
    assert (again["state"], again["supersteps"]) == (found["state"], 0)
    assert main([*words, "--set", "population.nodes=101"]) == REFUSED
    assert "population.nodes" in capsys.readouterr().err
