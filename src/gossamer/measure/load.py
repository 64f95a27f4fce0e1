"""How evenly the work is shared, and how long joining takes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gossamer.arrays import NONE, Counts, Numbers, Reals, Rows

__all__ = ["Joins", "Load", "gini", "joins", "load", "per_event"]

_P99 = 0.99


class Load(NamedTuple):
    """How a burden is spread over nodes."""

    mean: float
    gini: float
    """0 when all carry alike, towards 1 when one carries all."""
    p99: float
    max: float


class Joins(NamedTuple):
    """How long joining took, in cycles."""

    tried: int
    done: int
    """Those that did it within their limit."""
    p50: float
    p90: float
    p99: float
    max: float


def gini(values: Reals) -> float:
    """Gini coefficient: mean difference of two values over twice the mean; 0 where all are 0 or there are none."""
    size, total = values.shape[0], float(values.sum())
    if size == 0 or total == 0:
        return 0.0
    ranked = np.sort(values)
    return float((2 * np.arange(1, size + 1) - size - 1) @ ranked / (size * total))


def per_event(done: Numbers, wanted: Numbers) -> Reals:
    """Messages a node handled for each event it wanted: its burden beside its interest. Nodes that want none are left out.

    done   : (N,) int64  receipts or sends of each node
    wanted : (N,) int64  events each node wants
    """
    real = wanted > 0
    return done[real] / wanted[real]


def load(values: Reals) -> Load:
    """Mean, Gini coefficient, 99th percentile and maximum of a burden."""
    if values.shape[0] == 0:
        return Load(0.0, 0.0, 0.0, 0.0)
    return Load(float(values.mean()), gini(values), _quantile(values, _P99), float(values.max()))


def joins(begun: Counts, done: Rows) -> Joins:
    """Quantiles of the cycles a join took; one that never ended counts as longer than any that did.

    begun, done : (J,) int32  cycles; NONE in done when it was given up
    """
    ended = done != NONE
    took = np.where(ended, done - begun, np.inf).astype(np.float64)
    if took.shape[0] == 0:
        return Joins(0, 0, 0.0, 0.0, 0.0, 0.0)
    p50, p90, p99 = (_quantile(took, share) for share in (0.5, 0.9, _P99))
    return Joins(took.shape[0], int(ended.sum()), p50, p90, p99, float(took.max()))


def _quantile(values: Reals, share: float) -> float:
    """The least value that so large a share does not exceed; one of the values, never between two."""
    return float(np.quantile(values, share, method="inverted_cdf"))
