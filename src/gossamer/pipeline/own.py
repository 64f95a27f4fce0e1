"""The user's own events and interests: read, refused or taken row by row, and judged.

    reading = infer(spark, chunks(files(["quakes/*.csv"])))      # or cells.loaded(schema file)
    published = events(spark, reading, parts)                    # OWN_EVENTS; a bad row has a reason and no point
    wanted = interests(spark, reading.schema, sources(path))     # WANTED; a bad filter likewise
    answers(wanted.where("bad is null"), published.where("bad is null"), plan)

An event's number is its line, counted on through all files. Two numbers come out for each event: how many filters have it in a
box, which is what other nodes can tell, and how many it matches, by the text of each filter. They differ where a box cannot
say all: for texts of eight bytes and more, and for filters of so many boxes that some were merged.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from gossamer.arrays import Coordinates, Keys, Mask, Numbers
from gossamer.draws import mix
from gossamer.errors import DataError
from gossamer.interest.predicate import Filter
from gossamer.interest.schema import Schema
from gossamer.jit import sweep
from gossamer.pipeline.cells import Profile, Reading, encoded, inferred, merged, profiled, text_fields
from gossamer.pipeline.interests import WANTED, parsed, wanted_batch
from gossamer.pipeline.plan import Plan
from gossamer.pipeline.schemas import EVENTS, Subscribed, lists, numbers, points_of, subscribed
from gossamer.pipeline.source import Chunk, read
from gossamer.pipeline.truth import judged, loads, pairs_within
from gossamer.pipeline.verdict import holds_all
from gossamer.truth import judge

__all__ = [
    "ANSWERS",
    "OWN_EVENTS",
    "OWN_PAIRS",
    "DataFrame",
    "answers",
    "bad_rows",
    "counted",
    "events",
    "explained",
    "infer",
    "interests",
    "kept",
    "pairs",
    "summed",
    "without_twins",
    "written",
]

OWN_EVENTS: Final = EVENTS + ", texts array<string>, bad string"
"""Events with the texts whose codes do not say all, and what is wrong with those that cannot be taken."""
ANSWERS: Final = "event long, file string, line long, in_box long, matches long, hash long"
"""For each event how many filters have it in a box, how many it matches, and a hash of the latter's ids."""
OWN_PAIRS: Final = "event long, file string, line long, id string"
"""For each event the ids of the filters it matches, a line each."""
PROFILES: Final = "place int, name string, seen string"
_ARROW_EVENTS = pa.schema(
    [
        ("event", pa.int64()),
        ("key", pa.int64()),
        ("cycle", pa.int32()),
        ("point", pa.list_(pa.int64())),
        ("texts", pa.list_(pa.string())),
        ("bad", pa.string()),
    ]
)
_ROWS_AT_ONCE: Final = 1 << 16
_CHUNKS_A_TASK: Final = 4
_SHOWN: Final = 5
"""Complaints that are listed; the others are counted."""


