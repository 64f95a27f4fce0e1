"""Cyclon in a world of its own keeps a random graph, and a fairer one.

Ten thousand views of 20 must have the clustering and the paths of a random graph and in-degrees that differ by less (DESIGN:
sd 4.5 in a random graph). Judged by scipy and networkx, which know nothing of ours.
"""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from gossamer.arrays import NONE
from gossamer.measure.overlay import overlay
from gossamer.protocol import cyclon
from gossamer.scenario.population import population
from gossamer.scenario.scenario import (
    ChurnSettings,
    LatencySettings,
    LossSettings,
    PopulationSettings,
    Scenario,
    TimerSettings,
)
from gossamer.sim.world import World
from gossamer.system.plan import Layer, Plan

NODES, CYCLES = 10_000, 100
SAMPLES = Plan(name="samples", form="faithful", layers=(Layer(name="cyclon", params=cyclon.Params()),))

# An exchange takes two ticks of travel; in the third, and until the next timer, none is under way.
LOCKSTEP = Scenario(cycles=CYCLES, population=PopulationSettings(nodes=NODES, attributes=1), timers=TimerSettings(ticks=3))
OFFSETS = replace(LOCKSTEP, timers=TimerSettings(ticks=9, phases=3))
LATENCY = replace(LOCKSTEP, timers=TimerSettings(ticks=7), latency=LatencySettings(low=1, high=3))


def views_of(scenario: Scenario, seed: int) -> NDArray[np.int32]:
    """Who knows whom at the end, no exchange being under way."""
    world = World(scenario, SAMPLES, population(scenario, seed), seed)
    for _ in range(CYCLES):
        world.run_cycle()
    assert not any(world.calendar.values())
    assert world.check() == []
    handles = world.lanes["cyclon"].state[0].handles
    assert isinstance(handles, np.ndarray)
    return handles


@pytest.mark.parametrize("scenario", [LOCKSTEP, OFFSETS, LATENCY], ids=["lockstep", "offsets", "latency"])
def test_samples_make_a_random_graph_with_nearly_equal_in_degrees(scenario: Scenario) -> None:
    views = views_of(scenario, 1)
    assert (views != NONE).all()
    assert (views != np.arange(NODES)[:, None]).all()
    assert (np.diff(np.sort(views, axis=1), axis=1) > 0).all()
    assert np.bincount(views.ravel(), minlength=NODES).std() <= 2.1

    ones = np.ones(views.size, np.int32)
    links = sparse.csr_array((ones, (np.repeat(np.arange(NODES), views.shape[1]), views.ravel())), shape=(NODES, NODES))
    graph = ((links + links.T) > 0).astype(np.int32)
    hops = csgraph.shortest_path(graph, unweighted=True, indices=np.arange(0, NODES, 100))
    assert hops.sum() / (hops.size - hops.shape[0]) == pytest.approx(2.85, abs=0.01)
    clustering = nx.clustering(nx.from_scipy_sparse_array(graph), range(0, NODES, 5))
    assert np.mean(list(clustering.values())) == pytest.approx(0.0038, abs=0.0002)

    ours = overlay(views)
    assert (ours.out_degree_min, ours.self_links, ours.duplicates, ours.reached) == (20, 0, 0, 1.0)
    assert ours.in_degree_sd == pytest.approx(np.bincount(views.ravel(), minlength=NODES).std())
    assert ours.clustering == pytest.approx(np.mean(list(clustering.values())), abs=0.0001)
    assert ours.mean_path == pytest.approx(hops.sum() / (hops.size - hops.shape[0]), abs=0.005)


def test_under_churn_and_loss_hardly_anybody_is_cut_off_and_the_dead_fade() -> None:
    calm = replace(LOCKSTEP.population, nodes=2000)
    scenario = replace(LOCKSTEP, population=calm, churn=ChurnSettings(rate=0.01), loss=LossSettings(probability=0.05))
    world = World(scenario, SAMPLES, population(scenario, 1), 1)
    for _ in range(CYCLES):
        world.run_cycle()
    assert world.check() == []
    views = world.lanes["cyclon"].state[0].handles[world.alive != 0]
    known = views[views != NONE]
    # An entry lives about 20 cycles, so a fifth would be dead, were none dropped.
    assert (world.alive[world.book.owner[known]] == 0).mean() < 0.15
    size = (views != NONE).sum(axis=1)
    assert np.median(size) >= 18
    assert (size == 0).sum() <= 20  # newcomers whose contact died before it had answered; there were 2,000
