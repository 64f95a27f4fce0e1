"""Files of filters: one a line, with an id before it or numbered by its line.

    # quakes that somebody should get up for
    felt in town <TAB> mag >= 4 AND latitude BETWEEN 33 AND 35 AND longitude BETWEEN -119 AND -117
    mag >= 6

Blank lines, and lines that begin with ``#``, say nothing. In a file that ends in ``.csv`` the first column is the id and the
second the filter, after a line of names; a filter with a comma in it stands in quotes. A filter becomes boxes, each a row of
SUBSCRIPTIONS; all of them have the key of their filter's id, so a hash of who matched does not depend on the file's order.

``careful`` is a filter whose boxes overlap, or hold more than what matches: an event in its boxes is looked at again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from gossamer.arrays import Coordinates
from gossamer.errors import InterestError
from gossamer.interest.predicate import Filter
from gossamer.interest.schema import Schema
from gossamer.pipeline.schemas import ARROW_SUBSCRIPTIONS, SUBSCRIPTIONS, Subscribed, subscriptions_batch
from gossamer.pipeline.source import Bad, Chunk, Rows, chunks, lines_of, read
from gossamer.scenario.population import NEVER

__all__ = ["ARROW_WANTED", "BOXES_OF_A_FILTER", "WANTED", "Wanted", "parsed", "sources", "wanted_batch"]

BOXES_OF_A_FILTER: Final = 512
"""Row numbers set aside for each filter; more boxes it cannot have."""
WANTED: Final = SUBSCRIPTIONS + ", id string, text string, exact boolean, careful boolean, bad string"
"""Boxes of filters; a filter that cannot be read is one row without a box, with the reason under ``bad``."""
ARROW_WANTED: Final = pa.schema(
    [
        *ARROW_SUBSCRIPTIONS,
        pa.field("id", pa.string()),
        pa.field("text", pa.string()),
        pa.field("exact", pa.bool_()),
        pa.field("careful", pa.bool_()),
        pa.field("bad", pa.string()),
    ]
)


class Wanted(NamedTuple):
    """A line of a file of filters."""

    line: int
    id: str
    filter: Filter


def sources(path: Path) -> list[Chunk]:
    """The file in chunks."""
    return chunks([path]) if path.suffix.lower() in {".csv", ".tsv"} else lines_of(path)


def parsed(schema: Schema, chunk: Chunk) -> Iterator[Wanted | Bad]:
    """What each line of a chunk asks for, or why it asks for nothing."""
    rows = read(chunk)
    yield from rows.bad
    for line, name, text in _told(chunk, rows):
        if not text:
            yield Bad(line, f"{name}: no filter after the id")
            continue
        try:
            yield Wanted(line, name, Filter.parse(schema, text))
        except InterestError as error:
            yield Bad(line, str(error))


def _told(chunk: Chunk, rows: Rows) -> Iterator[tuple[int, str, str]]:
    """Line, id and text of each filter."""
    lines = rows.line.tolist()
    if chunk.kind == "csv":
        columns = [rows.table.column(name).to_pylist() for name in rows.table.column_names[:2]]
        for line, *cells in zip(lines, *columns, strict=True):
            told = [(cell or "").strip() for cell in cells]
            yield line, (told[0] if len(told) > 1 and told[0] else str(line)), told[-1]
        return
    for line, whole in zip(lines, rows.table.column("line").to_pylist(), strict=True):
        if not whole.strip() or whole.lstrip().startswith("#"):
            continue
        name, tab, text = whole.partition("\t")
        yield line, (name.strip() or str(line)) if tab else str(line), (text if tab else whole).strip()


def key_of(name: str) -> int:
    """64 bits of an id."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big")


def overlapping(boxes: Coordinates) -> bool:
    """Whether two of a filter's boxes have a point in common."""
    low, high = boxes[:, 0], boxes[:, 1]
    met = (low[:, None] <= high[None]).all(axis=2) & (low[None] <= high[:, None]).all(axis=2)
    return bool(np.triu(met, 1).any())


def wanted_batch(found: list[Wanted | Bad], where: str) -> pa.RecordBatch:
    """Lines as rows of WANTED; ``where`` is the file's name, for complaints."""
    good = [it for it in found if isinstance(it, Wanted)]
    bad = [it for it in found if isinstance(it, Bad)]
    sizes = np.array([len(it.filter.boxes) for it in good], dtype=np.int64)
    of = np.repeat(np.arange(len(good)), sizes)
    line = np.array([it.line for it in good], dtype=np.int64)
    nth = np.arange(of.shape[0]) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    boxes = np.concatenate([it.filter.boxes for it in good]) if good else np.empty((0, 2, 1), dtype=np.int64)
    keys = np.array([key_of(it.id) for it in good], dtype=np.uint64)
    who = Subscribed(
        row=line[of] * BOXES_OF_A_FILTER + nth,
        key=keys[of],
        node=line[of].astype(np.int32),
        since=np.zeros(of.shape[0], dtype=np.int64),
        until=np.full(of.shape[0], NEVER),
        boxes=boxes,
    )
    told = subscriptions_batch(who, np.zeros(of.shape[0]))
    careful = [not it.filter.exact or overlapping(it.filter.boxes) for it in good]
    columns = [
        *told.columns,
        pa.array([good[i].id for i in of], pa.string()),
        pa.array([good[i].filter.text if careful[i] else None for i in of], pa.string()),
        pa.array([good[i].filter.exact for i in of], pa.bool_()),
        pa.array([careful[i] for i in of], pa.bool_()),
        pa.nulls(of.shape[0], pa.string()),
    ]
    batch = pa.RecordBatch.from_arrays(columns, schema=ARROW_WANTED)
    if not bad:
        return batch
    rows = [{"node": it.line, "bad": f"{where}:{it.line}: {it.reason}"} for it in bad]
    refused = pa.Table.from_pylist(rows, schema=ARROW_WANTED)
    whole = pa.concat_tables([pa.Table.from_batches([batch]), refused]).combine_chunks()
    return whole.to_batches()[0]
