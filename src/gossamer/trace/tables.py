"""The tables of a trace, as Arrow schemas.

A simulator's trace and a live swarm's are the same tables; metrics need nothing else but the truth. Numbers of rows, nodes
and events are those of the run's scenario; -1 stands for none.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

__all__ = [
    "DELIVERIES",
    "EXCHANGES",
    "JOINS",
    "LINKS",
    "NODES",
    "PUBLICATIONS",
    "RECEIPTS",
    "SPREADS",
    "TABLES",
    "VERSION",
]

VERSION: Final = 1
"""Raised whenever a column changes its meaning; a reader refuses what it does not know."""


def _schema(name: str, **columns: pa.DataType) -> pa.Schema:
    metadata = {"gossamer.table": name, "gossamer.trace": str(VERSION)}
    return pa.schema([pa.field(key, kind, nullable=False) for key, kind in columns.items()], metadata=metadata)


LINKS: Final = _schema(
    "links",
    cycle=pa.int32(),
    links_right=pa.int64(),
    links_wanted=pa.int64(),
    rings_complete=pa.int64(),
    rings_wanted=pa.int64(),
)
"""How much of the test events' rings is in place after so many cycles."""

EXCHANGES: Final = _schema(
    "exchanges",
    cycle=pa.int32(),
    protocol=pa.string(),
    messages=pa.int64(),
    entries=pa.int64(),
    bytes=pa.int64(),
    failed=pa.int64(),
)
"""What a protocol sent in a cycle: messages, entries in them, bytes they would take, and how many did not arrive."""

PUBLICATIONS: Final = _schema(
    "publications",
    event=pa.int64(),
    cycle=pa.int32(),
    tick=pa.int64(),
    first=pa.int32(),
    tries=pa.int32(),
    wanted=pa.int64(),
)
"""Events published: the row it was handed to (-1: nobody was found), cycles the search took, nodes that want it."""

RECEIPTS: Final = _schema(
    "receipts",
    event=pa.int64(),
    node=pa.int32(),
    row=pa.int32(),
    sender=pa.int32(),
    cycle=pa.int32(),
    tick=pa.int64(),
    hop=pa.int32(),
    wanted=pa.bool_(),
    duplicate=pa.bool_(),
    repaired=pa.bool_(),
)
"""Event messages received: by which node and row, from which row (-1: the publisher), whether wanted, whether seen before,
whether repair sent it instead of spreading."""

DELIVERIES: Final = _schema(
    "deliveries",
    event=pa.int64(),
    node=pa.int32(),
    cycle=pa.int32(),
    tick=pa.int64(),
    hop=pa.int32(),
    repaired=pa.bool_(),
)
"""Events handed to the application, each once a node; whether repair brought it instead of spreading."""

SPREADS: Final = _schema(
    "spreads",
    event=pa.int64(),
    cycle=pa.int32(),
    wanted=pa.int64(),
    delivered=pa.int64(),
    copies=pa.int64(),
    unwanted=pa.int64(),
    last_hop=pa.int64(),
    hops=pa.int64(),
    control=pa.int64(),
    repaired=pa.int64(),
)
"""Receipts summed up by event, as in ``measure.delivery.Spread``: what is kept where every receipt would be too much."""

JOINS: Final = _schema(
    "joins",
    row=pa.int32(),
    kind=pa.string(),
    begun=pa.int32(),
    done_from=pa.int32(),
    done_to=pa.int32(),
)
"""Cycles in which a row began to join, had its own links, and was linked to by its neighbours; -1 where it never was.
``kind`` is subscriber or publisher (whose ``done_to`` is -1)."""

NODES: Final = _schema(
    "nodes",
    node=pa.int32(),
    wanted=pa.int64(),
    receipts=pa.int64(),
    sends=pa.int64(),
    control=pa.int64(),
)
"""The burden of each node over all events: those it wants, event messages received and sent, control messages sent."""

TABLES: Final = {
    "links": LINKS,
    "exchanges": EXCHANGES,
    "publications": PUBLICATIONS,
    "receipts": RECEIPTS,
    "deliveries": DELIVERIES,
    "spreads": SPREADS,
    "joins": JOINS,
    "nodes": NODES,
}
