"""How well events reached those who want them, and at what cost.

The unit is the pair (event, node): a node is reached once, by whichever of its rows. Everything is first summed up by event
(``Spread``), by ``summarise`` from a trace or by a driver that counts as it goes; the metrics are small functions of that.
The hand-over from the publisher to the first subscriber is a receipt like any other, at hop 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gossamer.arrays import Coordinates, Counts, Mask, Numbers, Offsets, Reals, Rows

__all__ = [
    "HopFit",
    "Received",
    "Spread",
    "complete",
    "control_per_delivery",
    "copies_per_delivery",
    "duplicates",
    "fit_hops",
    "hit_ratio",
    "hit_ratio_at_once",
    "hit_ratio_of_incomplete",
    "hops_by_length",
    "mean_hops",
    "spam",
    "summarise",
]

_NODE_BITS = 32


class Spread(NamedTuple):
    """What became of each event."""

    wanted: Numbers
    """(E,) int64: nodes that want it."""
    delivered: Numbers
    """(E,) int64: of these, how many got it."""
    copies: Numbers
    """(E,) int64: event messages received, by anybody, whether new or not."""
    unwanted: Numbers
    """(E,) int64: of these, how many by nodes that do not want it."""
    last_hop: Numbers
    """(E,) int64: greatest hop of a first wanted copy that was spread, 0 where there is none."""
    hops: Numbers
    """(E,) int64: sum of the hops of those."""
    control: Numbers
    """(E,) int64: messages sent on its behalf that do not carry it."""
    repaired: Numbers
    """(E,) int64: of those delivered, how many by repair alone: no copy that was spread came, neither before nor after."""


class Received(NamedTuple):
    """Event messages received, in any order."""

    event: Numbers
    node: Rows
    hop: Counts
    tick: Numbers
    """When; of several copies that were spread to a node the first counts, of those of one moment the one with fewest hops."""
    repaired: Mask
    """Whether repair sent it."""


class HopFit(NamedTuple):
    """hops to the last = base + per_doubling * log2(ring length)."""

    base: float
    per_doubling: float


def summarise(
    receipts: Received, offsets: Offsets, wanting: Rows, *, staying: Mask | None = None, control: Numbers | None = None
) -> Spread:
    """Sum up receipts by event: the definition, for any driver's trace.

    offsets, wanting : (E + 1,)  (P,)  the nodes that want each event, rising (truth.judge.by_node)
    staying          : (P,)  which of those pairs count: a node that has left before an event could reach it missed nothing
    control          : (E,)  control messages, where they were counted
    """
    count = offsets.shape[0] - 1
    pair = (receipts.event.astype(np.int64) << _NODE_BITS) + receipts.node
    whose = np.repeat(np.arange(count, dtype=np.int64), np.diff(offsets))
    right = (whose << _NODE_BITS) + wanting
    order = np.lexsort((receipts.hop, receipts.tick, receipts.repaired, pair))
    pair, event = pair[order], receipts.event[order]
    hop, repaired = receipts.hop[order].astype(np.int64), receipts.repaired[order]
    place = np.minimum(np.searchsorted(right, pair), max(right.shape[0] - 1, 0))
    is_wanted = right[place] == pair if right.size else np.zeros(pair.shape[0], dtype=np.bool_)
    got = is_wanted.copy()
    got[1:] &= pair[1:] != pair[:-1]
    if staying is not None and right.size:
        got &= staying[place]
    spread = got & ~repaired
    last, hops = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    np.maximum.at(last, event[spread], hop[spread])
    np.add.at(hops, event[spread], hop[spread])
    return Spread(
        wanted=_by_event(whose if staying is None else whose[staying], count),
        delivered=_by_event(event[got], count),
        copies=_by_event(event, count),
        unwanted=_by_event(event[~is_wanted], count),
        last_hop=last,
        hops=hops,
        control=np.zeros(count, dtype=np.int64) if control is None else control,
        repaired=_by_event(event[got & repaired], count),
    )


def _by_event(event: Numbers, count: int) -> Numbers:
    return np.bincount(event, minlength=count).astype(np.int64)


def complete(spread: Spread) -> Mask:
    """Which events reached all who want them; one that nobody wants did."""
    return np.equal(spread.delivered, spread.wanted)


def _spread_whole(spread: Spread) -> Mask:
    """Which events reached all without repair, whose receipts have no hops."""
    return np.array(complete(spread) & (spread.repaired == 0))


def hit_ratio(spread: Spread) -> float:
    """Share of the wanting nodes an event reached, meant over the events somebody wants."""
    return _mean_ratio(spread, spread.wanted > 0)


def hit_ratio_at_once(spread: Spread) -> float:
    """The same without what repair brought later."""
    return hit_ratio(spread._replace(delivered=spread.delivered - spread.repaired))


def hit_ratio_of_incomplete(spread: Spread) -> float:
    """The same over the events that did not reach all; 1 when all did."""
    return _mean_ratio(spread, ~complete(spread))


def _mean_ratio(spread: Spread, among: Mask) -> float:
    if not among.any():
        return 1.0
    return float((spread.delivered[among] / spread.wanted[among]).mean())


def spam(spread: Spread) -> float:
    """Share of the event messages received that nobody there wanted."""
    return _ratio(spread.unwanted, spread.copies)


def duplicates(spread: Spread) -> float:
    """Share of the event messages received that were wanted once but not again."""
    return _ratio(spread.copies - spread.unwanted - spread.delivered, spread.copies)


def copies_per_delivery(spread: Spread) -> float:
    """Event messages received for each node reached that wanted one."""
    return _ratio(spread.copies, spread.delivered)


def control_per_delivery(spread: Spread) -> float:
    """Messages without the event, sent on its behalf, for each node reached that wanted it."""
    return _ratio(spread.control, spread.delivered)


def mean_hops(spread: Spread) -> float:
    """Hops from the first subscriber, meant over all deliveries that spreading made."""
    return _ratio(spread.hops, spread.delivered - spread.repaired)


def _ratio(part: Numbers, whole: Numbers) -> float:
    total = int(whole.sum())
    return int(part.sum()) / total if total else 0.0


def hops_by_length(spread: Spread) -> dict[str, Coordinates | Reals]:
    """Hops of complete disseminations in bins of ring length 2-3, 4-7, 8-15 and so on: the paper's figure.

    Columns: ``length`` (the bin's lower end), ``events``, ``last_mean``, ``last_max`` (hops to the last), ``mean`` (to any).
    """
    real = _spread_whole(spread) & (spread.wanted > 1)
    bins = np.log2(spread.wanted[real]).astype(np.int64)
    last, mean = spread.last_hop[real], spread.hops[real] / spread.delivered[real]
    found = np.unique(bins)
    inside = [bins == b for b in found]
    return {
        "length": 1 << found,
        "events": np.array([int(some.sum()) for some in inside], dtype=np.int64),
        "last_mean": np.array([float(last[some].mean()) for some in inside]),
        "last_max": np.array([int(last[some].max()) for some in inside], dtype=np.int64),
        "mean": np.array([float(mean[some].mean()) for some in inside]),
    }


def fit_hops(spread: Spread, shortest: int = 2, longest: int = 255) -> HopFit:
    """Least squares over the means of each ring length, so that the many short rings do not outvote the few long ones."""
    real = _spread_whole(spread) & (spread.wanted >= shortest) & (spread.wanted <= longest)
    lengths, which = np.unique(spread.wanted[real], return_inverse=True)
    if lengths.shape[0] < 2:  # noqa: PLR2004  (a line has two points)
        return HopFit(float("nan"), float("nan"))
    means = np.bincount(which, weights=spread.last_hop[real].astype(np.float64)) / np.bincount(which)
    x = np.log2(lengths) - np.log2(lengths).mean()
    slope = float((x * (means - means.mean())).sum() / (x * x).sum())
    return HopFit(float(means.mean() - slope * np.log2(lengths).mean()), slope)
