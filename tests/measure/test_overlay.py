"""Statistics of overlays agree with networkx, and with what is known of random graphs."""

from __future__ import annotations

import os

import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray

from gossamer.arrays import NONE
from gossamer.measure.overlay import graph, overlay

compiled = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="too many walks for plain Python")


def random_views(nodes: int, size: int, seed: int, holes: float = 0.0) -> NDArray[np.int32]:
    """Views drawn blindly, duplicates and self links included."""
    rng = np.random.default_rng(seed)
    views = rng.integers(0, nodes, (nodes, size), dtype=np.int32)
    views[rng.random(views.shape) < holes] = NONE
    return views


@pytest.mark.parametrize(("nodes", "size", "holes"), [(40, 1, 0.3), (60, 3, 0.0), (200, 8, 0.2)])
def test_statistics_are_those_of_networkx(nodes: int, size: int, holes: float) -> None:
    views = random_views(nodes, size, nodes, holes)
    links = [(row, int(other)) for row, view in enumerate(views) for other in view if other != NONE]
    plain = nx.Graph([(a, b) for a, b in links if a != b])
    plain.add_nodes_from(range(nodes))
    found = overlay(views, sources=nodes)
    degrees = [sum(b == row for _, b in links) for row in range(nodes)]
    assert found.in_degree_mean == pytest.approx(np.mean(degrees))
    assert found.in_degree_sd == pytest.approx(np.std(degrees))
    assert found.out_degree_mean == pytest.approx(len(links) / nodes)
    assert found.self_links == sum(a == b for a, b in links)
    assert found.duplicates == len(links) - len(set(links))
    assert found.clustering == pytest.approx(nx.average_clustering(plain))
    paths = [hops for _, to in nx.all_pairs_shortest_path_length(plain) for hops in to.values() if hops]
    assert found.mean_path == pytest.approx(np.mean(paths))
    assert found.reached == pytest.approx(len(paths) / (nodes * (nodes - 1)))
    kept = graph(views)
    assert [kept.rows[kept.offsets[i] : kept.offsets[i + 1]].tolist() for i in range(nodes)] == [
        sorted(plain.neighbors(i)) for i in range(nodes)
    ]


@compiled
def test_a_random_overlay_of_ten_thousand_has_the_known_figures() -> None:
    found = overlay(random_views(10_000, 20, 1), sources=30)
    assert found.in_degree_sd == pytest.approx(4.47, abs=0.1)
    assert found.clustering == pytest.approx(0.0040, abs=0.0002)
    assert found.mean_path == pytest.approx(2.85, abs=0.01)


def test_looking_twice_sees_the_same() -> None:
    views = random_views(500, 5, 3)
    assert overlay(views, sources=10, sampled=50) == overlay(views, sources=10, sampled=50)
    assert overlay(views, sources=10, seed=1) != overlay(views, sources=10, seed=2)
