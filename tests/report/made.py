"""Runs that never were: tables of our own, so that every verdict can be made to hold and to fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gossamer.measure.summary import summary
from gossamer.report.curves import Result
from gossamer.report.experiments import MAIN, Case
from gossamer.trace.columns import Columns
from gossamer.trace.tables import TABLES

__all__ = ["Tables", "hops_of", "joins", "links", "nobody", "nodes", "result", "spreads"]

Tables = Mapping[str, pa.Table]


def result(*parts: Tables, case: Case = MAIN, rows: int = 10_000, seed: int = 1, form: str = "faithful") -> Result:
    """A run with these tables, and the metrics that follow from them."""
    tables = {name: table for part in parts for name, table in part.items()}
    return Result(case, seed, form, tables, summary(tables, rows))


def _table(name: str, **columns: Any) -> Tables:  # noqa: ANN401  (arrays, lists or single values)
    made = Columns(TABLES[name])
    made.append(**columns)
    return {name: made.table()}


def links(rings: Sequence[float], whole: int = 1_000) -> Tables:
    """Shares of the rings that are complete, cycle by cycle; one link more than a ring is in place in each."""
    done = np.round(np.array(rings) * whole).astype(np.int64)
    right = np.minimum(2 * done + 1, 2 * whole)
    return _table(
        "links",
        cycle=np.arange(done.shape[0]),
        links_right=right,
        links_wanted=2 * whole,
        rings_complete=done,
        rings_wanted=whole,
    )


def spreads(*dates: tuple[int, Sequence[int], Sequence[int], Sequence[int]], unwanted: int = 0) -> Tables:
    """At each date: how many want each event, how many have it, and the hop of the last."""
    cycle = np.concatenate([np.full(len(wanted), date) for date, wanted, _, _ in dates])
    event = np.concatenate([np.arange(len(wanted)) for _, wanted, _, _ in dates])
    wanted, delivered, last = (np.concatenate([date[n] for date in dates]) for n in (1, 2, 3))
    return _table(
        "spreads",
        event=event,
        cycle=cycle,
        wanted=wanted,
        delivered=delivered,
        copies=2 * delivered + unwanted,
        unwanted=unwanted,
        last_hop=last,
        hops=delivered,
        control=0,
        repaired=0,
    )


def hops_of(lengths: Sequence[int], slope: float, base: float = 0.0) -> Tables:
    """Rings of these lengths, all reached in base + slope * log2(length) hops."""
    last = [round(base + slope * float(np.log2(length))) for length in lengths]
    return spreads((40, lengths, lengths, last))


def joins(cycles: Sequence[int], publishers: Sequence[int] = ()) -> Tables:
    """Cycles each subscriber took to have its links, each publisher to find one; -1: never."""
    took = np.array([*cycles, *publishers])
    kind = ["subscriber"] * len(cycles) + ["publisher"] * len(publishers)
    done = np.where(took < 0, -1, took + 60)
    other = np.where(np.array(kind) == "publisher", -1, done)
    return _table("joins", row=np.arange(took.shape[0]), kind=kind, begun=60, done_from=done, done_to=other)


def nodes(receipts: Sequence[int], sends: Sequence[int], wanted: int = 10) -> Tables:
    """Event messages each node received and sent, who wants so many events."""
    return _table("nodes", node=np.arange(len(receipts)), wanted=wanted, receipts=receipts, sends=sends, control=0)


def nobody(*asked: tuple[int, int, int]) -> Tables:
    """(subscribers that want the event, publishers asked, how many of them said that nobody does)."""
    wanted = np.concatenate([np.full(count, number) for number, count, _ in asked])
    first = np.concatenate([np.where(np.arange(count) < said, -1, 7) for _, count, said in asked])
    event = (2 << 40) + np.arange(wanted.shape[0])
    return _table("publications", event=event, cycle=60, tick=120, first=first, tries=3, wanted=wanted)
