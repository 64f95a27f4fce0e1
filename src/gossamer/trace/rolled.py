"""Traces while they are written: files that are rolled, one after the other, for a reader that does not wait for the end.

    <number>-<source>.parquet    or .jsonl: rows of ROLLED, in the order in which their source wrote them down

Publications, receipts and deliveries stand in one file, each row with the moment at which its event was published: by that
moment events are put into windows, and rows are late or not. A source numbers its rows, so that one written twice (a file that
was sent again, a node that was not sure) is known as such. Two kinds of rows are marks:

    beat   whatever was published up to here has been written down, except what is still on its way: windows close even
           where nothing is published
    end    nothing comes any more; one for the folder, by whoever ends it

Files are written under another name and renamed, so that none is ever read by half; their times of change rise.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gossamer.arrays import Numbers
from gossamer.errors import DataError
from gossamer.trace.folder import column, renamed
from gossamer.trace.tables import VERSION

__all__ = ["BEAT", "END", "FORMS", "ROLLED", "TICK_US", "happenings", "mark", "numbered", "roll", "write_rolled"]

BEAT: Final = "beat"
END: Final = "end"
FORMS: Final = ("parquet", "jsonl")
TICK_US: Final = 1_000_000
"""What a tick of a simulation takes: a second, so that a window of a minute is sixty of them."""
ROLLED: Final = pa.schema(
    [
        pa.field("source", pa.string(), nullable=False),
        pa.field("n", pa.int64(), nullable=False),
        pa.field("what", pa.string(), nullable=False),
        pa.field("published_us", pa.int64(), nullable=False),
        pa.field("event", pa.int64()),
        pa.field("node", pa.int32()),
        pa.field("row", pa.int32()),
        pa.field("sender", pa.int32()),
        pa.field("cycle", pa.int32()),
        pa.field("tick", pa.int64()),
        pa.field("hop", pa.int32()),
        pa.field("first", pa.int32()),
        pa.field("tries", pa.int32()),
        pa.field("wanted", pa.int64()),
        pa.field("duplicate", pa.bool_()),
        pa.field("repaired", pa.bool_()),
    ],
    metadata={"gossamer.table": "rolled", "gossamer.trace": str(VERSION)},
)
"""Who wrote it down and its number there; ``publications``, ``receipts``, ``deliveries`` or a mark; microseconds since 1970.
Then the columns of those tables, null where a table has none of the name; ``wanted`` of a receipt is 0 or 1."""
_WHAT: Final = ("publications", "receipts", "deliveries")
_SEARCHES: Final = 1 << 40
"""From here on the numbers are of publishers that only searched: nothing was spread."""
_STEP_NS: Final = 1_000_000


def happenings(tables: Mapping[str, pa.Table], tick_us: int = TICK_US) -> pa.Table:
    """The tables of a run as rows of ROLLED in the order of time, without numbers and source."""
    if not all(name in tables for name in _WHAT[:2]):
        raise DataError("no receipts in this run: its events spread while gossip stood still\nHint: events.frozen = false")
    events = tables["publications"]
    events = events.filter(pa.array(column(events, "event") < _SEARCHES))
    number, tick = column(events, "event"), column(events, "tick")
    order = np.argsort(number)
    parts, when, rank = [], [], []
    for n, name in enumerate(_WHAT):
        table = events if n == 0 else tables.get(name)
        if table is None:
            continue
        event = column(table, "event")
        place = order[np.minimum(np.searchsorted(number[order], event), number.shape[0] - 1)]
        if not np.array_equal(number[place], event):
            raise DataError(f"{name}: an event that was never published; the tables are of two runs")
        own = {field.name: table.column(field.name) for field in ROLLED if field.name in table.column_names}
        own |= {"what": pa.array([name] * table.num_rows), "published_us": pa.array(tick[place] * tick_us)}
        parts.append(_filled(own, table.num_rows))
        when.append(column(table, "tick"))
        rank.append(np.full(table.num_rows, n))
    turn = np.lexsort((np.concatenate(rank), np.concatenate(when)))
    return pa.concat_tables(parts).take(pa.array(turn))


def _filled(own: Mapping[str, pa.Array], size: int) -> pa.Table:
    """Columns of ROLLED, null where nothing is given."""
    columns = [own[it.name].cast(it.type) if it.name in own else pa.nulls(size, it.type) for it in ROLLED]
    return pa.Table.from_arrays(columns, names=ROLLED.names)


def mark(what: str, published_us: int) -> pa.Table:
    """A beat or the end, not yet numbered."""
    return _filled({"what": pa.array([what]), "published_us": pa.array([published_us])}, 1)


def numbered(table: pa.Table, source: str, start: int) -> pa.Table:
    """Rows with their source and their numbers there."""
    own = {name: table.column(name) for name in ROLLED.names}
    own["source"] = pa.array([source] * table.num_rows)
    own["n"] = pa.array(np.arange(start, start + table.num_rows))
    return _filled(own, table.num_rows).cast(ROLLED)


def write_rolled(folder: Path, number: int, source: str, table: pa.Table, form: str = "parquet") -> Path:
    """Write one file, whole or not at all."""
    path = folder / f"{number:09d}-{source}.{form}"
    with renamed(path) as partial:
        if form == "parquet":
            pq.write_table(table.cast(ROLLED), partial, compression="zstd")
        else:
            lines = ({name: it for name, it in row.items() if it is not None} for row in table.to_pylist())
            partial.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def roll(
    tables: Mapping[str, pa.Table],
    folder: Path,
    *,
    source: str = "sim",
    ticks: int = 60,
    tick_us: int = TICK_US,
    form: str = "parquet",
) -> int:
    """Turn the tables of a finished run into rolled files, one for so many ticks, each with a beat; how many there are."""
    rows = happenings(tables, tick_us)
    if folder.is_dir() and any(folder.iterdir()):
        raise DataError(f"{folder}: holds something already\nHint: choose another folder")
    tick = column(rows, "tick")
    last = int(tick.max(initial=0)) // ticks
    edges: Numbers = np.searchsorted(tick, np.arange(last + 2) * ticks)
    start, changed_ns = 0, 0
    for n in range(last + 1):
        closing = [mark(BEAT, (n + 1) * ticks * tick_us)] + [mark(END, (n + 1) * ticks * tick_us)] * (n == last)
        table = pa.concat_tables([rows.slice(int(edges[n]), int(edges[n + 1] - edges[n])), *closing])
        path = write_rolled(folder, n, source, numbered(table, source, start), form)
        start += table.num_rows
        # A reader takes files by the time of their change, which may be the same for some that were written at once.
        changed_ns = max(path.stat().st_mtime_ns, changed_ns + _STEP_NS)
        os.utime(path, ns=(changed_ns, changed_ns))
    return last + 1