def infer(spark: SparkSession, parts: Sequence[Chunk]) -> Reading:
    """A schema from all cells. Only a few numbers a chunk and column come back here."""

    def seen(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found: dict[str, Profile] = {}
        for chunk in _of(parts, batches):
            for name, one in profiled(read(chunk)).items():
                found[name] = merged(found.get(name, Profile()), one)
        rows = [{"place": i, "name": name, "seen": json.dumps(one._asdict())} for i, (name, one) in enumerate(found.items())]
        yield pa.RecordBatch.from_pylist(rows, schema=_ARROW_PROFILES)

    whole: dict[str, Profile] = {}
    told = (
        _each(spark, len(parts)).mapInArrow(seen, PROFILES).toArrow().sort_by([("place", "ascending"), ("name", "ascending")])
    )
    for row in told.to_pylist():
        whole[row["name"]] = merged(whole.get(row["name"], Profile()), Profile(**json.loads(row["seen"])))
    if not whole:
        raise DataError(f"{parts[0].path if parts else 'the events'}: no rows\nHint: a line of names, then a line an event")
    return inferred(whole)


_ARROW_PROFILES = pa.schema([("place", pa.int32()), ("name", pa.string()), ("seen", pa.string())])


def events(spark: SparkSession, reading: Reading, parts: Sequence[Chunk]) -> DataFrame:
    """The rows of all files, as OWN_EVENTS."""

    def made(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for chunk in _of(parts, batches):
            rows = read(chunk)
            codes, texts, wrong = encoded(reading, rows)
            number = rows.line + chunk.first
            bad = np.full(number.shape[0], None, dtype=object)
            for at, told in wrong.items():
                bad[at] = f"{chunk.path}:{rows.line[at]}: {told}"
            for start in range(0, number.shape[0], _ROWS_AT_ONCE):
                some = slice(start, start + _ROWS_AT_ONCE)
                yield _events_batch(number[some], codes[some], [it[some] for it in texts], bad[some])
            if rows.bad:
                refused = [{"event": it.line + chunk.first, "bad": f"{chunk.path}:{it.line}: {it.reason}"} for it in rows.bad]
                yield pa.RecordBatch.from_pylist(refused, schema=_ARROW_EVENTS)

    return _each(spark, len(parts)).mapInArrow(made, OWN_EVENTS)


def _events_batch(number: Numbers, codes: Coordinates, texts: list[pa.Array], bad: NDArray[np.object_]) -> pa.RecordBatch:
    size = number.shape[0]
    # Cells field by field become lists row by row: (F, n) turned to (n, F).
    cells = pa.concat_arrays(texts) if texts else pa.array([], pa.string())
    turn = np.arange(len(texts) * size).reshape(len(texts), size).T.reshape(-1)
    offsets = pa.array(np.arange(size + 1, dtype=np.int32) * np.int32(len(texts)))
    columns = [
        pa.array(number),
        pa.array(number),
        pa.array(np.zeros(size, dtype=np.int32)),
        lists(codes),
        pa.ListArray.from_arrays(offsets, cells.take(pa.array(turn))),
        pa.array(bad, pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_ARROW_EVENTS)


def interests(spark: SparkSession, schema: Schema, parts: Sequence[Chunk]) -> DataFrame:
    """The filters of a file, as WANTED."""

    def made(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for chunk in _of(parts, batches):
            yield wanted_batch(list(parsed(schema, chunk)), chunk.path)

    return _each(spark, len(parts)).mapInArrow(made, WANTED)


def without_twins(wanted: DataFrame) -> DataFrame:
    """Filters whose id was used in a line before are bad."""
    first = F.min("node").over(Window.partitionBy("id"))
    twin = F.col("bad").isNull() & (F.col("node") != first)
    told = F.concat(F.lit("line "), F.col("node"), F.lit(": the id "), F.col("id"), F.lit(" stands in line "), first)
    return wanted.withColumn("bad", F.when(twin, told).otherwise(F.col("bad")))


def bad_rows(table: DataFrame, number: str) -> tuple[int, list[str]]:
    """How many rows cannot be taken, and the first few complaints."""
    bad = table.where(F.col("bad").isNotNull()).select(number, "bad").distinct()
    few = [row["bad"] for row in bad.orderBy(number).limit(_SHOWN).toArrow().to_pylist()]
    return (bad.count() if len(few) == _SHOWN else len(few)), few


def _each(spark: SparkSession, size: int) -> DataFrame:
    """The numbers of chunks, in as many partitions as there are, within reason."""
    cores = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    return spark.range(0, size, 1, max(1, min(size, max(cores * _CHUNKS_A_TASK, size // _CHUNKS_A_TASK))))


def _of(parts: Sequence[Chunk], batches: Iterable[pa.RecordBatch]) -> Iterator[Chunk]:
    for batch in batches:
        for n in numbers(batch, "id").tolist():
            yield parts[n]


def answers(wanted: DataFrame, published: DataFrame, plan: Plan, schema: Schema, parts: Sequence[Chunk]) -> DataFrame:
    """For each event in how many boxes it lies, how many filters it matches, and who they are as a hash: -> ANSWERS."""
    return judged(wanted.drop("bad"), published.drop("bad"), plan, partial(_answer, schema, _places(parts)), ANSWERS)


def pairs(wanted: DataFrame, published: DataFrame, plan: Plan, schema: Schema, parts: Sequence[Chunk]) -> DataFrame:
    """Each event with each filter it matches: -> OWN_PAIRS."""
    return judged(wanted.drop("bad"), published.drop("bad"), plan, partial(_pair, schema, _places(parts)), OWN_PAIRS)


Places = tuple[list[int], list[str]]
"""Lines before each file, and its name."""


def _places(parts: Sequence[Chunk]) -> Places:
    found = Counter({part.path: part.first for part in parts})
    paths = sorted(found, key=lambda path: (found[path], path))
    return [found[path] for path in paths], paths


def _located(places: Places, event: Numbers) -> list[pa.Array]:
    """File and line of each event."""
    firsts = np.array(places[0], dtype=np.int64)
    at = np.searchsorted(firsts, event, side="left") - 1
    names = pa.DictionaryArray.from_arrays(pa.array(at.astype(np.int32)), pa.array(places[1], pa.string()))
    return [names.cast(pa.string()), pa.array(event - firsts[at])]


def _answer(schema: Schema, places: Places, _task: int, boxes: pa.Table, published: pa.Table) -> Iterator[pa.RecordBatch]:
    event, points = numbers(published, "event"), points_of(published)
    counts, hashes = np.zeros(event.shape[0], dtype=np.int64), np.zeros(event.shape[0], dtype=np.uint64)
    in_box = counts.copy()
    if boxes.num_rows:
        it = subscribed(boxes)
        careful = numbers(boxes, "careful").astype(np.bool_)
        plain = judge.count(it.boxes[~careful], it.key[~careful], points)
        counts, hashes, in_box = plain.counts, plain.hashes, plain.counts.copy()
        for which, first, matched in _looked_at(schema, boxes, it, careful, published, points):
            in_box += np.bincount(which, minlength=event.shape[0])
            counts += np.bincount(which[matched], minlength=event.shape[0])
            _add_all(which[matched], it.key[first[matched]], hashes)
    columns = [pa.array(event), *_located(places, event), pa.array(in_box), pa.array(counts), pa.array(hashes.view(np.int64))]
    yield pa.RecordBatch.from_arrays(columns, names=["event", "file", "line", "in_box", "matches", "hash"])


@sweep
def _add_all(which: Numbers, keys: Keys, hashes: Keys) -> None:
    for i in range(which.shape[0]):
        hashes[which[i]] += mix(keys[i])


def _pair(schema: Schema, places: Places, _task: int, boxes: pa.Table, published: pa.Table) -> Iterator[pa.RecordBatch]:
    if not boxes.num_rows:
        return
    boxes = boxes.sort_by("row")
    event, points, it = numbers(published, "event"), points_of(published), subscribed(boxes)
    careful = numbers(boxes, "careful").astype(np.bool_)
    plain = np.flatnonzero(~careful)
    for which, member in pairs_within(it.boxes[plain], points):
        yield _pairs_batch(places, event[which], boxes, plain[member])
    for which, first, matched in _looked_at(schema, boxes, it, careful, published, points):
        yield _pairs_batch(places, event[which[matched]], boxes, first[matched])


def _pairs_batch(places: Places, event: Numbers, boxes: pa.Table, row: NDArray[np.intp]) -> pa.RecordBatch:
    ids = boxes.column("id").take(pa.array(row)).combine_chunks()
    return pa.RecordBatch.from_arrays([pa.array(event), *_located(places, event), ids], names=["event", "file", "line", "id"])


def _looked_at(
    schema: Schema, boxes: pa.Table, it: Subscribed, careful: Mask, published: pa.Table, points: Coordinates
) -> Iterator[tuple[Numbers, NDArray[np.intp], Mask]]:
    """Of careful filters: events in a box of theirs, once each, the filter's first box, and whether they match."""
    those = np.flatnonzero(careful)
    if those.size == 0:
        return
    fields, column = text_fields(schema), published.column("texts").combine_chunks()
    flat = column.flatten()
    cells = {d: flat.take(pa.array(np.arange(n, len(flat), len(fields)))) for n, d in enumerate(fields)}
    exact, filters = numbers(boxes, "exact").astype(np.bool_), boxes.column("text")
    _, first, whose = np.unique(it.node[those], return_index=True, return_inverse=True)
    for which, member in pairs_within(it.boxes[those], points):
        # An event of two boxes of a filter is one pair.
        both = np.unique(whose[member].astype(np.int64) << 32 | which)
        asked, which_ = both >> 32, both & 0xFFFFFFFF
        matched = np.ones(both.shape[0], dtype=np.bool_)
        edges = np.append(np.flatnonzero(np.diff(asked, prepend=-1)), both.shape[0])
        for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            box = those[first[asked[start]]]
            if not exact[box]:
                some = which_[start:stop]
                told = Filter.parse(schema, filters[int(box)].as_py()).condition
                matched[start:stop] = holds_all(told, points[some], {d: it.take(pa.array(some)) for d, it in cells.items()})
        yield which_, those[first[asked]], matched


@contextmanager
def kept(*tables: DataFrame) -> Iterator[None]:
    """Keep tables at hand for several looks, and forget them: the next table of equal plan may have other files under it."""
    for table in tables:
        table.persist()
    try:
        yield
    finally:
        for table in tables:
            table.unpersist(blocking=True)


def counted(wanted: DataFrame, published: DataFrame) -> dict[str, Any]:
    """How many filters, boxes and events there are."""
    row = wanted.agg(
        F.countDistinct("node").alias("filters"),
        F.count(F.lit(1)).alias("boxes"),
        F.countDistinct(F.when(~F.col("exact"), F.col("node"))).alias("not_exact"),
    ).toArrow()
    return {**row.to_pylist()[0], "events": published.count()}


def summed(answer: DataFrame) -> dict[str, Any]:
    """All answers in one row."""
    row = answer.agg(
        F.coalesce(F.sum("in_box"), F.lit(0)).alias("in_box"),
        F.coalesce(F.sum("matches"), F.lit(0)).alias("matches"),
        F.count(F.when(F.col("matches") == 0, 1)).alias("nobody"),
        F.bit_xor(F.xxhash64("event", "matches", "hash")).alias("hash"),
    )
    told = dict(row.toArrow().to_pylist()[0])
    return {**told, "hash": f"{(told['hash'] or 0) & ((1 << 64) - 1):016x}"}


def explained(wanted: DataFrame, published: DataFrame, plan: Plan) -> dict[str, Any]:
    """The plan, why, and the work of each task in counters."""
    tasks = loads(wanted, published, plan).orderBy("task").toArrow().to_pylist()
    return {"way": plan.way, "why": list(plan.why), "tasks": tasks}


def written(folder: Path, answer: DataFrame, given: DataFrame | None) -> dict[str, Any]:
    """Write the answers, and the pairs where there are any, as Parquet; all answers in one row come back."""
    answer.write.parquet(str(folder / "matches"))
    told = summed(answer.sparkSession.read.parquet(str(folder / "matches")))
    if given is not None:
        given.write.parquet(str(folder / "pairs"))
        whole = given.sparkSession.read.parquet(str(folder / "pairs"))
        whole.groupBy("id").count().orderBy("id").coalesce(1).write.parquet(str(folder / "interests"))
        told["pairs"] = whole.count()
    return told
