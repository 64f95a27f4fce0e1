"""The truth is true: against the definition, against DuckDB, and whatever the plan, the ranges or the threads."""

from __future__ import annotations

import itertools
import os

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gossamer.draws import mix
from gossamer.scenario.population import population
from gossamer.scenario.scenario import ChangeSettings, ChurnSettings, EventSettings, PopulationSettings, Scenario
from gossamer.scenario.workload import events
from gossamer.truth import judge
from gossamer.truth.grid import AXES, build, count_slab, sum_up, touch_all
from gossamer.truth.judge import by_node, count, current, holding, pairs, rings, timed
from tests.naive.truth import mixed, naive_hash, naive_pairs, worlds

compiled = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="too many pairs for plain Python")

World = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]]

BUSY = Scenario(
    cycles=30,
    population=PopulationSettings(nodes=80, attributes=2, subscriptions=2),
    events=EventSettings(count=120),
    churn=ChurnSettings(rate=0.03),
    changes=(ChangeSettings(share=0.3, cycle=10), ChangeSettings(share=0.3, cycle=20)),
)


def big(nodes: int, points: int, seed: int) -> World:
    """Narrow boxes, some wide ones and wildcards, one attribute of few values."""
    rng = np.random.default_rng(seed)
    centre, width = rng.random((nodes, 3)) * 1e6, rng.exponential(1e4, (nodes, 3))
    width[: nodes // 20] *= 40
    boxes = np.stack([centre - width, centre + width], axis=1).astype(np.int64)
    boxes[: nodes // 50] = np.array([[-(1 << 62)], [1 << 62]])
    where = (rng.random((points, 3)) * 1e6).astype(np.int64)
    boxes[:, :, 2] //= 200_000
    where[:, 2] //= 200_000
    return boxes, where, rng.integers(0, 1 << 64, nodes, dtype=np.uint64)


@given(worlds(), st.integers(1, 3))
@settings(max_examples=60)
def test_counts_hashes_and_pairs_are_those_of_the_definition(world: World, threads: int) -> None:
    boxes, points, keys = world
    wanted = naive_pairs(boxes, points)
    found = pairs(boxes, points, threads=threads)
    assert [found.members[a:b].tolist() for a, b in itertools.pairwise(found.offsets)] == wanted
    for few in (judge._FEW, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(judge, "_FEW", few)
            counted = count(boxes, keys, points, threads=threads)
        assert counted.counts.tolist() == [len(some) for some in wanted]
        assert counted.hashes.tolist() == [naive_hash([int(keys[b]) for b in some]) for some in wanted]


@given(worlds(), st.permutations(range(5)), st.lists(st.integers(1, 6), min_size=3, max_size=3))
@settings(max_examples=60)
def test_any_plan_gives_the_same_answer(world: World, order: list[int], cells: list[int]) -> None:
    boxes, points, keys = world
    axes = tuple(d for d in order if d < boxes.shape[2])[:AXES]
    grid = build(points, axes, tuple(cells[: len(axes)]))
    span, core = (np.empty((boxes.shape[0], AXES, 2), dtype=np.int32) for _ in range(2))
    alike = np.empty(boxes.shape[0], dtype=np.uint8)
    touch_all(grid, boxes, span, core, alike, 0, boxes.shape[0])
    counted, hashed = np.zeros(points.shape[0], dtype=np.int64), np.zeros(points.shape[0], dtype=np.uint64)
    below = int(grid.shape[1] * grid.shape[2])
    for x in range(int(grid.shape[0])):
        begin, end = int(grid.first[x * below]), int(grid.first[(x + 1) * below])
        counts, more = np.zeros(end - begin, dtype=np.int64), np.zeros(end - begin + 1, dtype=np.int64)
        hashes, rehash = counts.astype(np.uint64), more.astype(np.uint64)
        count_slab(grid, boxes, keys, span, core, alike, counts, hashes, more, rehash, x, x + 1)
        sum_up(counts, hashes, more, rehash, grid.order[begin:end], counted, hashed)
    wanted = naive_pairs(boxes, points)
    assert counted.tolist() == [len(some) for some in wanted]
    assert hashed.tolist() == [naive_hash([int(keys[b]) for b in some]) for some in wanted]


@compiled
def test_duckdb_finds_the_same_pairs() -> None:
    boxes, points, keys = big(3000, 4000, 1)
    subscriptions = pa.table({f"{side}{d}": boxes[:, s, d] for s, side in enumerate(("lo", "hi")) for d in range(3)})
    subscriptions = subscriptions.append_column("b", pa.array(range(3000)))
    published = pa.table({"e": range(4000), **{f"x{d}": points[:, d] for d in range(3)}})
    between = " and ".join(f"x{d} between lo{d} and hi{d}" for d in range(3))
    with duckdb.connect() as session:
        session.register("subscriptions", subscriptions)
        session.register("published", published)
        rows = session.execute(f"select e, b from published, subscriptions where {between} order by e, b").fetchnumpy()  # noqa: S608
    found = pairs(boxes, points)
    assert np.repeat(np.arange(4000), np.diff(found.offsets)).tolist() == rows["e"].tolist()
    assert found.members.tolist() == rows["b"].tolist()
    names = np.array([mixed(int(key)) for key in keys], dtype=np.uint64)[found.members]
    hashes = np.add.reduceat(np.append(names, np.uint64(0)), found.offsets[:-1])
    hashes[np.diff(found.offsets) == 0] = 0
    assert np.array_equal(count(boxes, keys, points).hashes, hashes)


@compiled
def test_threads_and_plans_do_not_change_a_big_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    boxes, points, keys = big(20_000, 30_000, 2)
    one, two = (count(boxes, keys, points, threads=threads) for threads in (1, 2))
    listed = [pairs(boxes, points, threads=threads) for threads in (1, 2)]
    monkeypatch.setattr(judge, "_FEW", 1 << 40)
    brute = count(boxes, keys, points)
    for other in (two, brute):
        assert np.array_equal(one.counts, other.counts)
        assert np.array_equal(one.hashes, other.hashes)
    assert np.array_equal(listed[0].members, listed[1].members)
    assert np.array_equal(np.diff(listed[0].offsets), one.counts)


@given(st.integers(0, (1 << 64) - 1))
def test_the_hash_is_the_one_of_the_draws(word: int) -> None:
    assert int(mix(np.uint64(word))) == mixed(word)


@pytest.mark.parametrize(("some", "few"), [(0, 5), (5, 0), (0, 0)])
def test_nothing_matches_nothing(some: int, few: int) -> None:
    boxes, points = np.zeros((some, 2, 2), dtype=np.int64), np.ones((few, 2), dtype=np.int64)
    assert count(boxes, np.zeros(some, dtype=np.uint64), points).counts.tolist() == [0] * few
    assert pairs(boxes, points).offsets.tolist() == [0] * (few + 1)


@pytest.mark.parametrize("cycle", [0, 9, 10, 20, 30])
def test_rings_hold_who_is_alive_and_wants_the_event_then(cycle: int) -> None:
    people = population(BUSY, 1)
    points = events(BUSY, people, 1).points
    wants: dict[int, int] = {row: row for row in range(people.key.shape[0])}
    for when, row, handle in zip(people.change_cycle, people.change_row, people.change_handle, strict=True):
        if when <= cycle:
            wants[int(row)] = int(handle)
    handles = [h for row, h in wants.items() if people.joins[row] <= cycle < people.leaves[row]]
    assert current(people, cycle).tolist() == handles
    ring = rings(people, points, cycle)
    wanted = naive_pairs(people.boxes[handles], points)
    assert ring.handles.tolist() == [handles[b] for some in wanted for b in some]
    assert ring.rows.tolist() == [people.owner[handles[b]] for some in wanted for b in some]
    nodes = by_node(people, ring)
    found = [nodes.members[a:b].tolist() for a, b in itertools.pairwise(nodes.offsets)]
    assert found == [sorted({int(people.node[people.owner[handles[b]]]) for b in some}) for some in wanted]


def test_time_as_an_attribute_says_the_same_as_looking_cycle_by_cycle() -> None:
    people = population(BUSY, 2)
    points = events(BUSY, people, 2).points
    cycles = np.arange(points.shape[0]) % 31
    boxes, dated = timed(people, points, cycles)
    found = pairs(boxes, dated)
    since, until = holding(people)
    assert (since <= until).all()
    for cycle in range(31):
        ring = rings(people, points, cycle)
        for e in np.flatnonzero(cycles == cycle):
            there = found.members[found.offsets[e] : found.offsets[e + 1]]
            assert sorted(there.tolist()) == sorted(ring.handles[ring.offsets[e] : ring.offsets[e + 1]].tolist())
