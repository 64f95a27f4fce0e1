"""Metrics of delivery are those of the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gossamer.measure.delivery import (
    Received,
    Spread,
    complete,
    control_per_delivery,
    copies_per_delivery,
    duplicates,
    fit_hops,
    hit_ratio,
    hit_ratio_at_once,
    hit_ratio_of_incomplete,
    hops_by_length,
    mean_hops,
    spam,
    summarise,
)
from tests.naive.measure import naive_spread

EVENTS, NODES = 6, 8
RECEIPTS = st.lists(
    st.tuples(st.integers(0, EVENTS - 1), st.integers(0, NODES - 1), st.integers(0, 20), st.integers(0, 9), st.booleans()),
    max_size=80,
)
Receipts = list[tuple[int, int, int, int, bool]]
WANTING = st.lists(st.sets(st.integers(0, NODES - 1)), min_size=EVENTS, max_size=EVENTS)
LEFT = st.sets(st.integers(0, NODES - 1))


def summed(receipts: Receipts, wanting: list[set[int]], left: set[int]) -> Spread:
    columns: NDArray[np.int64] = np.array(receipts, dtype=np.int64).reshape(-1, 5)
    offsets = np.cumsum([0] + [len(nodes) for nodes in wanting])
    members = np.array([node for nodes in wanting for node in sorted(nodes)], dtype=np.int32)
    control = np.full(len(wanting), 3, dtype=np.int64)
    node, hop = columns[:, 1].astype(np.int32), columns[:, 2].astype(np.int32)
    received = Received(columns[:, 0], node, hop, columns[:, 3], columns[:, 4] != 0)
    return summarise(received, offsets, members, staying=~np.isin(members, list(left)), control=control)


@given(RECEIPTS, WANTING, LEFT)
def test_receipts_are_summed_up_by_event(receipts: Receipts, wanting: list[set[int]], left: set[int]) -> None:
    spread = summed(receipts, wanting, left)
    rows = naive_spread(receipts, wanting, left)
    assert list(zip(*(column.tolist() for column in (*spread[:6], spread.repaired)), strict=True)) == rows
    wanted = [row for row in rows if row[0]]
    partial = [row for row in wanted if row[1] < row[0]]
    got, copies = sum(row[1] for row in rows), sum(row[2] for row in rows)
    assert hit_ratio(spread) == pytest.approx(sum(r[1] / r[0] for r in wanted) / len(wanted) if wanted else 1.0)
    assert hit_ratio_of_incomplete(spread) == pytest.approx(
        sum(r[1] / r[0] for r in partial) / len(partial) if partial else 1.0
    )
    assert int(complete(spread).sum()) == len(rows) - len(partial)
    assert spam(spread) == pytest.approx(sum(row[3] for row in rows) / copies if copies else 0)
    assert duplicates(spread) == pytest.approx(1 - spam(spread) - got / copies if copies else 0)
    assert copies_per_delivery(spread) == pytest.approx(copies / got if got else 0)
    assert control_per_delivery(spread) == pytest.approx(3 * EVENTS / got if got else 0)
    repaired = sum(row[6] for row in rows)
    assert mean_hops(spread) == pytest.approx(sum(row[5] for row in rows) / (got - repaired) if got > repaired else 0)
    once = [(row[1] - row[6]) / row[0] for row in wanted]
    assert hit_ratio_at_once(spread) == pytest.approx(sum(once) / len(once) if once else 1.0)


def test_of_several_copies_the_first_counts_then_the_one_with_fewest_hops_and_repair_last_of_all() -> None:
    later_but_nearer = summed([(0, 1, 2, 5, False), (0, 1, 7, 4, False)], [{1}] * EVENTS, set())
    assert int(later_but_nearer.hops[0]) == 7
    at_once = summed([(0, 1, 6, 4, False), (0, 1, 3, 4, False)], [{1}] * EVENTS, set())
    assert int(at_once.hops[0]) == 3
    sooner_by_repair = summed([(0, 1, 0, 1, True), (0, 1, 9, 8, False)], [{1}] * EVENTS, set())
    assert (int(sooner_by_repair.hops[0]), int(sooner_by_repair.repaired[0])) == (9, 0)


def lengths(wanted: list[int], last: list[int]) -> Spread:
    size, hops = np.array(wanted), np.array(last)
    none = np.zeros_like(size)
    return Spread(size, size, size, none, hops, hops * 2, none, none)


def test_hops_are_binned_by_powers_of_two_and_only_complete_ones_count() -> None:
    spread = lengths([2, 3, 4, 7, 8, 1, 128, 255], [1, 2, 3, 4, 5, 0, 8, 10])
    spread = spread._replace(delivered=np.array([2, 3, 4, 6, 8, 1, 128, 255]))
    found = hops_by_length(spread)
    assert found["length"].tolist() == [2, 4, 8, 128]
    assert found["events"].tolist() == [2, 1, 1, 2]
    assert found["last_mean"].tolist() == [1.5, 3, 5, 9]
    assert found["last_max"].tolist() == [2, 3, 5, 10]
    assert found["mean"][0] == pytest.approx((2 / 2 + 4 / 3) / 2)


def test_the_fit_finds_its_line_and_gives_every_length_one_voice() -> None:
    sizes = [2] * 1000 + [2, 4, 8, 16, 32, 64, 128, 256]
    last = [2] * 1000 + [4, 4, 6, 8, 10, 12, 14, 400]
    spread = lengths(sizes, last)
    spread.last_hop[:1001] = 2
    fit = fit_hops(spread)
    assert fit.base == pytest.approx(0.0)
    assert fit.per_doubling == pytest.approx(2.0)
    assert np.isnan(fit_hops(lengths([5, 5], [1, 2])).base)
