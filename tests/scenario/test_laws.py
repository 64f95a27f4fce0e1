"""Quantile tables agree with the laws they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from gossamer.scenario.laws import GRID, MEAN, centre_table, quantile, session_table, threshold, width_table
from tests.naive.scenario import naive_centre, naive_width

CELLS = 4096
EVERY = range(0, CELLS + 1, 64)


def test_widths_follow_the_power_law() -> None:
    table = width_table("power", 0.2, 4.0, 0.1)
    assert [table[i] / GRID for i in EVERY] == pytest.approx([naive_width(i / CELLS, 0.2, 4.0) for i in EVERY], abs=1e-8)
    assert (table[0], table[-1]) == (0, GRID)


def test_centres_follow_the_power_law_to_both_sides_alike() -> None:
    table = centre_table("power", 0.015)
    assert [table[i] / GRID for i in EVERY] == pytest.approx([naive_centre(i / CELLS, 0.015) for i in EVERY], abs=1e-8)
    assert (table + table[::-1] == GRID).all()


def test_a_quantile_is_drawn_evenly() -> None:
    bits = np.random.default_rng(1).integers(0, 1 << 64, 4000, dtype=np.uint64)
    table = centre_table("uniform", 0.015)
    drawn = np.array([quantile(table, word) for word in bits]) / GRID
    assert drawn == pytest.approx(bits / 2.0**64, abs=2e-9)
    widths = [quantile(width_table("power", 0.2, 4.0, 0.1), word) / GRID for word in bits]
    total = 1 - 6.0**-3
    assert stats.kstest(widths, lambda w: (1 - (1 + 5 * w) ** -3) / total).pvalue > 0.001


@pytest.mark.parametrize(("law", "median"), [("exponential", 0.6931), ("pareto", 0.5198), ("constant", 1.0)])
def test_sessions_have_their_mean(law: str, median: float) -> None:
    table = session_table(law) / MEAN
    assert table[CELLS // 2] == pytest.approx(median, abs=1e-3)
    assert float(((table[1:] + table[:-1]) / 2).mean()) == pytest.approx(1.0, abs=0.02)
    assert (np.diff(table) >= 0).all()


def test_a_threshold_is_never_at_0_and_nearly_always_at_1() -> None:
    assert [int(threshold(share)) for share in (0.0, 0.5, 1.0)] == [0, 1 << 63, (1 << 64) - 1]
