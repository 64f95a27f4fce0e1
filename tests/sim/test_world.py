"""The world: who lives when, what becomes of mail, and what holds whatever happens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from gossamer.arrays import NONE
from gossamer.protocol.view import BOUNCE
from gossamer.scenario.laws import threshold
from gossamer.scenario.network import side
from gossamer.scenario.scenario import ChangeSettings, CrashSettings, JoinSettings, PartitionSettings, Scenario
from gossamer.sim.run import fingerprint
from tests.sim.worlds import SYSTEMS, made, scenarios, still, turmoil, walk


@pytest.mark.parametrize(("system", "form"), SYSTEMS)
def test_nothing_is_ever_wrong_with_a_world_in_turmoil(system: str, form: str) -> None:
    for seed in (1, 2):
        scenario = turmoil(system, form)
        walk(made(scenario, seed, blocks=2), scenario.cycles)


@settings(max_examples=40)
@given(scenarios())
def test_nothing_is_ever_wrong_with_any_world(scenario: Scenario) -> None:
    walk(made(scenario, blocks=3), scenario.cycles)


@settings(max_examples=15)
@given(scenarios())
def test_neither_blocks_nor_threads_can_be_seen(scenario: Scenario) -> None:
    one = walk(made(scenario), scenario.cycles)
    other = walk(made(scenario, blocks=4, threads=2), scenario.cycles)
    other.close()
    assert fingerprint(one) == fingerprint(other)
    for name, lane in one.lanes.items():
        assert lane.sent == other.lanes[name].sent


def test_seeds_can_be_seen() -> None:
    assert fingerprint(walk(made(still(), 1), 3)) != fingerprint(walk(made(still(), 2), 3))


def test_births_and_deaths_are_the_registers() -> None:
    scenario = turmoil()
    world = made(scenario)
    people = world.people
    for cycle in range(scenario.cycles):
        turn = world.begin()
        assert set(turn.died) == set(np.flatnonzero(people.leaves == cycle))
        assert set(turn.born) == set(np.flatnonzero(people.joins == cycle))
        np.testing.assert_array_equal(world.alive != 0, (people.joins <= cycle) & (cycle < people.leaves))
        assert world.begin().quiet
        world.run_cycle()
        dead = np.flatnonzero(world.alive == 0)
        for name in ("cyclon", "vicinity", "fingers"):
            assert (world.lanes[name].state[0].handles[dead] == NONE).all()
        assert (world.lanes["rings"].state[0].size[dead] == 0).all()


def test_a_newcomer_knows_its_contact_and_nobody_else() -> None:
    scenario = replace(still(), joins=(JoinSettings(count=10, cycle=3),))
    world = walk(made(scenario, blocks=2), 3)
    born = world.begin().born
    assert born.size == 10
    for row in born.tolist():
        block = next(block for block in world.blocks if block.base <= row < block.base + block.rows)
        handles = world.lanes["cyclon"].state[block.number].handles[row - block.base]
        assert handles[handles != NONE].tolist() == [world.people.contact[row]]
        assert world.alive[world.people.contact[row]]


def test_whoever_changes_its_mind_is_called_by_its_new_descriptor() -> None:
    scenario = replace(still("gossamer"), changes=(ChangeSettings(share=0.5, cycle=2), ChangeSettings(share=0.5, cycle=4)))
    world = made(scenario, blocks=2)
    seen = 0
    for cycle in range(scenario.cycles):
        before = world.own.copy()
        turn = world.begin()
        changed = np.flatnonzero(world.own != before)
        assert changed.tolist() == turn.changed.tolist()
        assert (changed.size > 0) == (cycle in (2, 4))
        np.testing.assert_array_equal(world.book.version[world.own[changed]], world.book.version[before[changed]] + 1)
        np.testing.assert_array_equal(world.book.owner[world.own], np.arange(world.rows))
        for block in world.blocks:
            stale = world.lanes["rings"].state[block.number].stale
            mine = changed[(changed >= block.base) & (changed < block.base + block.rows)] - block.base
            assert stale[mine].all()
        seen += changed.size
        walk(world, 1)
    assert seen > 40


def test_old_descriptors_die_out() -> None:
    scenario = replace(still("gossamer", nodes=100), changes=(ChangeSettings(share=0.3, cycle=5),))
    world = walk(made(scenario), 5)
    world.begin()
    for name in ("cyclon", "vicinity"):
        handles = world.lanes[name].state[0].handles
        known = handles[handles != NONE]
        assert (world.own[world.book.owner[known]] != known).any()
    walk(world, 25)
    links = world.lanes["rings"].state[0]
    places = np.concatenate([np.arange(begin, begin + size) for begin, size in zip(links.start, links.size, strict=True)])
    for handles in (world.lanes["cyclon"].state[0].handles, world.lanes["vicinity"].state[0].handles, links.handles[places]):
        known = handles[handles != NONE]
        assert (world.own[world.book.owner[known]] != known).mean() < 0.005
    walk(world, 20)
    handles = world.lanes["fingers"].state[0].handles
    known = handles[handles != NONE]
    assert (world.own[world.book.owner[known]] != known).mean() < 0.005


@pytest.mark.parametrize("silent", [0.0, 1.0])
def test_mail_to_the_dead_comes_back_and_mail_to_the_silent_does_not(silent: float) -> None:
    scenario = replace(still(nodes=100), crashes=(CrashSettings(share=0.3, cycle=2, silent=silent),))
    world = walk(made(scenario), 2)
    world.run_tick()  # those who are left write to all, the dead among them
    for name in ("cyclon", "vicinity", "rings"):
        lane = world.lanes[name]
        mail = world.collect(lane, world.calendar[world.tick].pop(name))
        assert mail is not None
        back = (mail.to != NONE) & (mail.asks == BOUNCE)
        assert back.any() == (silent == 0.0)
        assert lane.sent["failed"] > 0
        delivered = mail.to != NONE
        assert world.alive[world.book.owner[mail.to[delivered]]].all()
        assert (world.alive[world.book.owner[mail.sender[back]]] == 0).all()


def test_nothing_passes_a_wall_while_it_stands() -> None:
    scenario = replace(still(nodes=100), partitions=(PartitionSettings(share=0.4, from_cycle=2, to_cycle=4),))
    world = made(scenario)
    sides = np.array([side(world.seed, np.uint64(node), 0, threshold(0.4)) for node in world.people.node.tolist()])
    assert 20 < sides.sum() < 60
    for cycle in range(6):
        world.run_cycle()
        crossing = 0
        for mails in world.calendar.values():
            for batches in mails.values():
                for mail, _ in batches:
                    written = mail.to != NONE
                    sender, to = (sides[world.book.owner[who[written]]] for who in (mail.sender, mail.to))
                    crossing += int((sender != to).sum())
        assert (crossing == 0) == (2 <= cycle < 4)
