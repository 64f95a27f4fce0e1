"""The comparison of two trees: no metric is lost, and only what differs is shown."""

from __future__ import annotations

from benchmarks.compare import metrics, table

FOUND = {"cases": [{"name": "1-power", "hit_ratio": 1.0, "rings": {"complete": True}}, {"hops": [2, 3]}], "system": "sub2sub"}


def test_every_number_has_a_path() -> None:
    assert dict(metrics(FOUND, "rings")) == {
        "rings.cases.1-power.hit_ratio": 1.0,
        "rings.cases.1-power.rings.complete": 1.0,
        "rings.cases.1.hops.0": 2.0,
        "rings.cases.1.hops.1": 3.0,
    }


def test_only_what_differs_is_shown_but_for_the_time() -> None:
    base = {"hops": 2.0, "hit_ratio": 1.0, "spam": 0.0, "gone": 1.0, "cpu_s": 3.0}
    here = {"hops": 3.0, "hit_ratio": 1.0, "spam": 0.5, "new": 1.0, "cpu_s": 3.0}
    lines = [line.split() for line in table(base, here, everything=False)]
    assert lines == [
        ["hops", "2", "3", "+50.0%"],
        ["spam", "0", "0.5"],
        ["gone", "1", "-"],
        ["cpu_s", "3", "3", "+0.0%"],
        ["new", "-", "1"],
    ]
    assert len(table(base, here, everything=True)) == len(base) + 1
