"""Delays, losses and partitions are fixed by the seed and the keys, and as frequent as asked."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.scenario.laws import threshold
from gossamer.scenario.network import delay, lost, separated, side

SEED = np.uint64(7)
KEYS = np.random.default_rng(1).integers(0, 1 << 64, 3000, dtype=np.uint64)


def test_a_delay_belongs_to_an_ordered_pair_and_covers_its_bounds() -> None:
    there = [delay(SEED, KEYS[0], key, 3, 9) for key in KEYS[1:]]
    assert there == [delay(SEED, KEYS[0], key, 3, 9) for key in KEYS[1:]]
    assert there != [delay(SEED, key, KEYS[0], 3, 9) for key in KEYS[1:]]
    assert np.bincount(there, minlength=10)[3:] == pytest.approx(len(there) / 7, rel=0.2)
    assert set(there) == set(range(3, 10))
    assert delay(SEED, KEYS[0], KEYS[1], 4, 4) == 4


def test_messages_are_lost_as_often_as_asked_each_alone() -> None:
    some = threshold(0.1)
    gone = [lost(SEED, KEYS[0], KEYS[1], tick, 2, n, some) for tick in range(1500) for n in range(2)]
    assert np.mean(gone) == pytest.approx(0.1, abs=0.02)
    assert gone[0::2] != gone[1::2]
    assert not any(lost(SEED, KEYS[0], KEYS[1], tick, 2, 0, threshold(0.0)) for tick in range(100))
    assert all(lost(SEED, KEYS[0], KEYS[1], tick, 2, 0, threshold(1.0)) for tick in range(100))


def test_a_partition_has_two_sides() -> None:
    some = threshold(0.3)
    sides = [side(SEED, np.uint64(node), 0, some) for node in range(3000)]
    assert np.mean(sides) == pytest.approx(0.3, abs=0.03)
    for one, other in ((0, 1), (1, 2), (2, 3)):
        assert separated(SEED, np.uint64(one), np.uint64(other), 0, some) == (sides[one] != sides[other])
    assert sides != [side(SEED, np.uint64(node), 1, some) for node in range(3000)]
