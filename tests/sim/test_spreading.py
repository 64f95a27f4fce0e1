"""Events spreading in worlds whose rings are complete, and in worlds that lose half of their nodes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from gossamer.measure.delivery import Spread, copies_per_delivery, hit_ratio, hops_by_length, spam
from gossamer.protocol.spread import COPY
from gossamer.scenario.population import Population, population
from gossamer.scenario.scenario import CrashSettings, EventSettings, PopulationSettings, Scenario
from gossamer.scenario.workload import Events, events, nobody, publishers
from gossamer.sim.searching import searched
from gossamer.sim.spreading import SpreadLane, publish_now, spread_frozen, tallied
from gossamer.sim.world import World
from gossamer.system import gossamer
from gossamer.truth.judge import rings

CYCLES = 30


@cache
def settled(attributes: int, share: float = 0.0, silent: float = 0.0, blocks: int = 1) -> tuple[World, Population, Events]:
    """A world that has run long enough for its rings to be complete; where asked for, a crash is due next."""
    scenario = Scenario(
        cycles=CYCLES + 30,
        population=PopulationSettings(nodes=500, attributes=attributes),
        events=EventSettings(count=300),
        crashes=(CrashSettings(share=share, cycle=CYCLES, silent=silent),) if share else (),
    )
    people = population(scenario, 1)
    world = World(scenario, gossamer.plan(), people, 1, blocks=blocks)
    for _ in range(CYCLES):
        world.run_cycle()
    return world, people, events(scenario, people, 1)


def spread_with(world: World, what: Events, **changes: int) -> Spread:
    """Let the events spread with some rules changed for this once."""
    lane = world.lanes["spread"]
    assert isinstance(lane, SpreadLane)
    rules = lane.rules
    lane.rules = rules._replace(**changes)
    try:
        return spread_frozen(world, what)[0]
    finally:
        lane.rules = rules


@pytest.mark.parametrize("attributes", [1, 3])
@pytest.mark.parametrize("shortcuts", [0, 1, 2])
def test_ring_and_shortcuts_reach_all_who_want_it_and_nobody_else(attributes: int, shortcuts: int) -> None:
    world, _, what = settled(attributes)
    spread = spread_with(world, what, arcs=0, shortcuts=shortcuts)
    assert hit_ratio(spread) == 1.0
    assert spam(spread) == 0.0
    assert int(spread.control.sum()) == 0


@pytest.mark.parametrize("attributes", [1, 3])
@pytest.mark.parametrize("fanout", [2, 3, 4, 8])
def test_arcs_bring_each_exactly_one_copy(attributes: int, fanout: int) -> None:
    world, _, what = settled(attributes)
    spread = spread_with(world, what, arcs=1, fanout=fanout)
    assert hit_ratio(spread) == 1.0
    assert copies_per_delivery(spread) == 1.0
    assert spread.control.sum() <= 0.7 * spread.delivered.sum()


def test_arcs_without_close_send_nothing_but_copies() -> None:
    world, _, what = settled(3)
    assert int(spread_with(world, what, arcs=1, close=0).control.sum()) == 0


@pytest.mark.parametrize("attributes", [1, 3])
def test_arcs_take_no_more_hops_than_ring_and_shortcuts(attributes: int) -> None:
    world, _, what = settled(attributes)
    paper = hops_by_length(spread_with(world, what, arcs=0, shortcuts=1))
    arcs = hops_by_length(spread_with(world, what, arcs=1))
    np.testing.assert_array_equal(paper["length"], arcs["length"])
    assert (np.asarray(arcs["mean"]) <= 1.1 * np.asarray(paper["mean"])).all()


def test_an_event_never_goes_back_to_whom_it_came_from() -> None:
    """Of two rows that wrote to each other, neither had the event from the other when it wrote."""
    world, _, what = settled(3)
    lane = world.lanes["spread"]
    assert isinstance(lane, SpreadLane)
    lane.rules = lane.rules._replace(arcs=0)
    try:
        publish_now(world, what, np.arange(50))
        for _ in range(20):
            world.run_cycle()
        log = lane.log[0]
        used = int(log.used[0])
        first: dict[tuple[int, int], int] = {}
        for r in range(used):
            if log.what[r] == COPY:
                first.setdefault((int(log.event[r]), int(log.row[r])), int(log.sender[r]))
        assert used > 100
        for r in range(used):
            sender = int(log.sender[r])
            if sender >= 0 and log.what[r] == COPY:
                assert first[int(log.event[r]), int(world.book.owner[sender])] != world.own[log.row[r]]
    finally:
        settled.cache_clear()


@pytest.mark.parametrize("attributes", [1, 3])
@pytest.mark.parametrize("silent", [0.0, 1.0])
def test_half_of_the_nodes_gone_at_once_cost_little_and_repair_brings_the_rest(attributes: int, silent: float) -> None:
    scenario = Scenario(
        cycles=CYCLES + 30,
        population=PopulationSettings(nodes=300, attributes=attributes),
        events=EventSettings(count=100),
        crashes=(CrashSettings(share=0.5, cycle=CYCLES, silent=silent),),
    )
    people = population(scenario, 1)
    world = World(scenario, gossamer.plan(), people, 1)
    for _ in range(CYCLES):
        world.run_cycle()
    world.begin()
    what = events(scenario, people, 1)
    truth = rings(people, what.points, CYCLES)
    publish_now(world, what, np.arange(100))
    for _ in range(20):
        world.run_cycle()
    mended = tallied(world, truth)[0]
    if silent == 0.0:  # silence is noticed by time alone, so what spreading does without repair has no bound
        assert (mended.delivered - mended.repaired).sum() >= 0.9 * mended.wanted.sum()
    # Silence is found link by link, at two unanswered questions each, while half of whom one asks do not answer.
    assert mended.delivered.sum() >= (0.99 if silent == 0.0 else 0.95) * mended.wanted.sum()
    assert int(mended.unwanted.sum()) == 0
    assert int(mended.repaired.sum()) > 0 or silent == 0.0


def test_looking_at_how_events_spread_changes_nothing() -> None:
    """Fail-over drops links to the dead; not when events only show how they would spread."""
    scenario = Scenario(
        cycles=CYCLES,
        population=PopulationSettings(nodes=200),
        events=EventSettings(count=50),
        crashes=(CrashSettings(share=0.4, cycle=12),),
    )
    people = population(scenario, 1)
    world = World(scenario, gossamer.plan(), people, 1)
    for _ in range(12):
        world.run_cycle()
    world.begin()
    before = {name: [column.copy() for column in lane.state[0]] for name, lane in world.lanes.items() if name != "spread"}
    first = spread_frozen(world, events(scenario, people, 1))[0]
    for name, columns in before.items():
        for column, now in zip(columns, world.lanes[name].state[0], strict=True):
            np.testing.assert_array_equal(column, now)
    again = spread_frozen(world, events(scenario, people, 1))[0]
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_cutting_the_world_into_blocks_changes_no_spread() -> None:
    one, _, what = settled(3)
    three, _, _ = settled(3, blocks=3)
    for mine, theirs in zip(spread_frozen(one, what)[0], spread_frozen(three, what)[0], strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_publishers_find_somebody_exactly_when_there_is_somebody() -> None:
    world, people, _ = settled(3)
    wanted = replace(world.scenario.publishers, count=300, nobody=50)
    scenario = replace(world.scenario, publishers=wanted)
    found = searched(world, publishers(scenario, people, 1))
    assert (found.cycles >= 0).all()
    assert np.quantile(found.cycles, 0.999) <= 5
    lonely = nobody(scenario, people, 1)
    cycles = searched(world, lonely).cycles
    assert (cycles[lonely.matches == 0] == -1).all()
    assert (cycles[lonely.matches > 0] >= 0).all()


def test_who_is_found_does_not_depend_on_blocks() -> None:
    one, people, _ = settled(3)
    three, _, _ = settled(3, blocks=3)
    scenario = replace(one.scenario, publishers=replace(one.scenario.publishers, count=200))
    seeking = publishers(scenario, people, 1)
    for mine, theirs in zip(searched(one, seeking), searched(three, seeking), strict=True):
        np.testing.assert_array_equal(mine, theirs)
