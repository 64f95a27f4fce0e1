"""The points of each curve, against plain computation."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.report.curves import Curve, curves
from gossamer.report.experiments import FIGURES, MAIN, Case
from tests.report.made import joins, links, nobody, nodes, result, spreads

FEW = st.lists(st.integers(2, 12), min_size=1, max_size=30)


def curve(name: str, *parts: object) -> Curve:
    """The curve of a run of the main world, with these tables."""
    return curves(name, [result(*parts)])[MAIN]  # type: ignore[arg-type]


def test_rings_are_meant_over_the_seeds_cycle_by_cycle() -> None:
    one, two = result(links([0.0, 0.5, 1.0])), result(links([0.0, 0.25, 0.5]), seed=2)
    found = curves("rings", [one, two])[MAIN]
    assert found["cycle"] == [0, 1, 2]
    assert found["rings"] == [0.0, 0.375, 0.75]
    assert found["links"] == pytest.approx([0.0005, 0.3755, 0.75025])


def test_a_run_in_which_all_events_arrive_says_nothing_about_those_that_did_not() -> None:
    some = result(links([0.0, 0.5]), spreads((1, [4, 4], [4, 1], [2, 2])))
    whole = result(links([0.0, 1.0]), spreads((1, [4, 4], [4, 4], [2, 2])), seed=2)
    found = curves("dissemination", [some, whole])[MAIN]
    assert found["cycle"] == [1]
    assert found["complete"] == [0.75]
    assert found["hit_ratio"] == [(0.625 + 1.0) / 2]
    assert found["hit_ratio_of_incomplete"] == [0.25]
    assert found["rings"] == [0.75]


@given(FEW, FEW)
def test_the_share_of_rings_at_least_so_long_is_counted(early: list[int], late: list[int]) -> None:
    found = curve("lengths", spreads((3, early, early, early), (9, late, late, late)))
    for length, share, beyond in zip(found["length"], found["share"], found["at_least"], strict=True):
        assert share == pytest.approx(late.count(int(length)) / len(late))
        assert beyond == pytest.approx(sum(it >= length for it in late) / len(late))
    assert found["length"] == sorted(set(late))


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 8), st.booleans()), min_size=1, max_size=30))
def test_hops_are_those_of_complete_disseminations_to_more_than_one(drawn: list[tuple[int, int, bool]]) -> None:
    wanted, last = [it[0] for it in drawn], [it[1] for it in drawn]
    delivered = [length if whole else length - 1 for length, _, whole in drawn]
    one = result(spreads((9, wanted, delivered, last)))
    real = [(length, hop) for length, hop, whole in drawn if whole and length > 1]
    found = curves("hops", [one]).get(MAIN)
    if found is None:
        assert real == []
        return
    assert found["length"] == sorted({length for length, _ in real})
    for n, length in enumerate(found["length"]):
        hops = [hop for size, hop in real if size == length]
        assert (found["least"][n], found["most"][n]) == (min(hops), max(hops))
        assert found["mean"][n] == pytest.approx(sum(hops) / len(hops))
    assert math.isnan(found["fit"][0]) == (len(found["length"]) < 2)


@given(st.lists(st.integers(-1, 9), min_size=1, max_size=30), st.lists(st.integers(-1, 9), max_size=30))
def test_joins_are_shares_of_all_that_tried(subscribers: list[int], publishers: list[int]) -> None:
    found = curve("joins", joins(subscribers, publishers))
    longest = max([*subscribers, *publishers, 0])
    assert found["cycles"] == list(range(longest + 1))
    for cycle in range(longest + 1):
        share = subscribers.count(cycle) / len(subscribers)
        assert found["links_from"][cycle] == found["links_to"][cycle] == pytest.approx(share)
        assert found["publishers"][cycle] == pytest.approx(publishers.count(cycle) / max(len(publishers), 1))


def test_load_is_a_quantile_for_each_share_of_the_nodes() -> None:
    found = curve("load", nodes([10, 20, 30, 40], [0, 0, 10, 30]))
    assert found["share"][0] == 0.0
    assert found["share"][-1] == 1.0
    assert (found["receipts"][0], found["receipts"][100], found["receipts"][-1]) == (1.0, 2.0, 4.0)
    assert (found["sends"][0], found["sends"][100], found["sends"][-1]) == (0.0, 0.0, 3.0)
    assert curves("load", [result(nodes([1], [1], wanted=0))]) == {}


def test_those_who_say_nobody_are_put_together_over_the_seeds() -> None:
    one, two = result(nobody((0, 10, 10), (1, 10, 2))), result(nobody((0, 30, 30), (2, 4, 1)), seed=2)
    found = curves("nobody", [one, two])[MAIN]
    assert found == {"wanted": [0, 1, 2], "asked": [40, 10, 4], "share": [1.0, 0.2, 0.25]}


def test_a_figure_shows_only_its_own_worlds_and_only_those_that_were_run() -> None:
    main, other = result(links([1.0])), result(links([1.0]), case=Case(1, "uniform"))
    assert list(curves("rings", [main, other])) == [Case(1, "uniform"), MAIN]
    assert curves("hops", [other]) == {}
    assert {name: curves(name, []) for name in FIGURES} == {name: {} for name in FIGURES}
