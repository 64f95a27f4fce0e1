"""Each verdict holds where it should, fails where it should, and is not given where a world is too small to tell."""

from __future__ import annotations

from typing import Literal

import pytest

from gossamer.report.claims import STATEMENTS, Verdict, tally, verdicts
from gossamer.report.curves import Result
from gossamer.report.experiments import CASES, FIGURES, Case
from tests.report.made import Tables, hops_of, joins, links, nobody, nodes, result, spreads

Held = Literal[True, False] | None

ALL_AT_30 = [min(1.0, cycle / 30) for cycle in range(46)]
TWO_FIVE = Case(5, "power")
RINGS = "all rings are fully set up"
REACHED = "hit ratio of 100"
SPAM = "Spam"
AHEAD = "before all rings"
RANGE = "quite large"
SHORT = "trivially short"
HOPS = "logarithmic"
REJOINED = "rejoined"
PUBLISHERS = "All 10,000 publishers"
RECEIVED = "receives an event once"
SENT = "forwards it"
NOBODY = "safely assume"


def judged(statement: str, *results: Result) -> Verdict:
    """The one verdict about a statement."""
    found = [it for it in verdicts(list(FIGURES), results) if statement in it.statement]
    assert len(found) == 1
    return found[0]


def all_of(count: int, wanted: int = 4) -> tuple[list[int], list[int], list[int]]:
    return [wanted] * count, [wanted] * count, [2] * count


def missing(count: int, wanted: int = 4) -> tuple[list[int], list[int], list[int]]:
    return [wanted] * count, [wanted - 1] * count, [2] * count


FALSE_WORDS = nobody((0, 100, 100), (1, 100, 3), (2, 100, 0))


@pytest.mark.parametrize(
    ("statement", "parts", "holds", "told"),
    [
        (RINGS, [links(ALL_AT_30)], True, "100.00% of the rings after 40 cycles, all after 30"),
        (RINGS, [links([*[0.98] * 45, 0.995])], True, "98.00% of the rings after 40 cycles, not all at the end; 99.50%"),
        (RINGS, [links([0.989] * 46)], False, "98.90% of the rings after 40 cycles, not all at the end"),
        (REACHED, [links([1.0] * 3), spreads((2, *all_of(3)))], True, "hit ratio 1 with all rings complete"),
        (REACHED, [links([1.0] * 3), spreads((2, *missing(3)))], False, "hit ratio 0.75 with all rings complete"),
        (REACHED, [links([0.7] * 3), spreads((2, *missing(3)))], True, "hit ratio 0.75 with 70.00% of the rings"),
        (REACHED, [links([0.8] * 3), spreads((2, *missing(3)))], False, "hit ratio 0.75 with 80.00% of the rings"),
        (SPAM, [spreads((40, *all_of(3)))], True, "spam 0"),
        (SPAM, [spreads((40, *all_of(3)), unwanted=2)], False, "spam 0.2"),
        (AHEAD, [links([0.0, 0.0, 1.0]), spreads((1, *all_of(50)), (2, *all_of(50)))], True, "100.0% of dissem"),
        (AHEAD, [links([0.0, 0.0, 1.0]), spreads((1, *missing(50)), (2, *all_of(50)))], False, "0.0% of dissem"),
        (AHEAD, [links([0.0, 0.0, 1.0]), spreads((1, *all_of(9)), (2, *all_of(9)))], None, "100.0% of dissem"),
        (RANGE, [hops_of([2, 246], 1.3)], True, "2 to 246"),
        (RANGE, [hops_of([2, 100], 1.3)], False, "2 to 100"),
        (RANGE, [hops_of([3, 246], 1.3)], False, "3 to 246"),
        (HOPS, [hops_of([2, 4, 8, 16, 32], 1.0)], True, "hops = 0.00 + 1.00 log2(length)"),
        (HOPS, [hops_of([2, 4, 8, 16, 32], 2.0)], False, "2.00 log2"),
        (HOPS, [hops_of([2, 4, 8, 16, 32], 0.0, 1.0)], False, "0.00 log2"),
        (HOPS, [hops_of([2, 4, 8, 16], 1.0)], None, "the longest ring has 16"),
        (HOPS, [hops_of([2, 16, 128], 1.5)], True, "128-255: 10.0 on average, 10 at most"),
        (HOPS, [hops_of([2, 16, 128], 1.5, 2.0)], False, "128-255: 12.0 on average, 12 at most"),
        (REJOINED, [joins([5] * 99 + [50])], True, "100 of 100 joined, 1 after more than 40 cycles"),
        (REJOINED, [joins([5] * 98 + [50, -1])], False, "99 of 100 joined, 2 after more than 40 cycles"),
        (REJOINED, [joins([16] * 100)], False, "16 / 16"),
        (REJOINED, [joins([-1] * 3)], False, "0 of 3 joined"),
        (PUBLISHERS, [joins([5], [3] * 999 + [6])], True, "1000 of 1000 found a subscriber, 99.90% within 5"),
        (PUBLISHERS, [joins([5], [3] * 998 + [6, 6])], False, "99.80% within 5"),
        (PUBLISHERS, [joins([5], [3] * 49 + [6])], True, "98.00% within 5"),
        (PUBLISHERS, [joins([5], [3] * 999 + [-1])], False, "999 of 1000 found"),
        (RECEIVED, [nodes([20] * 100, [20] * 100)], True, "mean 2.00, p99 2.00, Gini 0.000"),
        (RECEIVED, [nodes([20] * 98 + [60] * 2, [20] * 100)], False, "p99 6.00"),
        (RECEIVED, [nodes([10] * 50 + [50] * 50, [20] * 100)], False, "Gini 0.333"),
        (SENT, [nodes([20] * 10, [30] * 10)], True, "most 3.00"),
        (SENT, [nodes([20] * 10, [20] * 9 + [31])], False, "most 3.10"),
        (NOBODY, [nobody((0, 100, 100), (1, 100, 1), (2, 100, 0))], True, "100.00% say nobody, wanted by 1: 1.00%"),
        (NOBODY, [FALSE_WORDS], False, "wanted by 1: 3.00% say nobody"),
        (NOBODY, [nobody((0, 100, 99), (1, 100, 0))], False, "wanted by 0: 99.00%"),
        (NOBODY, [nobody((0, 100, 100), (1, 49, 3), (2, 100, 0))], None, "wanted by 1: 6.12%"),
    ],
)  # fmt: skip
def test_a_verdict_can_hold_fail_and_not_be_given(statement: str, parts: list[Tables], holds: Held, told: str) -> None:
    found = judged(statement, result(*parts))
    assert told in found.ours
    assert found.holds is holds


