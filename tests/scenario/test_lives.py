"""Births and deaths are those the scenario asks for."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from gossamer.errors import ScenarioError
from gossamer.scenario.lives import NEVER, Lives, chosen, live
from gossamer.scenario.scenario import (
    ChurnSettings,
    CrashSettings,
    JoinSettings,
    PopulationSettings,
    Scenario,
    SessionSettings,
)

FEW = PopulationSettings(nodes=400)


def alive(lives: Lives, cycle: int) -> int:
    return int(((lives.born <= cycle) & (lives.dies > cycle)).sum())


def test_without_events_everybody_stays() -> None:
    lives = live(Scenario(population=FEW), 1)
    assert (lives.born == 0).all()
    assert (lives.dies == NEVER).all()
    assert not lives.silent.any()


def test_churn_replaces_its_share_in_each_of_its_cycles() -> None:
    lives = live(Scenario(population=FEW, cycles=30, churn=ChurnSettings(rate=0.01, from_cycle=10, to_cycle=20, silent=0.5)), 1)
    assert [alive(lives, cycle) for cycle in range(31)] == [400] * 31
    assert np.bincount(lives.dies[lives.dies < NEVER], minlength=31).tolist() == [4 if 10 <= c < 20 else 0 for c in range(31)]
    assert 5 <= lives.silent.sum() <= 35


def test_a_share_of_a_node_a_cycle_adds_up() -> None:
    lives = live(Scenario(population=FEW, cycles=40, churn=ChurnSettings(rate=0.001)), 1)
    assert lives.born.shape[0] == 400 + 16


def test_a_crash_takes_exactly_its_share_and_silence_some_of_it() -> None:
    crash = CrashSettings(share=0.3, cycle=7, silent=0.25)
    lives = live(Scenario(population=FEW, crashes=(crash, CrashSettings(share=0.5, cycle=7))), 2)
    assert [alive(lives, cycle) for cycle in (6, 7)] == [400, 140]
    assert 12 <= lives.silent.sum() <= 48


def test_a_join_wave_comes_at_once_and_is_numbered_last() -> None:
    lives = live(Scenario(population=FEW, joins=(JoinSettings(count=50, cycle=9), JoinSettings(count=5, cycle=3))), 1)
    assert lives.born.tolist() == [0] * 400 + [3] * 5 + [9] * 50


@pytest.mark.parametrize("law", ["exponential", "pareto", "constant"])
def test_sessions_keep_the_number_and_have_their_length(law: str) -> None:
    lives = live(Scenario(population=FEW, cycles=300, sessions=SessionSettings(law=law, mean=20.0)), 1)
    assert {alive(lives, cycle) for cycle in range(301)} == {400}
    whole = (lives.born > 0) & (lives.born < 100)
    lengths = lives.dies[whole] - lives.born[whole]
    assert (lengths >= 1).all()
    assert np.minimum(lengths, 400).mean() == pytest.approx(20, rel=0.15)


def test_a_run_of_too_many_nodes_is_refused() -> None:
    crowd = Scenario(population=FEW, joins=(JoinSettings(count=1 << 28, cycle=1),))
    with pytest.raises(ScenarioError, match="more than"):
        live(crowd, 1)


@pytest.mark.parametrize("count", [0, 1, 5, 20, 30])
def test_the_lowest_draws_are_chosen(count: int) -> None:
    bits: NDArray[np.uint64] = np.random.default_rng(count).permutation(20).astype(np.uint64)
    assert sorted(bits[chosen(bits, count)].tolist()) == list(range(min(count, 20)))
