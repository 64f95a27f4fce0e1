"""What the figures show, as numbers: from the tables of some runs of one world to the points of its curves.

Runs with several seeds are meant over (shares and bars) or put together (distributions).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from gossamer.arrays import NONE
from gossamer.measure import delivery, load
from gossamer.measure.summary import Metrics, spread_at
from gossamer.report.experiments import FIGURES, Case
from gossamer.trace.folder import column

__all__ = ["CURVES", "Curve", "Result", "curves"]

Curve = dict[str, list[float]]
"""Columns of one length."""

_QUANTILES: Final = 201


class Result(NamedTuple):
    """One run, as the report sees it."""

    case: Case
    seed: int
    form: str
    tables: Mapping[str, pa.Table]
    metrics: Metrics


def curves(name: str, results: Sequence[Result]) -> dict[Case, Curve]:
    """The curves of a figure, a world each, for those worlds that were run."""
    found = {}
    for case in FIGURES[name]:
        mine = [result for result in results if result.case == case]
        if mine and (curve := CURVES[name](mine)):
            found[case] = curve
    return found


def _rings(results: Sequence[Result]) -> Curve:
    """Shares of links in place and of rings complete, cycle by cycle."""
    tables = [result.tables["links"] for result in results if "links" in result.tables]
    if not tables:
        return {}
    shares = {}
    for name, part, whole in (("links", "links_right", "links_wanted"), ("rings", "rings_complete", "rings_wanted")):
        each = [column(table, part) / np.maximum(column(table, whole), 1) for table in tables]
        shares[name] = np.mean(each, axis=0).tolist()
    return {"cycle": column(tables[0], "cycle").tolist(), **shares}


def _dissemination(results: Sequence[Result]) -> Curve:
    """Share of events that reached all, and the hit ratio of the others, by cycle; rings complete beside them."""
    tables = [result.tables["spreads"] for result in results if "spreads" in result.tables]
    rings = _rings(results)
    if not tables or not rings:
        return {}
    dates = np.unique(column(tables[0], "cycle")).tolist()
    each = [[spread_at(table, date) for date in dates] for table in tables]
    at = dict(zip(rings["cycle"], rings["rings"], strict=True))
    return {
        "cycle": dates,
        "complete": _meant(lambda spread: float(delivery.complete(spread).mean()), each),
        # Put together: a run in which all were complete has nothing to add to this one.
        "hit_ratio_of_incomplete": [delivery.hit_ratio_of_incomplete(_together(parts)) for parts in zip(*each, strict=True)],
        "hit_ratio": _meant(delivery.hit_ratio, each),
        "rings": [at[date] for date in dates],
    }


def _meant(of: Callable[[delivery.Spread], float], each: Sequence[Sequence[delivery.Spread]]) -> list[float]:
    found: list[float] = np.mean([[of(spread) for spread in spreads] for spreads in each], axis=0).tolist()
    return found


def _together(parts: Sequence[delivery.Spread]) -> delivery.Spread:
    return delivery.Spread(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _last(results: Sequence[Result]) -> delivery.Spread | None:
    """What became of the events at the last date of each run, all put together."""
    tables = [result.tables["spreads"] for result in results if "spreads" in result.tables]
    if not tables:
        return None
    parts = [spread_at(table, int(column(table, "cycle").max())) for table in tables]
    return _together(parts)


def _lengths(results: Sequence[Result]) -> Curve:
    """Share of the events whose rings are at least so long."""
    spread = _last(results)
    if spread is None or not spread.wanted.size:
        return {}
    length, counts = np.unique(spread.wanted, return_counts=True)
    beyond = counts[::-1].cumsum()[::-1] / counts.sum()
    return {"length": length.tolist(), "share": (counts / counts.sum()).tolist(), "at_least": beyond.tolist()}


def _hops(results: Sequence[Result]) -> Curve:
    """Hops until the last subscriber has an event, by length of its ring: least, mean and greatest."""
    spread = _last(results)
    if spread is None:
        return {}
    real = delivery.complete(spread) & (spread.wanted > 1)
    if not real.any():
        return {}
    length, which = np.unique(spread.wanted[real], return_inverse=True)
    last = spread.last_hop[real]
    least, most = np.full(length.shape, np.iinfo(np.int64).max), np.zeros(length.shape, np.int64)
    np.minimum.at(least, which, last)
    np.maximum.at(most, which, last)
    mean = np.bincount(which, weights=last) / np.bincount(which)
    fit = delivery.fit_hops(spread)
    fitted = fit.base + fit.per_doubling * np.log2(length)
    columns = {"length": length, "mean": mean, "least": least, "most": most, "fit": fitted}
    return {name: values.tolist() for name, values in columns.items()}


def _joins(results: Sequence[Result]) -> Curve:
    """Share of joins that took so many cycles: links from a subscriber, links to it, publishers."""
    tables = [result.tables["joins"] for result in results if "joins" in result.tables]
    if not tables:
        return {}
    table = pa.concat_tables(tables)
    kind, begun = column(table, "kind"), column(table, "begun")
    took = {}
    for name, of, done in (
        ("links_from", "subscriber", "done_from"),
        ("links_to", "subscriber", "done_to"),
        ("publishers", "publisher", "done_from"),
    ):
        ended = column(table, done)[kind == of]
        took[name] = np.where(ended == NONE, NONE, ended - begun[kind == of])
    longest = max((int(values.max(initial=0)) for values in took.values()), default=0)
    found: Curve = {"cycles": list(range(longest + 1))}
    for name, values in took.items():
        counts = np.bincount(values[values != NONE], minlength=longest + 1)
        found[name] = (counts / max(values.shape[0], 1)).tolist()
    return found


def _load(results: Sequence[Result]) -> Curve:
    """Messages a node receives and sends for each event it wants: what so large a share of nodes does not exceed."""
    tables = [result.tables["nodes"] for result in results if "nodes" in result.tables]
    if not tables:
        return {}
    table = pa.concat_tables(tables)
    wanted = column(table, "wanted")
    if not (wanted > 0).any():
        return {}
    shares = np.linspace(0.0, 1.0, _QUANTILES)
    found = {"share": shares.tolist()}
    for what in ("receipts", "sends"):
        found[what] = np.quantile(load.per_event(column(table, what), wanted), shares, method="inverted_cdf").tolist()
    return found


def _nobody(results: Sequence[Result]) -> Curve:
    """Share of publishers who said nobody wants their event, by how many do."""
    asked: dict[str, list[int]] = {}
    for result in results:
        for wanted, it in result.metrics.get("nobody", {}).items():
            both = asked.setdefault(wanted, [0, 0])
            both[0] += it["asked"]
            both[1] += it["said_nobody"]
    if not asked:
        return {}
    order = sorted(asked, key=int)
    return {
        "wanted": [int(wanted) for wanted in order],
        "asked": [asked[wanted][0] for wanted in order],
        "share": [asked[wanted][1] / asked[wanted][0] for wanted in order],
    }


CURVES: Final[dict[str, Callable[[Sequence[Result]], Any]]] = {
    "rings": _rings,
    "dissemination": _dissemination,
    "lengths": _lengths,
    "hops": _hops,
    "joins": _joins,
    "load": _load,
    "nobody": _nobody,
}
"""How the curves of each figure are made."""
