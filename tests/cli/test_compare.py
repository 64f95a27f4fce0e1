"""Every system on one workload."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gossamer.cli import main as command
from gossamer.cli.compare import contestants
from gossamer.cli.pipeline import lined
from gossamer.report.measured import COLUMNS, Measured, table
from gossamer.scenario.scenario import Scenario
from gossamer.scenario.toml import loads
from gossamer.system.catalogue import SYSTEMS, plan

WORLD = """
cycles = 8
[population]
nodes = 60
attributes = 2
[events]
count = 20
[params.repair]
every = 2
"""
compiled = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="whole runs, too long for plain Python")


def _mine(tmp_path: Path) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(WORLD.replace("every = 2\n", "").replace("[params.repair]\n", ""), encoding="utf-8")
    return str(path)


def test_every_system_meets_every_form_with_the_settings_it_has() -> None:
    world = loads("[params.repair]\n[params.cyclon]\nshuffle = 5\n", "mine")[0]
    found = contestants([world])
    assert {(it.system, it.form) for it in found} == {(name, form) for name in SYSTEMS for form in ("faithful", "better")}
    for it in found:
        assert plan(it.system, it.form, it.params)["cyclon"].params.shuffle == 5
    assert len({it.name for it in found}) == len(found)


def _measured(name: str, seed: int, **metrics: float) -> Measured:
    return Measured(f"{name}/{seed}", Scenario(name=name), seed, Path(), metrics)


def test_a_table_has_means_with_the_least_and_the_most_over_seeds() -> None:
    titles, lines = table([_measured("a", 1, hit_ratio=0.5, max_hops=3.0), _measured("a", 2, hit_ratio=1.0, max_hops=3.0)])
    assert titles == ["", "hit ratio", "max hops"]
    assert lines == [["a", "0.7500 (0.5000-1.0000)", "3"]]
    assert table([_measured("a", 1, hit_ratio=1.0), _measured("b", 1)])[1] == [["a", "1.0000"], ["b", "-"]]


def test_the_table_fits_the_terminal_whatever_takes_part() -> None:
    everything = {it.metric: 0.5 for it in COLUMNS}
    runs = [_measured(f"mine/crash/system-{n}-faithful", 1, **everything) for n in range(7)]
    lines = lined(runs, 80)
    assert max(map(len, lines)) < 80
    assert lines[0] == "mine/crash"
    assert sum(line.startswith("hit ratio") for line in lines) == 3


def test_a_system_nobody_knows_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["compare", _mine(tmp_path), "--systems", "scribe"]) == command.REFUSED
    assert "found 'scribe'\nHint: expected one of gossamer" in capsys.readouterr().err


@compiled
def test_all_are_run_on_one_workload_and_shown_beside_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", _mine(tmp_path), "--seeds", "3", "--threads", "1", "--out", str(tmp_path / "out")]
    assert command.main([*words, "--json"]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert {(it["system"], it["form"]) for it in runs} == {(name, form) for name in SYSTEMS for form in ("faithful", "better")}
    # One workload: whoever is asked, as many want each event.
    assert len({(it["metrics"]["ring_length.mean"], it["metrics"]["events"]) for it in runs}) == 1
    assert all(it["metrics"]["ring_links.mean"] > 0 for it in runs)
    page = (tmp_path / "out/index.html").read_text("utf-8")
    assert "gossamer compare" in page
    assert "sub2sub-faithful" in page
    assert command.main([*words, "--resume"]) == 0
    assert "copies" in capsys.readouterr().out


def test_own_data_needs_both_halves_and_says_what_is_bad(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "events.csv").write_text("price,size\n1.5,2\n2.5,x\n", encoding="utf-8")
    (tmp_path / "filters.txt").write_text("price > 1\nprce > 2\nprice > 2\n", encoding="utf-8")
    words = ["compare", _mine(tmp_path), "--events", str(tmp_path / "events.csv")]
    assert command.main(words) == command.REFUSED
    assert "needs both events and interests" in capsys.readouterr().err
    assert command.main([*words, "--interests", str(tmp_path / "filters.txt")]) == command.REFUSED
    said = capsys.readouterr().err
    assert "1 rows and filters cannot be taken" in said
    assert "filters.txt:2" in said
    assert "--on-error skip" in said


@compiled
def test_own_filters_become_nodes_and_every_match_is_reached(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"{n % 40},{n * 7 % 50}" for n in range(300)]
    (tmp_path / "events.csv").write_text("price,size\n" + "\n".join(lines) + "\n", encoding="utf-8")
    filters = [f"price between {n} and {n + 9}" + (f" or size > {40 + n % 8}" if n % 5 == 0 else "") for n in range(30)]
    (tmp_path / "filters.txt").write_text("\n".join(filters) + "\n", encoding="utf-8")
    words = ["compare", _mine(tmp_path), "--events", str(tmp_path / "events.csv"), "--interests", str(tmp_path / "filters.txt")]
    words += ["--systems", "sub2sub", "--seeds", "1", "--threads", "1", "--most", "100", "--set", "cycles=20", "--json"]
    assert command.main(words) == 0
    better = next(it for it in json.loads(capsys.readouterr().out)["runs"] if it["form"] == "better")
    assert better["metrics"]["events"] == 100
    assert better["metrics"]["hit_ratio"] == 1.0
    assert better["metrics"]["spam"] == 0.0
