"""Subscriptions that change: what it costs in the cycles after, and that nothing of it is left when a join would be over."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pytest

from gossamer.measure.delivery import hit_ratio, spam
from gossamer.measure.ring import links_in_place, rings_complete
from gossamer.scenario.scenario import ChangeSettings, EventSettings, PopulationSettings, Scenario
from gossamer.scenario.workload import events
from gossamer.sim.spreading import spread_frozen
from gossamer.sim.watch import Watch
from gossamer.sim.world import World
from tests.sim.worlds import made

SETTLED = 25
"""When subscriptions change: all rings are complete by then."""
BOUND = 25
"""Cycles in which 99 of 100 nodes join, and after which nothing is left of a change."""


@dataclass(frozen=True)
class Seen:
    """What a world is like so many cycles after the change."""

    spam: float
    hit_ratio: float
    rings_complete: float
    links_in_place: float
    outdated: int
    """Ring links for what somebody does not want any more."""


def outdated(world: World) -> int:
    state, found = world.lanes["rings"].state[0], 0
    for start, size in zip(state.start, state.size, strict=True):
        handles = state.handles[start : start + size]
        found += int((world.own[world.book.owner[handles]] != handles).sum())
    return found


def seen(world: World) -> Seen:
    """Look at rings and let all events spread, gossip standing still."""
    watch = Watch(world, events(world.scenario, world.people, 1))
    watch.learn()
    judged, spread = watch.judge(), spread_frozen(world, watch.events, ring=watch.rings)[0]
    return Seen(spam(spread), hit_ratio(spread), rings_complete(judged), links_in_place(judged), outdated(world))


@pytest.mark.parametrize("share", [0.1, 0.3])
@pytest.mark.parametrize("attributes", [1, 3])
@pytest.mark.parametrize("system", ["sub2sub", "gossamer"])
def test_spam_and_misses_after_a_change_are_gone_within_the_bound_of_a_join(system: str, attributes: int, share: float) -> None:
    world = made(
        Scenario(
            system=system,
            form="better",
            cycles=SETTLED + BOUND + 1,
            population=PopulationSettings(nodes=120, attributes=attributes),
            events=EventSettings(count=200),
            changes=(ChangeSettings(share=share, cycle=SETTLED),),
        )
    )
    for _ in range(SETTLED - 1):
        world.run_cycle()
    world.begin()
    assert seen(world) == Seen(0.0, 1.0, 1.0, 1.0, 0)
    world.run_cycle()
    after = []
    for since in range(BOUND + 1):
        world.begin()
        if since in (0, 3, 12, BOUND):
            after.append(seen(world))
        world.run_cycle()
    assert after[0].spam > 0.0
    assert after[0].hit_ratio < 1.0
    assert all(later.spam < sooner.spam or later.spam == 0.0 for sooner, later in pairwise(after[1:]))
    assert after[2].links_in_place > 0.99
    assert after[2].outdated < after[0].outdated / 20
    assert after[-1] == Seen(0.0, 1.0, 1.0, 1.0, 0)


def test_views_that_contradict_each_other_send_no_event_round_the_ring_for_ever() -> None:
    """Right after a change one row asks a second who lies between them, whose answer makes a third ask a fourth, and so on."""
    world = made(
        Scenario(
            system="gossamer",
            form="better",
            cycles=SETTLED + 6,
            population=PopulationSettings(nodes=120, attributes=1),
            events=EventSettings(count=400),
            changes=(ChangeSettings(share=0.3, cycle=SETTLED),),
        ),
        seed=2,
    )
    for _ in range(SETTLED):
        world.run_cycle()
    for _ in range(5):
        world.begin()
        spread = spread_frozen(world, events(world.scenario, world.people, 2))[0]
        assert int(spread.last_hop.max()) < 20
        assert int(spread.copies.sum()) < 2 * int(spread.delivered.sum())
        world.run_cycle()
