"""A run in which everything happens and events travel, and what the small definitions say of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from gossamer.measure.delivery import Received, Spread, summarise
from gossamer.pipeline.stream import Streaming
from gossamer.scenario.given import drawn
from gossamer.sim.run import run, save
from gossamer.trace.folder import column
from gossamer.truth.judge import by_node, rings
from tests.naive.truth import naive_hash
from tests.sim.worlds import turmoil

__all__ = ["HOW", "Traced", "small", "traced"]

HOW = Streaming(window_s=20, delay_s=40)
"""A cycle has six ticks, and a tick is a second."""


class Traced(NamedTuple):
    """A run, and what the small definitions make of it."""

    folder: Path
    tables: dict[str, pa.Table]
    rows: int
    offsets: Any
    wanting: Any
    spread: Spread
    matches: list[list[int]]
    """Event, how many rows want it, hash of which."""


def traced(folder: Path) -> Traced:
    """The run, saved in a folder."""
    outcome = run(turmoil(), 1)
    save(outcome, folder)
    people, events = drawn(turmoil(), 1)
    sizes, members, matches = [0], [], []
    for n in range(outcome.tables["publications"].num_rows):
        ring = rings(people, events.points[n : n + 1], int(events.cycle[n]))
        nodes = by_node(people, ring).members
        sizes.append(nodes.shape[0])
        members.append(nodes)
        matches.append([n, ring.rows.shape[0], naive_hash(people.key[ring.rows].tolist())])
    offsets, wanting = np.cumsum(sizes), np.concatenate(members)
    spread = small(outcome.tables["receipts"], offsets, wanting)
    return Traced(folder, dict(outcome.tables), outcome.metrics["rows"], offsets, wanting, spread, matches)


def small(receipts: pa.Table, offsets: Any, wanting: Any) -> Spread:  # noqa: ANN401
    """The definition, over receipts."""
    return summarise(Received(*(column(receipts, name) for name in Received._fields)), offsets, wanting)
