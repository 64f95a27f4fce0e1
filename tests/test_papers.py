"""What ``run.py papers`` keeps is written from the tables of its runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import papers


def test_figures_and_numbers_of_a_small_world_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def beyond(out: Path, keep: Path, nodes: int, day: str) -> int:
        asked.append((out.name, keep.name, nodes, len(day)))
        return 0

    monkeypatch.setattr(papers, "FORMS", ("better",))
    monkeypatch.setattr(papers, "beyond", beyond)  # a page of its own, which takes longer
    out, keep = tmp_path / "out", tmp_path / "keep"
    assert papers.main(["--nodes", "60", "--seeds", "1", "2", "--out", str(out), "--keep", str(keep)]) in {0, 1}
    assert asked == [("beyond", "beyond", 60, 10)]
    page = (keep / "numbers.md").read_text(encoding="utf-8")
    assert "gossamer reproduce sub2sub --form better --nodes 60 --seeds 1 2" in page
    assert str(tmp_path) not in page
    for case in (out / "better" / "runs").iterdir():
        lengths = [json.loads((run / "run.json").read_text())["metrics"]["ring_length"] for run in sorted(case.iterdir())]
        told = [f"{it['min']}-{it['max']}" for it in lengths]
        assert f"| {told[0] if len(set(told)) == 1 else ', '.join(told)} |" in page
    for name in papers.PICTURES:
        assert (keep / "better" / name).exists()
        assert (keep / "better" / name).with_suffix(".svg").exists()