@pytest.mark.parametrize(
    ("case", "lengths", "rows", "holds"),
    [
        (TWO_FIVE, [2] * 8 + [4] * 2, 10_000, True),
        (TWO_FIVE, [2] * 7 + [4] * 3, 10_000, False),
        (Case(5, "uniform"), [3] * 98 + [4] * 2, 10_000, False),
        (Case(5, "uniform"), [3] * 99 + [4], 10_000, True),
        (Case(5, "uniform"), [3] * 99 + [4], 600, None),
    ],
)
def test_with_five_attributes_most_rings_are_of_two_or_three(case: Case, lengths: list[int], rows: int, holds: Held) -> None:
    assert judged(SHORT, result(hops_of(lengths, 1.0), case=case, rows=rows)).holds is holds


@pytest.mark.parametrize(("rows", "holds"), [(600, None), (2_500, True), (10_000, False)])
def test_the_longest_ring_is_scaled_with_the_world(rows: int, holds: Held) -> None:
    assert judged(RANGE, result(hops_of([2, 70], 1.3), rows=rows)).holds is holds


def test_the_better_form_is_held_to_more() -> None:
    assert judged(REJOINED, result(joins([13] * 100))).holds is True
    assert judged(REJOINED, result(joins([13] * 100), form="better")).holds is False


def test_the_worst_seed_is_shown_and_one_that_fails_is_worse_than_one_that_cannot_tell() -> None:
    good, small, bad = (
        result(FALSE_WORDS if bad else nobody((0, 60, 60), (1, count, 0)), seed=seed)
        for seed, (count, bad) in enumerate([(60, False), (9, False), (60, True)])
    )
    assert judged(NOBODY, good, good).holds is True
    assert judged(NOBODY, good, small).holds is None
    worst = judged(NOBODY, small, bad, good)
    assert worst.holds is False
    assert "3.00%" in worst.ours


def test_only_what_was_run_and_asked_for_is_judged() -> None:
    one = result(links(ALL_AT_30), case=Case(1, "uniform"))
    assert [(it.figure, it.case) for it in verdicts(["rings", "hops"], [one])] == [("rings", "1 attribute, uniform")]
    assert verdicts(["hops"], [one]) == []
    assert verdicts(list(FIGURES), []) == []
    assert {case.title for case in CASES if case.attributes == 3} == {"3 attributes, uniform", "3 attributes, power law"}


def test_every_figure_has_the_papers_words() -> None:
    assert set(STATEMENTS) == set(FIGURES)


def test_a_tally_counts_what_could_be_judged() -> None:
    it = judged(SPAM, result(spreads((40, *all_of(3)))))
    assert tally([it, it]) == "2 of 2 verdicts hold"
    assert tally([it, it._replace(holds=False)]) == "1 of 2 verdicts hold, 1 does not"
    assert tally([it._replace(holds=None)]) == "1 claim cannot be judged in so small a world"
    untold = it._replace(holds=None)
    assert tally([it, untold, untold]) == "1 of 1 verdicts hold; 2 claims cannot be judged in so small a world"
    assert tally([]) == "no claim could be looked at"
