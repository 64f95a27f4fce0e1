"""gossamer explain says what a filter becomes and what to expect of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gossamer.cli.main import main


def explained(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert main(["explain", *words, "--json"]) == 0
    told: dict[str, object] = json.loads(capsys.readouterr().out)
    return told


def test_matches_a_day_and_neighbours_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"{n},2026-01-{n % 10 + 1:02},{'long name ' + str(n % 3)}" for n in range(100)]
    (tmp_path / "log.csv").write_text("\n".join(["price,at,name", *lines, "99,2026-13-01,x", ""]))
    (tmp_path / "others.txt").write_text("price < 5\nprice >= 95\nat > '2026-01-05'\noops >\n")
    more = ["--events", str(tmp_path / "log.csv"), "--interests", str(tmp_path / "others.txt")]
    told = explained(capsys, "price >= 90 OR price IN (1, 2)", *more)
    assert told["exact"]
    assert (told["events"], told["events_bad"], told["matches"], told["in_box"]) == (100, 1, 12, 12)
    assert (told["days"], told["matches_per_day"], told["busiest_day"]) == (10, 1.2, 2)
    assert (told["interests"], told["interests_bad"], told["neighbours"]) == (3, 1, 3)
    assert told["messages_per_day"] == pytest.approx({"paper": 2.64, "arcs": 1.2, "arcs_control": 0.48})
    assert main(["explain", "price >= 90", *more]) == 0
    assert "10 of 100 events match, 0.1 of all" in capsys.readouterr().out


def test_what_boxes_cannot_say_is_counted_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log.csv").write_text("name\n" + "".join(f"instrument {n}\n" for n in range(20)))
    (tmp_path / "schema.toml").write_text('name = "string"\n')
    more = ["--events", str(tmp_path / "log.csv"), "--schema", str(tmp_path / "schema.toml")]
    told = explained(capsys, "name = 'instrument 7'", *more)
    assert (told["exact"], told["in_box"], told["matches"]) == (False, 20, 1)


def test_without_a_schema_there_is_nothing_to_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "price > 1"]) == 2
    assert "--schema" in capsys.readouterr().err
