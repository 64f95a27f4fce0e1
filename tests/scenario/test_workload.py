"""Events are drawn evenly over what enough subscribers want, and have the rings the paper tells of."""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy import stats

from gossamer.arrays import NONE
from gossamer.errors import ScenarioError
from gossamer.scenario import workload
from gossamer.scenario.laws import GRID
from gossamer.scenario.population import population
from gossamer.scenario.scenario import EventSettings, JoinSettings, PopulationSettings, PublisherSettings, Scenario
from gossamer.scenario.workload import Events, events, nobody, publishers, starters
from tests.naive.scenario import naive_count

compiled = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="too many points for plain Python")


def world(nodes: int, attributes: int, law: str, count: int, minimum: int = 2) -> Scenario:
    people = PopulationSettings(nodes=nodes, attributes=attributes, centre=(law,))
    return Scenario(
        population=people,
        events=EventSettings(count=count, minimum_matches=minimum),
        publishers=PublisherSettings(count=50, nobody=20),
        joins=(JoinSettings(count=100, cycle=5),),
    )


@pytest.mark.parametrize(
    ("attributes", "law", "minimum"), [(1, "uniform", 3), (2, "power", 2), (3, "power", 2), (5, "power", 1)]
)
def test_matches_are_counted_among_the_starters(attributes: int, law: str, minimum: int) -> None:
    it = world(300, attributes, law, 100, minimum)
    people = population(it, 1)
    found = events(it, people, 1)
    boxes = people.boxes[starters(people)]
    assert found.matches.tolist() == [naive_count(boxes, point) for point in found.points]
    assert found.matches.min() >= minimum
    assert len(set(found.key.tolist())) == 100
    assert (found.publisher == NONE).all()
    assert (found.cycle == NONE).all()


def test_an_event_follows_from_its_number() -> None:
    many, few = world(300, 3, "power", 200), world(300, 3, "power", 20)
    people = population(many, 1)
    long, short = events(many, people, 1), events(few, people, 1)
    for name in Events._fields:
        assert np.array_equal(getattr(long, name)[:20], getattr(short, name))


@compiled
def test_both_ways_of_drawing_follow_one_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Picking boxes by volume and picking points of the cube, on a world where either will do."""
    it = world(60, 2, "power", 3000)
    people = population(it, 1)
    pool = workload._pool(people)
    drawn: list[Events] = []
    for reach in (pool.reach, pool.reach / pool.reach[-1] * 1.9):
        monkeypatch.setattr(workload, "_pool", lambda _, reach=reach: pool._replace(reach=reach))
        drawn.append(events(it, people, len(drawn)))
    for d in range(2):
        assert stats.ks_2samp(drawn[0].points[:, d], drawn[1].points[:, d]).pvalue > 0.001
    assert stats.ks_2samp(drawn[0].matches, drawn[1].matches).pvalue > 0.001


def test_events_that_nobody_or_few_want_have_exactly_so_many() -> None:
    it = world(300, 3, "power", 1)
    people = population(it, 1)
    found = nobody(it, people, 1)
    assert np.bincount(found.matches).tolist() == [20, 20, 20]
    boxes = people.boxes[starters(people)]
    assert [naive_count(boxes, point) for point in found.points] == found.matches.tolist()
    alive = (people.joins <= 40) & (people.leaves > 40)
    assert alive[found.publisher].all()


def test_a_world_without_such_places_gives_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload, "_FEWER_TRIES", 300)
    it = Scenario(
        population=PopulationSettings(nodes=50, attributes=1, width="fixed", width_limit=1.0, centre=("power",)),
        publishers=PublisherSettings(nobody=3),
    )
    found = nobody(it, population(it, 1), 1)
    assert all(k in (0, 1, 2) for k in found.matches)


def test_too_many_matches_asked_for_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload, "_TRIES", 300)
    it = world(20, 3, "uniform", 5, 21)
    with pytest.raises(ScenarioError, match=r"^events.minimum_matches: found no place"):
        events(it, population(it, 1), 1)


def test_events_beside_gossip_come_at_their_rate() -> None:
    it = Scenario(
        population=PopulationSettings(nodes=100), events=EventSettings(count=7, frozen=False, from_cycle=5, per_cycle=3)
    )
    assert events(it, population(it, 1), 1).cycle.tolist() == [5, 5, 5, 6, 6, 6, 7]


def test_publishers_start_from_rows_alive() -> None:
    it = world(100, 2, "power", 5)
    people = population(it, 1)
    found = publishers(it, people, 1)
    assert found.matches.min() >= 2
    assert len(set(found.publisher.tolist())) > 20
    assert (found.points <= GRID).all()


@compiled
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_rings_of_three_attributes_are_as_long_as_the_paper_says(seed: int) -> None:
    """Sub-2-Sub, section 5: from 2 to 246 subscribers."""
    it = world(10_000, 3, "power", 10_000)
    matches = events(it, population(it, seed), seed).matches
    assert matches.min() == 2
    assert 190 <= matches.max() <= 330
    assert 9 <= matches.mean() <= 13


@compiled
@pytest.mark.parametrize(("law", "least", "most"), [("power", 0.78, 0.92), ("uniform", 0.999, 1.0)])
def test_rings_of_five_attributes_are_trivially_short(law: str, least: float, most: float) -> None:
    """Sub-2-Sub, section 5: "rings are trivially short (2-3 subscribers)"; under power law not for every event."""
    it = world(10_000, 5, law, 3000)
    matches = events(it, population(it, 1), 1).matches
    assert least <= (matches <= 3).mean() <= most
