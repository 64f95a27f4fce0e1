"""``gossamer reproduce`` in a small world: what it prints, writes and keeps."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from gossamer.cli import main as command
from gossamer.cli import reproduce
from gossamer.report.claims import verdicts
from gossamer.report.experiments import FIGURES

compiled = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="whole runs, too long for plain Python")
SIZE = ["--nodes", "120", "--events", "60"]
SMALL = ["reproduce", "sub2sub", *SIZE]


def told(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    capsys.readouterr()
    code = command.main(words)
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sub2sub", "ring"], "no figure 'ring'\nHint: did you mean 'rings'?"),
        (["sub2sub", "xyz"], "the figures are rings, dissemination"),
        (["sub3sub"], "invalid choice: 'sub3sub'"),
        (["sub2sub", "--nodes", "49"], "found '49', expected a whole number, 50 to"),
        (["sub2sub", "--form", "worse"], "invalid choice: 'worse'"),
        (["sub2sub", "--seeds", "1", "1"], "seed 1 is given twice"),
        (["sub2sub", "--resume"], "nothing is kept without --out"),
        (["sub2sub", "lengths", "--nodes", "10000000", "--events", "16777216"], "of memory"),
    ],
)
def test_wrong_words_are_one_error(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = told(["reproduce", *words], capsys)
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.slow
@compiled
def test_one_object_has_every_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*SMALL, "--seeds", "1", "2", "--rejoins", "3", "--out", str(tmp_path / "out"), "--json"]
    code, out, _ = told(words, capsys)
    found = json.loads(out)
    assert code == (0 if found["holds"] else 1)
    assert (found["seeds"], found["form"], found["size"]["nodes"]) == ([1, 2], "faithful", 120)
    assert found["command"].startswith("gossamer reproduce sub2sub --nodes 120 ")
    main = found["experiments"]["3-power"]
    assert set(main["seeds"]) == {"1", "2"}
    for name in ("hit_ratio", "spam", "rings_complete", "complete_at"):
        assert main[name] == pytest.approx(sum(main["seeds"][seed][name] for seed in "12") / 2)
    assert main["joins"]["subscriber"]["both"]["tried"] == 3
    assert {"gini", "p99"} <= set(main["load"]["receipts"])
    assert set(main["nobody"]) == {"0", "1", "2"}
    assert {"base", "per_doubling"} <= set(main["hops"])
    assert set(found["figures"]) == set(FIGURES)
    assert len(found["figures"]["rings"]["3-power"]["cycle"]) == 61
    assert {it["figure"] for it in found["verdicts"]} == set(FIGURES)
    judged_anyway = [it for it in found["verdicts"] if it["figure"] in {"lengths", "hops"} and it["holds"] is not None]
    assert judged_anyway == []
    folder = tmp_path / "out"
    assert json.loads((folder / "numbers.json").read_text(encoding="utf-8")) == found
    assert len(pq.read_table(folder / "verdicts.parquet")) == len(found["verdicts"])
    for name in FIGURES:
        rows = pq.read_table(folder / f"{name}.parquet").to_pylist()
        assert {row["case"] for row in rows} == set(found["figures"][name])
        assert (folder / "figures" / f"{name}.svg").exists()
        assert (folder / "figures" / f"{name}.png").exists()
    assert found["command"] in (folder / "index.html").read_text(encoding="utf-8")
    again = json.loads(told([*words, "--resume"], capsys)[1])
    assert {**again, "command": found["command"]} == found


@compiled
def test_a_folder_keeps_what_is_there_unless_told_otherwise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["reproduce", "sub2sub", "lengths", *SIZE, "--out", str(tmp_path)]
    code, out, err = told(words, capsys)
    assert code == 0
    assert out.splitlines()[0] == "120 nodes, 60 events, faithful form, seed 1, gossamer 0.1.0"
    assert out.splitlines()[-1] == str(tmp_path / "index.html")
    assert "too small a world to judge" in out
    assert err.startswith("-- Sub-2-Sub, faithful: 6 runs of 120 nodes, up to ")
    for more, said in (
        (["--form", "better"], "its form is faithful, not better"),
        (["--nodes", "130"], "population.nodes is 120"),
    ):
        code, _, err = told([*words, *more], capsys)
        assert code == 2
        assert said in err
    assert told(["reproduce", "sub2sub", "dissemination", *SIZE, "--out", str(tmp_path), "--replace"], capsys)[0] in {0, 1}
    assert not (tmp_path / "lengths.parquet").exists()
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == ["dissemination.png", "dissemination.svg"]


@compiled
def test_a_verdict_that_fails_is_the_exit_code(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*args: Any) -> list[Any]:  # noqa: ANN401  (whatever the real one takes)
        return [it._replace(holds=False) for it in verdicts(*args)]

    monkeypatch.setattr(reproduce, "verdicts", failing)
    code, out, _ = told(["reproduce", "sub2sub", "dissemination", *SIZE], capsys)
    assert code == 1
    assert "FAILS" in out
    assert "0 of 1 verdicts hold, 1 does not" in out


def test_metrics_are_meant_leaf_by_leaf_and_what_one_lacks_is_unknown() -> None:
    some: list[Mapping[str, Any]] = [{"a": 1, "b": {"c": 2.0, "d": None}, "e": {"x": 1}}, {"a": 2, "b": {"c": 4.0, "d": 5.0}}]
    assert reproduce._meant(some) == {"a": 1.5, "b": {"c": 3.0, "d": None}, "e": {"x": None}}
