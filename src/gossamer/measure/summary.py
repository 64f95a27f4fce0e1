"""A run's tables in, its metrics out: every number that tables, figures and verdicts show, each under one name.

A metric that does not apply (no links were judged, nobody joined) is left out. Shares are between 0 and 1, cycles count
from the start of the run. Where events spread at several dates, the metrics of each stand under ``dissemination``, and
those of the last are repeated at the top; where each event spreads once, while gossip goes on, those of all are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gossamer.arrays import NONE, Numbers
from gossamer.measure import delivery, load
from gossamer.trace.folder import column

__all__ = ["Metrics", "dissemination", "series", "spread_at", "spread_of", "summary"]

Metrics = dict[str, Any]

_LONG: Final = (128, 255)
_SHORT: Final = 3
_QUICK: Final = 5
_SHARES: Final = {"links_0.999_at": ("links", 0.999), "rings_0.99_at": ("rings", 0.99), "rings_0.999_at": ("rings", 0.999)}
_SPREAD: Final = ("hit_ratio", "complete", "hit_ratio_of_incomplete", "spam", "duplicates", "copies_per_delivery")


def summary(tables: Mapping[str, pa.Table], rows: int) -> Metrics:
    """All metrics of a run of so many rows."""
    found: Metrics = {"rows": rows}
    if "links" in tables:
        found |= _construction(tables["links"])
    if "exchanges" in tables:
        found |= _gossip(tables["exchanges"], rows)
    if "spreads" in tables:
        found |= _spreading(tables["spreads"])
    if "nodes" in tables:
        found["load"] = _load(tables["nodes"])
    if "joins" in tables:
        found["joins"] = _joins(tables["joins"])
    if "publications" in tables:
        nobody = _nobody(tables["publications"])
        if nobody:
            found["nobody"] = nobody
    return found


def series(table: pa.Table, *names: str) -> dict[str, list[float]]:
    """Columns of a table as lists, for a figure or for JSON."""
    return {name: column(table, name).tolist() for name in names or table.column_names}


def spread_at(table: pa.Table, cycle: int) -> delivery.Spread:
    """What became of the events that spread in a cycle."""
    return spread_of(table.filter(pc.equal(table.column("cycle"), cycle)))


def spread_of(table: pa.Table) -> delivery.Spread:
    """The sums in a table of spreads."""
    return delivery.Spread(*(column(table, name).astype(np.int64) for name in delivery.Spread._fields))


def dissemination(spread: delivery.Spread) -> Metrics:
    """How well events spread, and at what cost."""
    return {
        "events": int(spread.wanted.shape[0]),
        "deliveries": int(spread.delivered.sum()),
        "hit_ratio": delivery.hit_ratio(spread),
        "hit_ratio_at_once": delivery.hit_ratio_at_once(spread),
        "complete": float(delivery.complete(spread).mean()) if spread.wanted.shape[0] else 1.0,
        "hit_ratio_of_incomplete": delivery.hit_ratio_of_incomplete(spread),
        "spam": delivery.spam(spread),
        "duplicates": delivery.duplicates(spread),
        "copies_per_delivery": delivery.copies_per_delivery(spread),
        "control_per_delivery": delivery.control_per_delivery(spread),
        "mean_hops": delivery.mean_hops(spread),
        "max_hops": int(spread.last_hop.max(initial=0)),
    }


def _construction(table: pa.Table) -> Metrics:
    cycle = column(table, "cycle")
    wanted, rings_wanted = column(table, "links_wanted"), column(table, "rings_wanted")
    shares = {
        "links": column(table, "links_right") / np.maximum(wanted, 1) + (wanted == 0),
        "rings": column(table, "rings_complete") / np.maximum(rings_wanted, 1) + (rings_wanted == 0),
    }
    found: Metrics = {
        "cycles": int(cycle[-1]),
        "links_in_place": float(shares["links"][-1]),
        "rings_complete": float(shares["rings"][-1]),
        "complete_at": _since(cycle, shares["rings"] >= 1.0),
    }
    return found | {name: _since(cycle, shares[of] >= share) for name, (of, share) in _SHARES.items()}


def _since(cycle: Numbers, holds: Any) -> int | None:  # noqa: ANN401  (a mask, of whatever comparison)
    """The first cycle from which on it holds to the end."""
    if not holds[-1]:
        return None
    before = np.flatnonzero(~holds)
    return int(cycle[before[-1] + 1]) if before.size else int(cycle[0])


def _gossip(table: pa.Table, rows: int) -> Metrics:
    cycles = max(len(np.unique(column(table, "cycle"))), 1)
    protocol = column(table, "protocol")
    found: Metrics = {}
    for what in ("messages", "bytes"):
        done = column(table, what)
        found[f"{what}_per_row_cycle"] = {
            str(name): float(done[protocol == name].sum() / (rows * cycles)) for name in dict.fromkeys(protocol)
        }
    return found


def _spreading(table: pa.Table) -> Metrics:
    dates = np.unique(column(table, "cycle")).tolist()
    each = {str(date): dissemination(spread_at(table, date)) for date in dates}
    once = pc.count_distinct(table.column("event")).as_py() == table.num_rows
    last = spread_of(table) if once else spread_at(table, dates[-1])
    lengths = last.wanted
    found: Metrics = dissemination(last)
    if len(dates) > 1:
        found["dissemination"] = each
    found["ring_length"] = {
        "min": int(lengths.min()) if lengths.size else 0,
        "max": int(lengths.max(initial=0)),
        "mean": float(lengths.mean()) if lengths.size else 0.0,
        "median": float(np.median(lengths)) if lengths.size else 0.0,
        "share_of_2_and_3": float((lengths <= _SHORT).mean()) if lengths.size else 0.0,
    }
    bins = delivery.hops_by_length(last)
    fit = delivery.fit_hops(last)
    long = bins["length"] == _LONG[0]
    found["hops"] = {
        "base": None if np.isnan(fit.base) else fit.base,
        "per_doubling": None if np.isnan(fit.per_doubling) else fit.per_doubling,
        "at_128_to_255": float(bins["last_mean"][long][0]) if long.any() else None,
        "max_at_128_to_255": int(bins["last_max"][long][0]) if long.any() else None,
    }
    return found


def _load(table: pa.Table) -> Metrics:
    wanted = column(table, "wanted")
    found: Metrics = {}
    for what in ("receipts", "sends"):
        found[what] = asdict_of(load.load(load.per_event(column(table, what), wanted)))
        found[f"{what}_total"] = asdict_of(load.load(column(table, what).astype(np.float64)))
    return found


def asdict_of(record: Any) -> Metrics:  # noqa: ANN401  (a NamedTuple or a dataclass)
    """A record of numbers as a table, infinite ones as None: JSON has no word for them."""
    plain = record._asdict() if hasattr(record, "_asdict") else asdict(record)
    return {name: None if isinstance(value, float) and not np.isfinite(value) else value for name, value in plain.items()}


def _joins(table: pa.Table) -> Metrics:
    kind, begun = column(table, "kind"), column(table, "begun")
    own, others = column(table, "done_from"), column(table, "done_to")
    found: Metrics = {}
    some = kind == "subscriber"
    if some.any():
        both = np.where((own == NONE) | (others == NONE), NONE, np.maximum(own, others))
        ways = {"links_from": own, "links_to": others, "both": both}
        found["subscriber"] = {way: asdict_of(load.joins(begun[some], done[some])) for way, done in ways.items()}
    some = kind == "publisher"
    if some.any():
        took = own[some] - begun[some]
        quick = float(((own[some] != NONE) & (took <= _QUICK)).mean())
        found["publisher"] = asdict_of(load.joins(begun[some], own[some])) | {"within_5": quick}
    return found


def _nobody(table: pa.Table) -> Metrics:
    """Of the publishers of events that few want: how many said nobody does."""
    event = column(table, "event")
    few = event >= (2 << 40)
    wanted, first = column(table, "wanted")[few], column(table, "first")[few]
    found: Metrics = {}
    for count in np.unique(wanted).tolist():
        said = first[wanted == count] == NONE
        found[str(count)] = {"asked": int(said.size), "said_nobody": int(said.sum()), "share": float(said.mean())}
    return found
