"""Single joins: measured in a world that is afterwards as it was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gossamer.arrays import NONE
from gossamer.scenario.population import rejoining
from gossamer.scenario.scenario import RejoinSettings
from gossamer.scenario.workload import events
from gossamer.sim.checkpoint import capture
from gossamer.sim.rejoin import groups, rejoin
from tests.sim.worlds import made, still, walk


def test_a_join_takes_some_cycles_and_leaves_the_world_as_it_was() -> None:
    scenario = replace(still("gossamer", nodes=300), rejoins=RejoinSettings(count=12, from_cycle=6, limit_cycles=40))
    world = walk(made(scenario, blocks=2), 20)
    what, rows = events(scenario, world.people, 1), rejoining(scenario, world.people, 1)
    world.begin()
    before = capture(world)
    done = rejoin(world, rows, what, 40)
    again = rejoin(world, rows, what, 40)
    stopped = rejoin(world, rows, what, 40, go_on=lambda part: part < 0.5)
    assert done is not None
    assert again is not None
    assert stopped is None
    after = capture(world)
    assert before.keys() == after.keys()
    for name, column in before.items():
        np.testing.assert_array_equal(column, after[name])
    for one, other in zip(done, again, strict=True):
        np.testing.assert_array_equal(one, other)
    assert done.begun == 20
    for cycles in (done.done_from, done.done_to):
        assert (cycles != NONE).all()
        assert (cycles > 20).all()
        assert (cycles <= 45).all()


def test_rows_that_join_together_want_nothing_in_common() -> None:
    random = np.random.default_rng(1)
    boxes = np.sort(random.integers(0, 12, (60, 2, 2)), axis=1)
    parted = list(groups(boxes, 4))
    assert sorted(j for group in parted for j in group) == list(range(60))
    for group in parted:
        assert len(group) <= 4
        for a in group:
            for b in group:
                apart = (boxes[a, 1] < boxes[b, 0]) | (boxes[b, 1] < boxes[a, 0])
                assert a == b or apart.any()
