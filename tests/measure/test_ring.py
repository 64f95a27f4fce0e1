"""Links in place are those of the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gossamer.measure.ring import (
    PREDECESSOR,
    SUCCESSOR,
    Judged,
    Targets,
    arrange,
    judge,
    links_in_place,
    links_of,
    rings_complete,
    targets,
)
from gossamer.scenario.population import Population, book, population
from gossamer.scenario.scenario import ChangeSettings, CrashSettings, EventSettings, PopulationSettings, Scenario
from gossamer.scenario.workload import events
from gossamer.truth.judge import Rings, rings
from tests.naive.measure import naive_link

WORLD = Scenario(
    cycles=20,
    population=PopulationSettings(nodes=60, attributes=1),
    events=EventSettings(count=25),
    crashes=(CrashSettings(share=0.2, cycle=6),),
    changes=(ChangeSettings(share=0.3, cycle=5),),
)
PEOPLE = population(WORLD, 1)
POINTS = events(WORLD, PEOPLE, 1).points


def aimed(ring: Rings) -> Targets:
    return targets(ring.offsets, ring.rows, PEOPLE.key.shape[0])


def judged(views: list[list[int]], ring: Rings, points: NDArray[np.int64], people: Population = PEOPLE) -> Judged:
    """Judge views given as lists, laid out with gaps between them."""
    starts = np.cumsum([0] + [len(view) + 2 for view in views])[:-1]
    arena = np.full(int(starts[-1]) + len(views[-1]) + 2, -7, dtype=np.int32)
    for start, view in zip(starts, views, strict=True):
        arena[start : start + len(view)] = view
    counts = np.array([len(view) for view in views], dtype=np.int32)
    arranged = arrange(starts.astype(np.int64), counts, arena, book(people))
    one, two = (judge(arranged, points, aimed(ring), threads=threads) for threads in (1, 2))
    assert np.array_equal(one.right, two.right)
    assert np.array_equal(one.flags, two.flags)
    return one


@given(st.integers(0, 20), st.data())
@settings(max_examples=40)
def test_a_link_is_the_first_match_in_the_view(cycle: int, data: st.DataObject) -> None:
    rows, handles = PEOPLE.key.shape[0], PEOPLE.owner.shape[0]
    picks = st.lists(st.integers(0, handles - 1), max_size=25, unique=True)
    drawn = data.draw(st.lists(picks, min_size=rows, max_size=rows))
    views = [[h for h in view if PEOPLE.owner[h] != row] for row, view in enumerate(drawn)]
    ring = rings(PEOPLE, POINTS, cycle)
    found = judged(views, ring, POINTS)
    keys = [int(key) for key in PEOPLE.key]
    flags, right = [], []
    for e, point in enumerate(POINTS):
        members = ring.rows[ring.offsets[e] : ring.offsets[e + 1]].tolist()
        good = 0
        for m, row in enumerate(members):
            view = [
                (
                    keys[PEOPLE.owner[h]],
                    int(PEOPLE.owner[h]),
                    bool((PEOPLE.boxes[h, 0] <= point).all() and (point <= PEOPLE.boxes[h, 1]).all()),
                )
                for h in views[row]
            ]
            ahead = naive_link(keys[row], view, ahead=True) == members[(m + 1) % len(members)]
            back = naive_link(keys[row], view, ahead=False) == members[m - 1]
            flag = (SUCCESSOR * ahead | PREDECESSOR * back) if len(members) > 1 else 0
            flags.append(flag)
            good += flag.bit_count()
        right.append(good)
    assert found.flags.tolist() == flags
    assert found.right.tolist() == right


def test_views_of_everybody_complete_all_rings_and_empty_ones_none() -> None:
    ring = rings(PEOPLE, POINTS, 0)
    rows = range(PEOPLE.key.shape[0])
    full = judged([[other for other in rows if other != row] for row in rows], ring, POINTS)
    assert (links_in_place(full), rings_complete(full)) == (1.0, 1.0)
    assert full.wanted.tolist() == (2 * np.diff(ring.offsets)).tolist()
    empty = judged([[] for _ in rows], ring, POINTS)
    assert (links_in_place(empty), rings_complete(empty)) == (0.0, 0.0)


@pytest.mark.parametrize("corner", [0, 1])
def test_a_corner_of_a_box_is_inside_it(corner: int) -> None:
    points = PEOPLE.boxes[:60, corner]
    ring = rings(PEOPLE, points, 0)
    assert (np.diff(ring.offsets) > 1).any()
    full = judged([[other for other in range(60) if other != row] for row in range(60)], ring, points)
    assert (links_in_place(full), rings_complete(full)) == (1.0, 1.0)
    assert all(row in ring.rows[ring.offsets[row] : ring.offsets[row + 1]] for row in range(60))


def test_a_dead_row_in_a_view_harms_only_where_it_would_be_chosen() -> None:
    ring = rings(PEOPLE, POINTS, 6)
    alive = np.flatnonzero(PEOPLE.leaves > 6).tolist()
    everybody = judged([[o for o in range(60) if o != row] for row in range(60)], ring, POINTS)
    only_alive = judged([[o for o in alive if o != row] for row in range(60)], ring, POINTS)
    assert 0.5 < links_in_place(everybody) < links_in_place(only_alive) <= 1.0


def test_links_of_a_row_are_those_from_it_and_those_to_it() -> None:
    ring = rings(PEOPLE, POINTS, 0)
    row = int(np.bincount(ring.rows).argmax())
    full = [[other for other in range(60) if other != mine] for mine in range(60)]
    outgoing, incoming, wanted = links_of(judged(full, ring, POINTS), aimed(ring), ring.offsets, row)
    assert outgoing == incoming == wanted == 2 * (ring.rows == row).sum()
    alone = [view if mine != row else [] for mine, view in enumerate(full)]
    assert links_of(judged(alone, ring, POINTS), aimed(ring), ring.offsets, row) == (0, wanted, wanted)
    unknown = [[other for other in view if other != row] for view in full]
    assert links_of(judged(unknown, ring, POINTS), aimed(ring), ring.offsets, row) == (wanted, 0, wanted)


def test_rings_of_one_ask_for_nothing() -> None:
    it = Judged(np.zeros(2, np.int64), np.zeros(2, np.int32), np.zeros(1, np.uint8))
    assert (links_in_place(it), rings_complete(it)) == (1.0, 1.0)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 60])
def test_a_view_is_put_in_cyclic_order(size: int) -> None:
    it = book(PEOPLE)
    rng = np.random.default_rng(size)
    handles = np.concatenate([rng.permutation(60)[:size] for _ in range(60)]).astype(np.int32)
    views = arrange(np.arange(60) * size, np.full(60, size, np.int32), handles, it)
    for row in range(60):
        mine = views.rows[views.starts[row] : views.starts[row + 1]].tolist()
        given_ = handles[row * size : (row + 1) * size].tolist()
        assert mine == sorted(given_, key=lambda h: (int(it.key[h]) - int(it.key[row])) % (1 << 64))
