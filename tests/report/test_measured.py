"""The page of any runs: a table, figures, what made them, and nothing beside it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from gossamer.errors import MissingExtraError
from gossamer.report import measured
from gossamer.report.measured import Measured, folded, spoken, table, write
from gossamer.scenario.scenario import Scenario
from gossamer.scenario.toml import to_toml
from gossamer.trace.columns import Trace
from gossamer.trace.folder import Run, write_run


def _run(folder: Path, name: str, seed: int) -> Measured:
    trace = Trace()
    trace["links"].append(cycle=np.arange(4), links_right=1, links_wanted=2, rings_complete=np.arange(4), rings_wanted=3)
    trace["nodes"].append(node=np.arange(5), wanted=[0, 1, 1, 2, 2], receipts=[1, 1, 2, 2, 6], sends=1, control=0)
    scenario = Scenario(name=name)
    it = Run(seed=seed, config="", state="", gossamer="0")
    place = folder / name / str(seed)
    write_run(place, it, to_toml(scenario), trace.tables())
    metrics = {"hit_ratio": 0.5 * seed, "copies_per_delivery": 2.0, "control_per_delivery": 0.25, "complete_at": None}
    rates = {"messages_per_row_cycle.cyclon": 2.0, "messages_per_row_cycle.rings": 0.5}
    return Measured(f"{name}/{seed}", scenario, seed, place, {**metrics, **rates})


@pytest.fixture
def runs(tmp_path: Path) -> list[Measured]:
    return [_run(tmp_path / "runs", name, seed) for name in ("mine/calm", "mine/<crash>") for seed in (1, 2)]


def test_runs_that_differ_in_their_seed_alone_are_one_line(runs: list[Measured]) -> None:
    titles, lines = table(runs)
    assert titles == ["", "hit ratio", "copies", "control", "gossip"]
    assert lines[0] == ["mine/calm", "0.7500 (0.5000-1.0000)", "2.000", "0.250", "2.50"]
    assert [len(them) for them in folded(runs).values()] == [2, 2]
    assert spoken({"hit_ratio": 1.0})["messages"] is None


def test_the_page_has_all_in_it_and_asks_for_nothing_else(runs: list[Measured], tmp_path: Path) -> None:
    assert write(tmp_path, runs, "Calm or crash?", "4 runs", "gossamer pipeline run 'x & y'", also=["They agree."]) == []
    page = (tmp_path / "index.html").read_text("utf-8")
    assert "<h1>Calm or crash?</h1>" in page
    assert "gossamer pipeline run &#x27;x &amp; y&#x27;" in page
    assert "<p>They agree.</p>" in page
    assert "<td>mine/&lt;crash&gt;</td>" in page
    assert page.count("<svg") == 3
    assert not re.search(r"""(?:src|href)=["'](?!#)""", page)
    assert not re.search(r"https?://", page)
    for name in ("construction", "delivery", "burden"):
        assert {path.suffix for path in (tmp_path / "figures").glob(f"{name}.*")} == {".svg", ".png"}


def test_the_same_runs_give_the_same_bytes(runs: list[Measured], tmp_path: Path) -> None:
    for place in ("one", "two"):
        write(tmp_path / place, runs, "Which?", "4 runs", "gossamer")
    one, two = (sorted((tmp_path / place).rglob("*.*")) for place in ("one", "two"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]


def test_without_the_extra_the_page_has_its_table(
    runs: list[Measured], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> None:
        raise MissingExtraError("report", "drawing figures")

    monkeypatch.setattr(measured, "require_extra", missing)
    assert "pip install 'gossamer[report]'" in write(tmp_path, runs, "Which?", "4 runs", "gossamer")[0]
    assert "<table>" in (tmp_path / "index.html").read_text("utf-8")
    assert not (tmp_path / "figures").exists()
