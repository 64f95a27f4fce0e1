"""Every benchmark runs, and tells what it found in one form. What is fast enough, nobody judges here."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from importlib import import_module

import numpy as np
import pytest

import run
from benchmarks import bench_cyclon, bench_truth
from benchmarks.figures import Figure, Size, main
from tests.naive.truth import naive_pairs

NAMES = sorted(path.stem for path in (run.ROOT / "benchmarks").glob("bench_*.py"))


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="hundreds of cycles in plain Python")
@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_says_what_it_found(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = import_module(f"benchmarks.{name}")
    assert main(name, module.__doc__ or "", module.figures, ["--size", "tiny", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["benchmark"], found["size"], found["seed"]) == (name, "tiny", 1)
    names = [figure["name"] for figure in found["figures"]]
    assert len(set(names)) == len(names) > 1
    for figure in found["figures"]:
        assert math.isfinite(figure["value"]), figure
        assert figure["value"] >= 0, figure
        assert figure["unit"], figure
        assert (figure["must"] is None) == (figure["verdict"] == ""), figure


@pytest.mark.parametrize(
    ("value", "less", "verdict"),
    [
        (9.0, False, "SHORT"),
        (10.0, False, "reached"),
        (20.0, False, "aim reached"),
        (21.0, True, "SHORT"),
        (20.0, True, "reached"),
        (10.0, True, "aim reached"),
    ],
)
def test_a_figure_is_held_against_its_bounds(value: float, less: bool, verdict: str) -> None:  # noqa: FBT001
    must, aim = (20.0, 10.0) if less else (10.0, 20.0)
    assert Figure(name="it", value=value, unit="times", must=must, aim=aim, less=less).verdict == verdict
    assert Figure(name="it", value=value, unit="times").verdict == ""


def test_the_table_tells_each_figure_on_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    def told(size: Size, seed: int) -> Iterator[Figure]:
        yield Figure(name="speed", value=3.6e6, unit="rows/CPU-s", must=1e6, remark=f"{size}, seed {seed}")
        yield Figure(name="room", value=12.25, unit="bytes")

    assert main("it", "", told, []) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("it, size small, seed 1: ")
    assert lines[1].split() == ["speed", "3.6", "M", "rows/CPU-s", "must", "1", "M", "reached", "small,", "seed", "1"]
    assert lines[2].split() == ["room", "12.2", "bytes"]


def test_the_textbook_cyclon_knows_nobody_twice_and_evens_out_who_is_known() -> None:
    rows = 1500
    state = [column.tolist() for column in bench_cyclon.textbook_state(rows)]
    state[0] = [[(i + 1 + k) % rows if i % 2 else k + (k >= i) for k in range(bench_cyclon.VIEW)] for i in range(rows)]
    assert bench_cyclon.spread(np.array(state[0])) > 50
    for _ in range(40):
        bench_cyclon.textbook_all(*state)
    assert all(len({*view}) == bench_cyclon.VIEW and i not in view for i, view in enumerate(state[0]))
    assert bench_cyclon.spread(np.array(state[0])) < 3


def test_what_the_truth_is_compared_with_counts_what_the_definition_counts() -> None:
    boxes, points = bench_truth.world(80, 60, 0.3, 5)
    wanted = [len(holders) for holders in naive_pairs(boxes, points)]
    assert max(wanted) > 1
    assert bench_truth.in_numpy(boxes, points).tolist() == wanted
    assert bench_truth.in_duckdb(*bench_truth.tables(boxes, points), cell=1 << 27).tolist() == wanted
