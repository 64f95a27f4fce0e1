"""Any row is computable alone, and the rows are those the scenario asks for."""

from __future__ import annotations

import hashlib
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.arrays import NONE
from gossamer.scenario.laws import GRID
from gossamer.scenario.lives import live
from gossamer.scenario.population import Population, _gather, _scatter, book, part, plan, population, rejoining
from gossamer.scenario.scenario import (
    ChangeSettings,
    ChurnSettings,
    CrashSettings,
    JoinSettings,
    PopulationSettings,
    RejoinSettings,
    Scenario,
    SessionSettings,
    TimerSettings,
)

RICH = Scenario(
    cycles=40,
    population=PopulationSettings(nodes=60, subscriptions=3, wildcards=0.02, wildcards_per_attribute=0.1, wide=0.05),
    timers=TimerSettings(ticks=100, phases=10),
    churn=ChurnSettings(rate=0.02, silent=0.5),
    crashes=(CrashSettings(share=0.2, cycle=20),),
    joins=(JoinSettings(count=9, cycle=25),),
    sessions=SessionSettings(law="exponential", mean=60.0),
    changes=(ChangeSettings(share=0.2, cycle=12), ChangeSettings(share=0.3, cycle=10)),
)


def digest(people: Population) -> str:
    whole = hashlib.blake2b(digest_size=16)
    for column in people:
        whole.update(np.ascontiguousarray(column).tobytes())
    return whole.hexdigest()


@given(st.integers(1, 3000), st.integers(0, (1 << 64) - 1))
@settings(max_examples=30)
def test_places_are_a_permutation_and_can_be_found_back(size: int, seed: int) -> None:
    key = np.uint64(seed)
    places = [_scatter(key, i, size) for i in range(size)]
    assert sorted(places) == list(range(size))
    assert [_gather(key, place, size) for place in places] == list(range(size))


@given(st.lists(st.integers(0, 200), max_size=6))
@settings(max_examples=20)
def test_any_cutting_into_ranges_gives_the_same_rows(cuts: list[int]) -> None:
    lives = live(RICH, 5)
    it = plan(RICH, 5, lives)
    bounds = [0, *sorted(cuts), it.rows]
    parts = [part(it, lives, start, stop) for start, stop in itertools.pairwise(bounds)]
    for whole, *pieces in zip(part(it, lives, 0, it.rows), *parts, strict=True):
        assert np.array_equal(whole, np.concatenate(pieces))


def test_plain_python_makes_the_same_world_to_the_bit() -> None:
    """The same code asked in a fresh interpreter without the compiler."""
    program = """
import hashlib, warnings
import numpy as np
warnings.simplefilter("ignore", RuntimeWarning)
from gossamer.scenario.network import delay, lost
from gossamer.scenario.scenario import EventSettings, PublisherSettings
from gossamer.scenario.workload import events, nobody
from tests.scenario.test_population import RICH, digest
from gossamer.scenario.population import population
import dataclasses
world = dataclasses.replace(RICH, events=EventSettings(count=20), publishers=PublisherSettings(nobody=5))
people = population(world, 3)
told = [digest(people), digest(events(world, people, 3)), digest(nobody(world, people, 3))]
one, two = people.key[0], people.key[1]
told += [int(delay(np.uint64(3), one, two, 1, 50)), [bool(lost(np.uint64(3), one, two, t, 1, 0, one)) for t in range(20)]]
print(people.key.shape[0], told)
"""
    answers = []
    for off in ("0", "1"):
        env = {**os.environ, "NUMBA_DISABLE_JIT": off}
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=env)
        answers.append(done.stdout)
    assert answers[0] == answers[1]
    assert int(answers[0].split()[0]) > 200


