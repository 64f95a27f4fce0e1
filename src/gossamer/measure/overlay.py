"""What kind of graph a sampling protocol keeps: the statistics by which Cyclon is judged.

In-degree, self links, duplicates and out-degree are those of the directed links. Clustering and path length are those of the
graph without directions, as in the papers: in a random graph of 10,000 nodes and views of 20, 0.004 and 2.85.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gossamer.arrays import NONE, Numbers, Offsets, Rows
from gossamer.draws import Purpose, draw
from gossamer.jit import kernel, sweep

__all__ = ["Graph", "Overlay", "graph", "overlay"]

_SAMPLE = Purpose.SAMPLE


class Graph(NamedTuple):
    """Neighbours without directions, each once, rising."""

    offsets: Offsets
    """(N + 1,) int64."""
    rows: Rows
    """(2 * links,) int32."""


class Overlay(NamedTuple):
    """One sample of an overlay."""

    out_degree_mean: float
    out_degree_min: int
    in_degree_mean: float
    in_degree_sd: float
    self_links: int
    duplicates: int
    """Links to a row that another link of the same view leads to."""
    clustering: float
    """Mean over rows of the share of pairs of neighbours that are neighbours; rows with fewer than two count as 0."""
    mean_path: float
    """Mean hops between rows that reach each other, from the sampled ones."""
    reached: float
    """Share of rows that the sampled ones reach, themselves left out."""


@sweep
def _clustering_all(it: Graph, sample: Rows, mark: Rows, shares: Numbers, out: Numbers) -> None:
    """Linked pairs of neighbours, and all pairs, of each sampled row."""
    for s in range(sample.shape[0]):
        row = sample[s]
        begin, end = it.offsets[row], it.offsets[row + 1]
        for k in range(begin, end):
            mark[it.rows[k]] = s
        linked = 0
        for k in range(begin, end):
            other = it.rows[k]
            for j in range(it.offsets[other], it.offsets[other + 1]):
                linked += mark[it.rows[j]] == s
        out[s] = linked
        shares[s] = (end - begin) * (end - begin - 1)


@kernel
def _walk(it: Graph, source: int, hops: Rows, queue: Rows) -> tuple[int, int]:
    """Breadth first from one row: how many others it reaches, and the sum of their distances."""
    for i in range(hops.shape[0]):
        hops[i] = NONE
    hops[source], queue[0] = 0, source
    head, tail, total = 0, 1, 0
    while head < tail:
        row = queue[head]
        head += 1
        total += hops[row]
        for k in range(it.offsets[row], it.offsets[row + 1]):
            other = it.rows[k]
            if hops[other] == NONE:
                hops[other] = hops[row] + 1
                queue[tail] = other
                tail += 1
    return tail - 1, total


@sweep
def _paths_all(it: Graph, sample: Rows, hops: Rows, queue: Rows, reached: Numbers, total: Numbers) -> None:
    for s in range(sample.shape[0]):
        reached[s], total[s] = _walk(it, sample[s], hops, queue)


@sweep
def _draw_all(seed: np.uint64, cycle: int, out: Numbers) -> None:
    for i in range(out.shape[0]):
        out[i] = np.int64(draw(seed, np.uint64(i), cycle, _SAMPLE, 0) >> np.uint64(1))


def graph(views: Rows) -> Graph:
    """The graph of views (N, K) of row numbers, NONE in a free entry; self links are left out."""
    size = views.shape[0]
    one = np.repeat(np.arange(size, dtype=np.int64), views.shape[1])
    other = views.ravel().astype(np.int64)
    real = (other != NONE) & (other != one)
    one, other = one[real], other[real]
    links = np.unique(np.concatenate([one * size + other, other * size + one]))
    offsets = np.searchsorted(links, np.arange(size + 1, dtype=np.int64) * size)
    return Graph(offsets.astype(np.int64), (links % size).astype(np.int32))


def overlay(views: Rows, *, sources: int = 100, sampled: int = 10_000, seed: int = 0, cycle: int = 0) -> Overlay:
    """Judge views (N, K) of row numbers, NONE in a free entry.

    Paths are walked from so many ``sources``; clustering is meant over so many ``sampled`` rows. Both are drawn with a purpose
    of their own, so looking does not change what is seen.
    """
    size = views.shape[0]
    filled = views != NONE
    degree = np.bincount(views[filled], minlength=size)
    ranked = np.sort(np.where(filled, views, np.arange(-1, -1 - views.shape[1], -1)), axis=1)
    picks = np.empty(size, dtype=np.int64)
    _draw_all(np.uint64(seed), cycle, picks)
    order = np.argsort(picks, kind="stable").astype(np.int32)
    it = graph(views)
    some = order[:sampled]
    linked, pairs = np.empty(some.shape[0], dtype=np.int64), np.empty(some.shape[0], dtype=np.int64)
    _clustering_all(it, some, np.full(size, NONE, dtype=np.int32), pairs, linked)
    few = order[:sources]
    reached, total = np.empty(few.shape[0], dtype=np.int64), np.empty(few.shape[0], dtype=np.int64)
    _paths_all(it, few, np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32), reached, total)
    return Overlay(
        out_degree_mean=float(filled.sum(axis=1).mean()),
        out_degree_min=int(filled.sum(axis=1).min()),
        in_degree_mean=float(degree.mean()),
        in_degree_sd=float(degree.std()),
        self_links=int((views == np.arange(size)[:, None]).sum()),
        duplicates=int((ranked[:, 1:] == ranked[:, :-1]).sum()),
        clustering=float((linked / np.maximum(pairs, 1)).mean()),
        mean_path=float(total.sum() / max(int(reached.sum()), 1)),
        reached=float(reached.mean() / max(size - 1, 1)),
    )
