"""The metrics of a run, from tables made up for it: each number under its name, and nothing where there is nothing to say."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.measure.summary import series, summary
from tests.report.made import joins, links, nobody, nodes, spreads


def test_nothing_happened_so_nothing_is_said() -> None:
    assert summary({}, 7) == {"rows": 7}


@given(st.lists(st.sampled_from([0.5, 0.995, 1.0]), min_size=1, max_size=12))
def test_complete_is_when_it_stays_so(rings: list[float]) -> None:
    found = summary(links(rings), 10)
    stays = [cycle for cycle in range(len(rings)) if all(share == 1.0 for share in rings[cycle:])]
    assert found["complete_at"] == (stays[0] if stays else None)
    nearly = [cycle for cycle in range(len(rings)) if all(share >= 0.99 for share in rings[cycle:])]
    assert found["rings_0.99_at"] == (nearly[0] if nearly else None)
    assert (found["cycles"], found["rings_complete"]) == (len(rings) - 1, rings[-1])


def test_the_last_date_stands_at_the_top_and_each_under_its_own() -> None:
    table = spreads((5, [2, 4], [2, 2], [1, 1]), (9, [2, 4], [2, 4], [1, 3]))
    found = summary(table, 10)
    assert found["hit_ratio"] == 1.0
    assert found["dissemination"]["5"]["hit_ratio"] == 0.75
    assert found["dissemination"]["5"]["complete"] == 0.5
    assert found["dissemination"]["9"]["max_hops"] == 3
    assert found["ring_length"] == {"min": 2, "max": 4, "mean": 3.0, "median": 3.0, "share_of_2_and_3": 0.5}
    assert "dissemination" not in summary(spreads((9, [2], [2], [1])), 10)


def test_hops_are_told_for_long_rings_only_where_there_are_some() -> None:
    short = summary(spreads((9, [2, 4], [2, 4], [1, 2])), 10)["hops"]
    assert (short["per_doubling"], short["at_128_to_255"], short["max_at_128_to_255"]) == (pytest.approx(1.0), None, None)
    long = summary(spreads((9, [2, 128, 255, 256], [2, 128, 255, 256], [1, 8, 10, 99])), 10)["hops"]
    assert (long["at_128_to_255"], long["max_at_128_to_255"]) == (9.0, 10)
    assert summary(spreads((9, [3], [3], [2])), 10)["hops"]["per_doubling"] is None


def test_joins_are_quantiles_and_one_that_never_ended_has_no_number() -> None:
    found = summary(joins([3, 5, 7, -1], [1, 2, 6, -1]), 10)["joins"]
    assert (found["subscriber"]["both"]["tried"], found["subscriber"]["both"]["done"]) == (4, 3)
    assert (found["subscriber"]["both"]["p50"], found["subscriber"]["both"]["max"]) == (5.0, None)
    assert found["publisher"]["within_5"] == 0.5
    assert found["publisher"]["done"] == 3


def test_the_share_of_wrong_answers_is_by_how_many_want_it() -> None:
    found = summary(nobody((0, 4, 4), (1, 4, 1)), 10)["nobody"]
    assert found == {
        "0": {"asked": 4, "said_nobody": 4, "share": 1.0},
        "1": {"asked": 4, "said_nobody": 1, "share": 0.25},
    }


def test_load_is_per_event_wanted_and_in_all() -> None:
    found = summary(nodes([10, 30], [20, 20], wanted=10), 10)["load"]
    assert (found["receipts"]["mean"], found["receipts_total"]["mean"]) == (2.0, 20.0)
    assert (found["receipts"]["gini"], found["sends"]["gini"]) == (pytest.approx(0.25), 0.0)


def test_all_of_it_is_json() -> None:
    tables = {**links([0.0, 1.0]), **spreads((1, [3], [3], [2])), **joins([-1], [-1]), **nodes([1], [1], wanted=0)}
    assert json.loads(json.dumps(summary(tables, 10), allow_nan=False))["rows"] == 10


def test_a_series_is_the_columns_asked_for() -> None:
    assert series(links([0.0, 1.0])["links"], "cycle", "rings_complete") == {"cycle": [0, 1], "rings_complete": [0, 1_000]}
    assert set(series(links([0.0])["links"])) == {"cycle", "links_right", "links_wanted", "rings_complete", "rings_wanted"}
