"""The user's own events and filters as a world to simulate: every filter a node, every box of it a row.

What is simulated fits one machine's memory, so it is read here, without Spark, by the readers that ``gossamer truth`` has.
Of very many events some are taken, evenly; the others would say nothing new about what a system costs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from gossamer.arrays import Coordinates
from gossamer.errors import DataError
from gossamer.interest.ask import HIGH, LOW
from gossamer.interest.predicate import Filter
from gossamer.pipeline import cells, source
from gossamer.pipeline.cells import Profile, Reading
from gossamer.pipeline.interests import parsed, sources
from gossamer.pipeline.verdict import holds_all
from gossamer.scenario.given import Interests, Published
from gossamer.truth.judge import count

__all__ = ["OwnWorld", "inferred", "read"]

_MOST_BYTES: Final = 1 << 30
_MOST_FILTERS: Final = 1_000_000
_SHOWN: Final = 5


class OwnWorld(NamedTuple):
    """Who wants what and what is published, as it was found in files."""

    interests: Interests
    published: Published
    reading: Reading
    events: int
    """Those that could be taken, before some were chosen."""
    bad: list[str]
    """Why rows and filters could not be taken, the first few."""
    bad_count: int
    only_in_box: int
    """Pairs of a filter and an event that lies in its boxes and does not match its text, as where a text of eight bytes and
    more is asked for: the subscriber refuses them at last. To the overlay they are wanted, so they are counted here."""
    name: str
    """A hash of all of it."""


def read(events: Sequence[str], interests: Path, schema: Path | None, most: int) -> OwnWorld:
    """Read files of events and a file of filters; at most so many events are kept."""
    parts = source.chunks(source.files(events))
    size = sum(Path(path).stat().st_size for path in {part.path for part in parts})
    if size > _MOST_BYTES:
        raise DataError(f"the events take {size >> 20} MiB, more than {_MOST_BYTES >> 20}\nHint: a sample of them will do")
    rows = [source.read(part) for part in parts]
    reading = cells.loaded(schema, parts[0].header if parts else ()) if schema is not None else inferred(rows)
    points, texts, bad = [], [], []
    for part, some in zip(parts, rows, strict=True):
        codes, words, wrong = cells.encoded(reading, some)
        right = pa.array(np.delete(np.arange(codes.shape[0]), list(wrong)))
        texts.append([column.take(right) for column in words])
        bad += [f"{part.path}:{some.line[at]}: {why}" for at, why in sorted(wrong.items())]
        bad += [f"{part.path}:{it.line}: {it.reason}" for it in some.bad]
        points.append(np.delete(codes, list(wrong), axis=0))
    every = np.concatenate(points) if points else np.empty((0, len(reading.schema)), np.int64)
    filters = []
    for it in chain.from_iterable(parsed(reading.schema, part) for part in sources(interests)):
        if isinstance(it, source.Bad):
            bad.append(f"{interests}:{it.line}: {it.reason}")
        else:
            filters.append(it.filter)
    if not every.shape[0] or len(filters) < 2 or len(filters) > _MOST_FILTERS:  # noqa: PLR2004
        found = f"{every.shape[0]} events and {len(filters)} filters"
        first = f"; the first that could not be taken: {bad[0]}" if bad else ""
        raise DataError(f"found {found}, expected some events and 2 to {_MOST_FILTERS} filters{first}")
    chosen = np.linspace(0, every.shape[0] - 1, min(most, every.shape[0])).astype(np.int64)
    taken = np.ascontiguousarray(every[chosen])
    fields = cells.text_fields(reading.schema)
    said = {d: pa.chunked_array([some[n] for some in texts]).take(pa.array(chosen)) for n, d in enumerate(fields)}
    boxes = np.concatenate([it.boxes for it in filters])
    node = np.repeat(np.arange(len(filters)), [it.boxes.shape[0] for it in filters]).astype(np.int32)
    matches = count(boxes, np.zeros(boxes.shape[0], np.uint64), taken).counts
    told = hashlib.blake2b(digest_size=6)
    for array in (boxes, node, taken, reading.schema.scales()):
        told.update(np.ascontiguousarray(array).tobytes())
    return OwnWorld(
        interests=Interests(boxes, node, reading.schema.scales()),
        published=Published(taken, matches.astype(np.int32)),
        reading=reading,
        events=every.shape[0],
        bad=bad[:_SHOWN],
        bad_count=len(bad),
        only_in_box=sum(_only_in_box(it, taken, said) for it in filters if not it.exact),
        name=told.hexdigest(),
    )


def _only_in_box(wanted: Filter, points: Coordinates, texts: Mapping[int, pa.ChunkedArray]) -> int:
    """How many events lie in a box of a filter and do not match it."""
    held = np.zeros(points.shape[0], np.bool_)
    for box in wanted.boxes:
        held |= ((box[LOW] <= points) & (points <= box[HIGH])).all(axis=1)
    inside = np.flatnonzero(held)
    told = {d: column.take(pa.array(inside)).combine_chunks() for d, column in texts.items()}
    return int(inside.size - holds_all(wanted.condition, points[inside], told).sum())


def inferred(rows: Sequence[source.Rows]) -> Reading:
    """A schema from all cells."""
    seen: dict[str, Profile] = {}
    for name, one in chain.from_iterable(cells.profiled(some).items() for some in rows):
        seen[name] = cells.merged(seen.get(name, Profile()), one)
    if not seen:
        raise DataError("the events: no rows\nHint: a line of names, then a line an event")
    return cells.inferred(seen)
