"""What is wrong with a world is said: each fault is put there and found."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gossamer.arrays import NONE
from gossamer.protocol.selection import BOTH
from gossamer.sim.world import World
from tests.sim.worlds import made, turmoil, walk


def alive_row(world: World) -> int:
    """A living row with some links."""
    return int(np.flatnonzero((world.alive != 0) & (world.lanes["rings"].state[0].size > 2))[0])


def know_itself(world: World) -> None:
    row = alive_row(world)
    world.lanes["cyclon"].state[0].handles[row, 0] = world.own[row]


def know_twice(world: World) -> None:
    row = alive_row(world)
    world.lanes["vicinity"].state[0].handles[row, :2] = world.own[row - 1]


def dead_that_know(world: World) -> None:
    dead = int(np.flatnonzero(world.alive == 0)[0])
    world.lanes["cyclon"].state[0].handles[dead, 0] = alive_row(world)


def unborn(world: World) -> None:
    later = int(np.flatnonzero(world.people.joins > world.cycle)[0])
    world.lanes["fingers"].state[0].handles[alive_row(world), 0] = later


def unsaid(world: World) -> None:
    row = alive_row(world)
    world.own[row] = row
    changed = world.people.change_handle[world.people.change_row == row]
    other = int(world.people.change_handle[-1]) if not changed.size else int(changed[0])
    owner = int(world.book.owner[other])
    world.own[owner] = owner
    near = world.lanes["vicinity"].state[0].handles
    near[(row + 1) % world.rows if owner == row else row, 0] = other


def free_but_locked(world: World) -> None:
    view = world.lanes["cyclon"].state[0]
    row = alive_row(world)
    view.handles[row, 3] = NONE
    view.pending[row] |= np.uint64(8)


def out_of_order(world: World) -> None:
    state = world.lanes["rings"].state[0]
    start = state.start[alive_row(world)]
    for column in (state.handles, state.offset):
        column[[start, start + 1]] = column[[start + 1, start]]


def wrong_offset(world: World) -> None:
    state = world.lanes["rings"].state[0]
    state.offset[state.start[alive_row(world)]] += np.uint64(1)


def unmarked(world: World) -> None:
    state = world.lanes["rings"].state[0]
    row = alive_row(world)
    state.stale[row] = 0
    state.marks[state.start[row]] &= ~BOTH


def too_large(world: World) -> None:
    state = world.lanes["rings"].state[0]
    row = alive_row(world)
    state.size[row] = state.room[row] + 1


@pytest.mark.parametrize(
    ("harm", "fault"),
    [
        (know_itself, "a row knows itself"),
        (know_twice, "a row knows a peer twice"),
        (dead_that_know, "a dead row knows somebody"),
        (unborn, "a row knows one who is not yet born"),
        (unsaid, "a row knows what nobody has said yet"),
        (free_but_locked, "a free place is locked"),
        (out_of_order, "ring links are out of order"),
        (wrong_offset, "an offset is not the distance of keys"),
        (unmarked, "a ring link is next for no event"),
        (too_large, "a ring view is larger than its room"),
    ],
)
def test_a_fault_is_found(harm: Callable[[World], None], fault: str) -> None:
    world = walk(made(turmoil()), 7)
    harm(world)
    assert any(found.endswith(fault) for found in world.check())
