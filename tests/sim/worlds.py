"""Small worlds to try the simulator in: one in which everything happens, and a strategy of any."""

from __future__ import annotations

from typing import Final

import numpy as np
from hypothesis import strategies as st

from gossamer.scenario.population import population
from gossamer.scenario.scenario import (
    ChangeSettings,
    ChurnSettings,
    CrashSettings,
    EventSettings,
    JoinSettings,
    LatencySettings,
    LossSettings,
    PartitionSettings,
    PopulationSettings,
    PublisherSettings,
    RejoinSettings,
    Scenario,
    SessionSettings,
    TimerSettings,
)
from gossamer.scenario.workload import events
from gossamer.sim.spreading import publish_now
from gossamer.sim.world import World
from gossamer.system.catalogue import plan

__all__ = ["SYSTEMS", "made", "scenarios", "still", "turmoil", "walk"]

SYSTEMS: Final = [("sub2sub", "faithful"), ("sub2sub", "better"), ("gossamer", "faithful"), ("gossamer", "better")]


def still(system: str = "sub2sub", form: str = "better", cycles: int = 6, nodes: int = 60) -> Scenario:
    """A world in which nothing happens but gossip, and at its end events, a join and searches."""
    return Scenario(
        system=system,
        form=form,
        cycles=cycles,
        population=PopulationSettings(nodes=nodes, attributes=2),
        events=EventSettings(count=8),
        rejoins=RejoinSettings(count=3, from_cycle=cycles, limit_cycles=3),
        publishers=PublisherSettings(count=5, nobody=2, from_cycle=cycles),
    )


def turmoil(system: str = "gossamer", form: str = "better", nodes: int = 80) -> Scenario:
    """A world in which everything happens that a scenario can ask for, and events travel through it."""
    return Scenario(
        system=system,
        form=form,
        cycles=14,
        population=PopulationSettings(nodes=nodes, attributes=2, subscriptions=2, wildcards=0.01),
        events=EventSettings(count=60, frozen=False, from_cycle=2, per_cycle=6),
        timers=TimerSettings(ticks=6, phases=3),
        latency=LatencySettings(low=1, high=4),
        loss=LossSettings(probability=0.05),
        churn=ChurnSettings(rate=0.03, silent=0.3),
        crashes=(CrashSettings(share=0.3, cycle=8, silent=0.5),),
        joins=(JoinSettings(count=20, cycle=10),),
        sessions=SessionSettings(law="pareto", mean=40.0, silent=0.5),
        changes=(ChangeSettings(share=0.3, cycle=5), ChangeSettings(share=0.2, cycle=11)),
        partitions=(PartitionSettings(share=0.3, from_cycle=6, to_cycle=9),),
    )


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Any small world without events."""
    share = st.sampled_from([0.0, 0.1, 0.5, 1.0])
    rare = st.sampled_from([0.0, 0.02, 0.2])
    cycles = draw(st.integers(3, 12))
    when = st.integers(0, cycles)
    ticks = draw(st.integers(1, 6))
    low = draw(st.integers(1, 3))
    system, form = draw(st.sampled_from(SYSTEMS))
    begun = draw(st.integers(0, cycles - 1))
    return Scenario(
        system=system,
        form=form,
        cycles=cycles,
        population=PopulationSettings(
            nodes=draw(st.integers(2, 60)),
            attributes=draw(st.integers(1, 3)),
            subscriptions=draw(st.integers(1, 3)),
            wildcards=draw(rare),
        ),
        events=EventSettings(count=0),
        timers=TimerSettings(ticks=ticks, phases=draw(st.integers(1, ticks))),
        latency=LatencySettings(low=low, high=low + draw(st.integers(0, 4))),
        loss=LossSettings(probability=draw(rare)),
        churn=ChurnSettings(rate=draw(rare), silent=draw(share)),
        crashes=tuple(
            CrashSettings(share=draw(share), cycle=draw(when), silent=draw(share)) for _ in range(draw(st.integers(0, 2)))
        ),
        joins=tuple(JoinSettings(count=draw(st.integers(1, 20)), cycle=draw(when)) for _ in range(draw(st.integers(0, 1)))),
        sessions=SessionSettings(
            law=draw(st.sampled_from(["none", "none", "exponential", "constant"])), mean=5.0, silent=draw(share)
        ),
        changes=tuple(ChangeSettings(share=draw(share), cycle=draw(when)) for _ in range(draw(st.integers(0, 3)))),
        partitions=tuple(
            PartitionSettings(share=0.4, from_cycle=begun, to_cycle=begun + 2) for _ in range(draw(st.integers(0, 1)))
        ),
    )


def made(scenario: Scenario, seed: int = 1, *, blocks: int = 1, threads: int = 1) -> World:
    """The world of a scenario."""
    people = population(scenario, seed)
    it = plan(scenario.system, scenario.form, scenario.params)
    return World(scenario, it, people, seed, blocks=min(blocks, people.key.shape[0]), threads=threads)


def walk(world: World, cycles: int) -> World:
    """Let cycles pass, and find nothing wrong after any; a few events are published in each, where there are any."""
    count = world.scenario.events.count
    what = events(world.scenario, world.people, int(world.seed)) if count else None
    for _ in range(cycles):
        if what is not None:
            world.begin()
            publish_now(world, what, np.flatnonzero(what.cycle == world.cycle))
        world.run_cycle()
        assert world.check() == []
    return world
