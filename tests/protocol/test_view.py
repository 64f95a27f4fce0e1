"""Masks over the places of a view, and random choices among them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from gossamer.arrays import NONE
from gossamer.draws import Purpose
from gossamer.protocol import view
from gossamer.protocol.view import MOST_PLACES, Now
from tests.protocol.peers import book_of

BOOK = book_of(np.random.default_rng(0), np.zeros((8, 2, 1), np.int64))
SURPRISING = 1e-5
"""A chance so small that a test which meets it has found a fault. The draws are the same in every run."""


def picked(candidates: int, want: int, *, cycle: int = 0, own: int = 0, n: int = 0) -> list[int]:
    """The places picked."""
    purpose = int(Purpose.CYCLON_SENT)
    chosen = int(view.pick(np.uint64(candidates), want, BOOK, Now(np.uint64(1), cycle, 0), own, purpose, n))
    return [k for k in range(64) if chosen >> k & 1]


@given(st.integers(0, 2**MOST_PLACES - 1), st.integers(0, MOST_PLACES), st.integers(0, 2**32 - 1))
def test_a_pick_is_of_the_size_wanted_and_of_the_candidates(candidates: int, want: int, cycle: int) -> None:
    chosen = picked(candidates, want, cycle=cycle)
    assert len(chosen) == min(want, candidates.bit_count())
    assert all(candidates >> k & 1 for k in chosen)


@pytest.mark.parametrize("candidates", [0b111111, 0b101101011, 0b1111 << 52 | 0b11], ids=["first places", "gaps", "far apart"])
def test_every_subset_is_picked_as_often(candidates: int) -> None:
    places = [k for k in range(64) if candidates >> k & 1]
    count = dict.fromkeys(itertools.combinations(places, 3), 0)
    for cycle in range(4000):
        count[tuple(picked(candidates, 3, cycle=cycle))] += 1  # type: ignore[index]
    assert len(count) == 20
    assert chisquare(list(count.values())).pvalue > SURPRISING


@pytest.mark.parametrize(("places", "want"), [(19, 7), (20, 8), (56, 20)])
def test_every_place_and_every_pair_is_picked_as_often(places: int, want: int) -> None:
    alone, pairs, tries = np.zeros(places), np.zeros((places, places)), 6000
    for cycle in range(tries):
        chosen = picked(2**places - 1, want, cycle=cycle)
        alone[chosen] += 1
        pairs[np.ix_(chosen, chosen)] += 1
    chance, chance_of_two = want / places, want * (want - 1) / (places * (places - 1))
    two = pairs[np.triu_indices(places, 1)]
    assert (abs(alone - tries * chance) / np.sqrt(tries * chance * (1 - chance))).max() < 4.5
    assert (abs(two - tries * chance_of_two) / np.sqrt(tries * chance_of_two * (1 - chance_of_two))).max() < 5.0


def test_rows_cycles_and_numbers_pick_on_their_own() -> None:
    first = [set(picked(2**20 - 1, 8, cycle=cycle)) for cycle in range(401)]
    others = {
        "row": [set(picked(2**20 - 1, 8, cycle=cycle, own=1)) for cycle in range(401)],
        "number": [set(picked(2**20 - 1, 8, cycle=cycle, n=8)) for cycle in range(401)],
        "cycle": first[1:],
    }
    for other in others.values():
        common = [len(one & two) for one, two in zip(first, other, strict=False)]
        assert 3.0 < np.mean(common) < 3.4  # 8 * 8 / 20


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2**16 - 1)), min_size=1, max_size=56), st.integers(0, 2**20))
def test_the_oldest_is_the_first_of_the_greatest_age(entries: list[tuple[bool, int]], now: int) -> None:
    handles = np.array([k if taken else NONE for k, (taken, _) in enumerate(entries)], np.int32)
    born = np.array([minted for _, minted in entries], np.uint16)
    ages = [(now - minted) % 2**16 if taken else -1 for taken, minted in entries]
    wanted = ages.index(max(ages)) if max(ages) >= 0 else NONE
    assert view.oldest(handles, born, now) == wanted
    assert int(view.free_places(handles)) == sum(1 << k for k, (taken, _) in enumerate(entries) if not taken)
