"""Parts of a world: laid aside after every tick, carried about and taken up again, they do what one world does."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.protocol.view import ASK, empty_mail
from gossamer.scenario.population import population
from gossamer.scenario.scenario import CrashSettings, EventSettings, Scenario
from gossamer.sim.checkpoint import Arrays
from gossamer.sim.part import Batch, hand_in, hand_out, lay_aside, part, piece, take_up
from gossamer.sim.run import fingerprint
from gossamer.system.catalogue import plan
from tests.sim.worlds import SYSTEMS, made, scenarios, still, turmoil, walk


def in_parts(scenario: Scenario, blocks: int, seed: int = 1) -> tuple[int, dict[str, Counter[str]]]:
    """The state of a world run in parts, and what was sent. Nothing of a part stays but its arrays, tick for tick."""
    it, people = plan(scenario.system, scenario.form, scenario.params), population(scenario, seed)
    blocks = min(blocks, people.key.shape[0])
    states: list[Arrays | None] = [None] * blocks
    post: dict[int, list[tuple[int, int, Batch]]] = defaultdict(list)
    sent: dict[str, Counter[str]] = defaultdict(Counter)
    last = scenario.cycles * scenario.timers.ticks
    found = 0
    for tick in range(last + 1):
        arrived = post.pop(tick, [])
        for b in range(blocks):
            world = part(scenario, it, people, seed, blocks, b)
            begun = (tick - 1) // scenario.timers.ticks if tick else -1
            if (state := states[b]) is not None:
                take_up(world, b, {path: column.copy() for path, column in state.items()}, tick, begun)
            for lane in world.lanes:
                hand_in(world, lane, [piece(batch, when, source, b) for when, source, batch in arrived if batch.lane == lane])
            if tick == last:
                world.begin()
                found += fingerprint(world)
                continue
            world.run_tick()
            assert world.check() == []
            for batch in hand_out(world, blocks):
                assert batch.tick > tick
                post[batch.tick].append((tick, b, batch))
            states[b] = lay_aside(world, b)
            for name, lane_of in world.lanes.items():
                sent[name].update(lane_of.sent)
    return found & (1 << 64) - 1, sent


@pytest.mark.parametrize(("system", "form"), SYSTEMS)
def test_parts_of_a_world_in_turmoil_are_the_world(system: str, form: str) -> None:
    scenario = replace(turmoil(system, form), events=EventSettings(count=0))
    whole = walk(made(scenario), scenario.cycles)
    for blocks in (1, 3):
        state, sent = in_parts(scenario, blocks)
        whole.begin()
        assert state == fingerprint(whole)
        assert sent == {name: Counter(lane.sent) for name, lane in whole.lanes.items()}


@settings(max_examples=25)
@given(scenarios(), st.integers(1, 7), st.integers(0, 3))
def test_parts_of_any_world_are_the_world(scenario: Scenario, blocks: int, seed: int) -> None:
    whole = walk(made(scenario, seed), scenario.cycles)
    whole.begin()
    state, sent = in_parts(scenario, blocks, seed)
    assert state == fingerprint(whole)
    assert sent == {name: Counter(lane.sent) for name, lane in whole.lanes.items()}


def test_mail_to_one_who_will_be_dead_goes_to_whoever_wrote_it() -> None:
    scenario = replace(still(nodes=100), crashes=(CrashSettings(share=0.5, cycle=2),))
    people = population(scenario, 1)
    it = plan(scenario.system, scenario.form, scenario.params)
    returned = 0
    for b in range(4):
        world = part(scenario, it, people, 1, 4, b)
        world.set_clock(3, 1)
        low, _ = world.span
        mail = empty_mail(200, 2)
        mail.sender[:], mail.to[:100], mail.asks[:] = low, range(100), ASK
        world.calendar[4]["cyclon"].append((mail, False))
        batch = hand_out(world, 4)[0]
        assert batch.ends[-1] == 100
        for block in range(4):
            to = batch.mail.to[batch.ends[block] : batch.ends[block + 1]]
            dead = people.leaves[to] <= 2
            assert block == b or not dead.any()
            assert ((25 * block <= to) & (to < 25 * block + 25))[~dead].all()
            returned += int(dead.sum())
    assert returned == 200
