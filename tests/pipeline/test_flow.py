"""The whole way: resumable, reproducible, and refused where another's things lie."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from gossamer.cli import main as command
from gossamer.errors import DataError
from gossamer.pipeline.flow import MANIFEST, Told, begun, flow
from gossamer.pipeline.sweep import Task
from gossamer.scenario.scenario import Scenario
from gossamer.scenario.toml import loads

SMALL = """
name = "mine"
cycles = 6
form = "better"
[population]
nodes = 60
attributes = 2
[events]
count = 20
at = [3, 6]
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="asks the system for what other systems lack")


def _scenario(*settings: str) -> Scenario:
    return loads(SMALL, "mine", settings)[0]


def _tasks(folder: Path) -> list[Task]:
    return [Task(f"mine/{seed}", _scenario(), seed, folder / "runs" / f"seed-{seed}") for seed in (1, 2)]


def _walk(spark: SparkSession, folder: Path) -> tuple[list[Told], dict[str, Any]]:
    heard: list[Told] = []
    tasks = _tasks(folder)
    manifest = begun(folder, tasks, "mine")
    found = flow(spark, tasks, folder, manifest, tell=heard.append)
    assert found.disagreements == 0
    assert [it.seed for it in found.measured] == [1, 2]
    assert all(it.metrics["hit_ratio"] is not None for it in found.measured)
    written: dict[str, Any] = json.loads((folder / MANIFEST).read_text("utf-8"))
    return heard, written


@pytest.fixture(scope="module")
def walked(the_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A folder in which all is done, and its manifest."""
    folder = tmp_path_factory.mktemp("flow") / "out"
    heard, manifest = _walk(the_session, folder)
    over = [it for it in heard if it.over]
    assert [it.stage for it in over] == ["workload", "truth", "simulate", "measure"]
    assert not any(it.skipped for it in over)
    assert all(it.rows > 0 for it in over)
    return folder, manifest


def test_a_stage_that_is_done_is_not_done_again(spark: SparkSession, walked: tuple[Path, dict[str, Any]]) -> None:
    folder, before = walked
    heard, after = _walk(spark, folder)
    assert [it.skipped for it in heard if it.over] == [True] * 4
    assert after == before


def test_another_partitioning_gives_the_same_hashes(
    spark: SparkSession, walked: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        _, manifest = _walk(spark, tmp_path)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "1")
    assert manifest == walked[1]


def test_the_manifest_counts_every_table(spark: SparkSession, walked: tuple[Path, dict[str, Any]]) -> None:
    folder, manifest = walked
    tables = {name: of for stage in manifest["stages"].values() for name, of in stage["tables"].items()}
    assert tables["subscriptions"]["mine/1"]["rows"] == 60
    assert tables["events"]["mine/2"]["rows"] == tables["matches"]["mine/2"]["rows"] == 20
    assert tables["subscriptions"]["mine/1"]["hash"] != tables["subscriptions"]["mine/2"]["hash"]
    assert spark.read.parquet(str(folder / "results")).count() == 2
    assert set(manifest["with"]) == {"python", "numba", "numpy", "pyarrow", "pyspark"}


def test_the_folder_of_another_run_is_refused_and_left_alone(walked: tuple[Path, dict[str, Any]]) -> None:
    folder, manifest = walked
    with pytest.raises(DataError, match=r"holds other runs: mine/2 is there\nHint: choose another --out"):
        begun(folder, _tasks(folder)[:1], "mine")
    other = [task._replace(scenario=_scenario("cycles=7")) for task in _tasks(folder)]
    with pytest.raises(DataError, match="the settings of mine/1 are others"):
        begun(folder, other, "mine")
    assert json.loads((folder / MANIFEST).read_text("utf-8")) == manifest


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(DataError, match=r"holds something else: thesis\.tex"):
        begun(tmp_path, _tasks(tmp_path), "mine")
    (tmp_path / MANIFEST).write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match="cannot be read"):
        begun(tmp_path, _tasks(tmp_path), "mine")


# ------------------------------------------------------------------------------------------------ the command


def _refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert command.main(words) == command.REFUSED
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert len(said.splitlines()) < 20
    return said


def test_a_master_that_is_not_there_is_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.toml").write_text(SMALL, encoding="utf-8")
    words = ["pipeline", "run", str(tmp_path / "mine.toml"), "--out", str(tmp_path / "out"), "--master", "spark://127.0.0.1:1"]
    said = _refused(words, capsys)
    assert "no Spark on spark://127.0.0.1:1 (127.0.0.1:1: Connection refused)" in said
    assert "--master" in said
    assert not (tmp_path / "out" / MANIFEST).exists()


def test_without_any_java_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.toml").write_text(SMALL, encoding="utf-8")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("gossamer.pipeline.java.find_spec", lambda _: None)
    said = _refused(["pipeline", "sweep", str(tmp_path / "mine.toml"), "--out", str(tmp_path / "out")], capsys)
    assert "without a Java of your own, Spark needs the extra 'pipeline'" in said


def test_a_setting_nobody_knows_is_told_with_the_nearest(
    walked: tuple[Path, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    said = _refused(["pipeline", "measure", str(walked[0] / "runs"), "--by", "population.node"], capsys)
    assert "did you mean 'population.nodes'?" in said


def test_the_help_of_each_part_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    for part in ("run", "sweep", "measure"):
        assert command.main(["pipeline", part, "--help"]) == 0
        assert f"  gossamer pipeline {part} " in capsys.readouterr().out


def _spoken(words: list[str], *, most_bytes: int | None = None) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        if most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    return subprocess.run(
        [sys.executable, "-m", "gossamer", *words],
        capture_output=True, text=True, check=False, preexec_fn=limit, env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
    )  # fmt: skip


@linux
@pytest.mark.slow
def test_a_disk_that_fills_up_is_one_screen_and_the_same_command_goes_on(
    walked: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    (tmp_path / "mine.toml").write_text(SMALL + "[sessions]\n", encoding="utf-8")
    words = ["pipeline", "run", str(tmp_path / "mine.toml"), "--seeds", "1", "2", "--out", str(tmp_path / "out"), "--json"]
    words += ["--master", "local[1]"]
    # Without compression, whose library would not fit either.
    full = _spoken([*words, "--conf", "spark.sql.parquet.compression.codec=none"], most_bytes=2_000)
    assert full.returncode == command.REFUSED, full.stderr
    assert "Traceback" not in full.stderr
    assert "the disk takes no more" in full.stderr
    assert len([line for line in full.stderr.splitlines() if not line.startswith(("WARNING", "Setting", "To adjust"))]) < 20
    assert json.loads(full.stdout)["error"]["kind"] == "DataError"
    assert not (tmp_path / "out/index.html").exists()
    done = _spoken(words)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    # Another master, another cutting, another process: the same to the last bit.
    assert told["stages"] == walked[1]["stages"]
    assert "<table>" in (tmp_path / "out/index.html").read_text("utf-8")
