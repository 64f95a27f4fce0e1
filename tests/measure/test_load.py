"""Load and joins are counted as they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.measure.load import Joins, Load, gini, joins, load, per_event
from tests.naive.measure import naive_gini


@given(st.lists(st.integers(0, 100), max_size=40))
def test_gini_is_the_mean_difference_over_twice_the_mean(values: list[int]) -> None:
    assert gini(np.array(values, dtype=np.float64)) == pytest.approx(naive_gini(values))


def test_a_load_names_its_mean_and_its_tail() -> None:
    found = load(np.arange(1, 1001, dtype=np.float64))
    assert (found.mean, found.p99, found.max) == (500.5, 990, 1000)
    assert found.gini == pytest.approx(1 / 3, abs=0.01)
    assert load(np.empty(0)) == Load(0.0, 0.0, 0.0, 0.0)


def test_a_burden_is_set_beside_the_interest() -> None:
    assert per_event(np.array([4, 5, 6]), np.array([2, 0, 3])).tolist() == [2.0, 2.0]


def test_a_join_that_never_ended_counts_as_the_longest() -> None:
    begun = np.full(10, 40, dtype=np.int32)
    done = np.array([41, 42, 43, 44, 45, 46, 47, 48, 49, -1], dtype=np.int32)
    assert joins(begun, done) == Joins(10, 9, 5.0, 9.0, np.inf, np.inf)
    assert joins(begun[:0], done[:0]).tried == 0
