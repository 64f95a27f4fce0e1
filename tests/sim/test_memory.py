"""Memory is stated before it is taken, and about right."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest

from gossamer.errors import ScenarioError
from gossamer.scenario.scenario import EventSettings, PopulationSettings, Scenario
from gossamer.sim.memory import available, estimate, require, said
from gossamer.system.catalogue import plan
from tests.sim.worlds import SYSTEMS, made

NODES = 1500


def crowd(system: str, form: str, nodes: int = NODES) -> Scenario:
    return Scenario(
        system=system, form=form, cycles=12, population=PopulationSettings(nodes=nodes), events=EventSettings(count=0)
    )


@pytest.mark.parametrize(("system", "form"), SYSTEMS)
def test_what_is_stated_is_what_numpy_takes_to_a_factor_of_two(system: str, form: str) -> None:
    scenario = crowd(system, form)
    stated = estimate(scenario, plan(system, form, {}))
    tracemalloc.start()
    try:
        world = made(scenario)
        for _ in range(scenario.cycles):
            world.run_cycle()
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most / 2 < stated.total - stated.program < 2 * most


def test_a_scenario_that_does_not_fit_is_refused_before_anything_is_taken() -> None:
    scenario = crowd("sub2sub", "better", 1 << 28)
    tracemalloc.start()
    try:
        with pytest.raises(ScenarioError) as refused:
            require(scenario, plan("sub2sub", "better", {}), have=lambda: 1 << 30)
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()
    assert refused.value.path == "population.nodes"
    assert "this machine has 1 GiB" in refused.value.problem
    fewer = int(refused.value.hint.removeprefix("population.nodes="))
    assert require(crowd("sub2sub", "better", fewer), plan("sub2sub", "better", {}), have=lambda: 1 << 30).total < 1 << 30


def test_where_events_take_the_room_fewer_events_are_the_hint() -> None:
    scenario = replace(crowd("sub2sub", "better"), events=EventSettings(count=1 << 24))
    with pytest.raises(ScenarioError, match=r"events\.count"):
        require(scenario, plan("sub2sub", "better", {}), have=lambda: 1 << 30)


def test_a_machine_that_does_not_say_refuses_nothing() -> None:
    assert require(crowd("sub2sub", "better", 1 << 20), plan("sub2sub", "better", {}), have=lambda: None).total > 1 << 30
    assert (available() or 1) > 0


def test_amounts_are_said_for_people() -> None:
    assert [said(n) for n in (0, 1023, 1024, 1536, 150 << 20, 1 << 45)] == [
        "0 bytes", "1023 bytes", "1 KiB", "1.5 KiB", "150 MiB", "32 TiB",
    ]  # fmt: skip
