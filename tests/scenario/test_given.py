"""Worlds made of somebody's own interests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gossamer.arrays import NONE
from gossamer.errors import DataError, ScenarioError
from gossamer.scenario.given import Interests, Published, drawn, load, save, settled
from gossamer.scenario.scenario import ChangeSettings, ChurnSettings, EventSettings, PopulationSettings, Scenario

WORLD = Scenario(cycles=12, population=PopulationSettings(nodes=60, attributes=2), events=EventSettings(count=9))


def _interests() -> tuple[Interests, Published]:
    """Sixty nodes, every third of them with two boxes."""
    people, events = drawn(WORLD, 3)
    node = np.sort(np.concatenate([np.arange(60), np.arange(0, 60, 3)])).astype(np.int32)
    return Interests(people.boxes[node], node, people.scale), Published(events.points, events.matches)


def test_every_box_is_a_row_of_its_node() -> None:
    wanted, published = _interests()
    people, events = settled(WORLD, 3, wanted, published)
    assert np.array_equal(np.sort(people.key), people.key)
    assert np.unique(people.key).shape[0] == wanted.node.shape[0]
    assert np.array_equal(events.points, published.points)
    for node in range(60):
        mine = people.boxes[people.node == node]
        given = wanted.boxes[wanted.node == node]
        assert sorted(mine.tolist()) == sorted(given.tolist())


def test_newcomers_want_what_those_before_them_wanted_and_know_somebody_alive() -> None:
    wanted, published = _interests()
    people, _ = settled(replace(WORLD, churn=ChurnSettings(rate=0.05)), 3, wanted, published)
    new = np.flatnonzero(people.joins > 0)
    assert new.size
    for row in new:
        same = people.boxes[people.node == people.node[row] % 60]
        assert people.boxes[row].tolist() in same.tolist()
        known = people.contact[row]
        assert known != NONE
        assert people.joins[known] < people.joins[row] < people.leaves[known]


def test_starters_hang_together_by_whom_they_know() -> None:
    people, _ = settled(WORLD, 3, *_interests())
    seen = {0}
    while True:
        more = {i for i, known in enumerate(people.contact) if known in seen or i in seen}
        more |= {int(people.contact[i]) for i in more}
        if more == seen:
            break
        seen = more
    assert len(seen) == people.key.shape[0]


def test_what_was_given_is_read_back_from_a_file_and_a_truncated_one_refused(tmp_path: Path) -> None:
    wanted, published = _interests()
    save(tmp_path / "world.npz", wanted, published)
    again, events = load(tmp_path / "world.npz")
    assert np.array_equal(again.boxes, wanted.boxes)
    assert np.array_equal(again.node, wanted.node)
    assert np.array_equal(again.scale, wanted.scale)
    assert np.array_equal(events.points, published.points)
    whole = (tmp_path / "world.npz").read_bytes()
    (tmp_path / "world.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="truncated"):
        load(tmp_path / "world.npz")


@pytest.mark.parametrize(
    ("world", "path"),
    [
        (replace(WORLD, population=PopulationSettings(nodes=61, attributes=2)), "population.nodes"),
        (replace(WORLD, events=EventSettings(count=8)), "events.count"),
        (replace(WORLD, changes=(ChangeSettings(share=0.1, cycle=2),)), "changes"),
    ],
)
def test_a_scenario_that_does_not_fit_what_is_given_is_refused(world: Scenario, path: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        settled(world, 3, *_interests())
    assert refused.value.path == path