def test_rows_stand_in_the_order_of_their_keys_and_belong_to_nodes() -> None:
    people = population(RICH, 1)
    rows = people.key.shape[0]
    assert (people.key[1:] > people.key[:-1]).all()
    assert set(np.bincount(people.node).tolist()) == {3}
    for node in range(people.node.max() + 1):
        mine = people.node == node
        assert len(set(zip(people.joins[mine], people.leaves[mine], people.silent[mine], strict=True))) == 1
    assert set(people.phase.tolist()) == set(range(0, 100, 10))
    assert (people.owner[:rows] == np.arange(rows)).all()


def test_the_start_is_one_piece_and_newcomers_know_somebody_alive() -> None:
    people = population(RICH, 4)
    start = people.joins == 0
    assert (people.joins[people.contact[start]] == 0).all()
    seen, edge = {int(np.flatnonzero(start)[0])}, [int(np.flatnonzero(start)[0])]
    around: dict[int, list[int]] = {}
    for row in np.flatnonzero(start):
        around.setdefault(int(row), []).append(int(people.contact[row]))
        around.setdefault(int(people.contact[row]), []).append(int(row))
    while edge:
        fresh = [other for other in around[edge.pop()] if other not in seen]
        seen.update(fresh)
        edge.extend(fresh)
    assert len(seen) == start.sum()
    late = ~start
    met = people.contact[late]
    assert late.any()
    assert (people.joins[met] < people.joins[late]).all()
    assert (people.leaves[met] > people.joins[late]).all()


def test_a_newcomer_to_a_dead_world_knows_nobody() -> None:
    world = Scenario(
        population=PopulationSettings(nodes=5),
        crashes=(CrashSettings(share=1.0, cycle=3),),
        joins=(JoinSettings(count=1, cycle=5),),
    )
    people = population(world, 1)
    assert people.contact[people.joins == 5].tolist() == [NONE]


def test_changed_subscriptions_are_later_versions_in_order_of_time() -> None:
    people = population(RICH, 2)
    rows = people.key.shape[0]
    later = np.arange(rows, people.owner.shape[0])
    assert people.change_handle.tolist() == later.tolist()
    assert people.change_row.tolist() == people.owner[later].tolist()
    assert (np.diff(people.change_cycle) >= 0).all()
    assert set(people.version.tolist()) == {0, 1, 2}
    alive = (people.joins <= 10) & (people.leaves > 10)
    assert (people.change_cycle == 10).sum() == round(0.3 * alive.sum())
    for handle in later:
        earlier = [h for h in range(handle) if people.owner[h] == people.owner[handle]]
        assert people.version[handle] == len(earlier)
    kept = book(people)
    assert kept.versioned == 1
    assert (kept.key[later] == people.key[people.change_row]).all()


def test_boxes_lie_in_the_world_and_follow_the_settings() -> None:
    settings_ = PopulationSettings(nodes=4000, attributes=2, wildcards=0.1, wide=0.2, wide_width=0.5, width="fixed")
    people = population(Scenario(population=settings_), 1)
    assert book(people).versioned == 0
    width = people.boxes[:, 1] - people.boxes[:, 0]
    assert people.boxes.min() >= 0
    assert people.boxes.max() <= GRID
    assert (width >= 0).all()
    assert (width == GRID).all(axis=1).mean() == pytest.approx(0.1, abs=0.02)
    assert (width > GRID * 0.2).all(axis=1).mean() == pytest.approx(0.1 + 0.9 * 0.2, abs=0.03)


def test_those_who_join_again_are_sampled_without_repetition() -> None:
    world = Scenario(population=PopulationSettings(nodes=50), rejoins=RejoinSettings(count=20))
    rows = rejoining(world, population(world, 1), 1)
    assert len(set(rows.tolist())) == 20
    everybody = Scenario(population=PopulationSettings(nodes=50), rejoins=RejoinSettings(everybody=True))
    assert sorted(rejoining(everybody, population(everybody, 1), 1).tolist()) == list(range(50))


def test_two_seeds_are_two_worlds() -> None:
    assert digest(population(RICH, 1)) != digest(population(RICH, 2))
