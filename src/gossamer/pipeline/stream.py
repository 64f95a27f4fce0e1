"""Measures over traces while they are written: windows of publish time, closed as time passes them.

    stream(spark, Path("rolled"), Path("run"), Path("out"), Streaming(window_s=60, delay_s=30))

Rolled files (``trace.rolled``) come in; what was received of each event is kept until the watermark, the latest publish time
seen less the delay, passes the end of the window in which it was published. Then the whole window leaves at once and is put
beside the truth by the same functions as a finished run's tables (``measure``), so streaming equals batch.

    settings.json  what is measured; another's folder is refused      checkpoint/   Spark's: from where to go on
    truth/         who wants what                                     batches/      what each batch took out of the stream
    spreads/       receipts summed up by event                        windows/      metrics of each window
    stream.json    all of it, once the end mark has been seen

The surprising thing: late rows are not asked of Spark, whose counters are of groups and gone after a restart. Each group that
leaves says how many rows went into it, so what is late is what stands in the files and went into none.
"""

from __future__ import annotations

import json
import logging
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everybody calls it)
from pyspark.sql.streaming.query import StreamingQuery

from gossamer.arrays import NONE
from gossamer.errors import DataError
from gossamer.pipeline import truth, workload
from gossamer.pipeline.failures import told
from gossamer.pipeline.measure import beside, dissemination
from gossamer.pipeline.traces import checked, opened
from gossamer.trace.folder import renamed
from gossamer.trace.rolled import BEAT, END, FORMS

__all__ = ["CLOSED", "ROLLED", "WINDOWS", "Streamed", "Streaming", "closed", "received", "rolled", "stream", "wanting"]

ROLLED: Final = (
    "source string, n long, what string, published_us long, event long, node int, row int, sender int, cycle int, tick long, "
    "hop int, first int, tries int, wanted long, duplicate boolean, repaired boolean"
)
"""As ``trace.rolled`` has it."""
CLOSED: Final = (
    "start timestamp, end timestamp, event long, node int, read long, "
    "rows array<struct<what: string, source: string, n: long, repaired: boolean, tick: long, hop: int>>"
)
"""All that was written down of an event at a node, each row once, and how many there were; of marks and publications the node
is -1, and of marks the event."""
WINDOWS: Final = "run string, start timestamp, end timestamp, handed long, <the metrics of dissemination>"
"""``handed``: how often an application was handed an event."""
_FAR_US: Final = 7_258_118_400_000_000
"""The year 2200: where the watermark goes at the end."""
_KINDS: Final = ("publications", "receipts", "deliveries", BEAT, END)
_MARKS: Final = (BEAT, END)
_WANTING: Final = pa.schema([("event", pa.int64()), ("node", pa.int32())])
_POLL_S: Final = 0.2
_DONE: Final = "stream.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Streaming:
    """How a stream is measured."""

    window_s: int = 60
    """Events published in the same so many seconds are measured together."""
    delay_s: int = 30
    """How long after a moment rows may still come of events published then; those that come later are counted, and no more."""
    form: str = "parquet"
    """Of the rolled files: parquet or jsonl."""


class Streamed(NamedTuple):
    """What came of it; rows are those of traces, marks do not count."""

    ended: bool
    """Whether the end mark was seen; then every window is closed, and every row that is not in one was late."""
    rows: int
    """In the files."""
    twice: int
    """Of those in closed windows, how many had been written before."""
    late: int | None
    """How many came after their window was closed; None before the end."""
    waiting: int
    """Before the end: how many wait for their window to close, or were late."""
    windows: int
    events: int
    metrics: Mapping[str, Any]
    """Of all events in closed windows together."""


# ------------------------------------------------------------------------------------------------ from rows to windows


def rolled(spark: SparkSession, folder: Path, form: str, files: int = 0) -> DataFrame:
    """Rows of rolled files as they come, as ROLLED with the moment of publishing; at most so many files at once, 0 for all."""
    reader = spark.readStream.schema(ROLLED).option("pathGlobFilter", f"*.{form}")
    if files:
        reader = reader.option("maxFilesPerTrigger", files)
    rows = reader.parquet(str(folder)) if form == "parquet" else reader.option("mode", "FAILFAST").json(str(folder))
    # The end moves the watermark past every window: it stands for itself and for a beat in the far future.
    moments = F.when(_what() == END, F.array("published_us", F.lit(_FAR_US))).otherwise(F.array("published_us"))
    whole = rows.withColumn("what", _what()).withColumn("moment", F.explode(moments))
    return whole.withColumn("published", F.timestamp_micros("moment")).withColumn(
        "what", F.when(F.col("moment") == F.col("published_us"), F.col("what")).otherwise(F.lit(BEAT))
    )


def _what() -> Column:
    """The kind of a row; an error where it is none of ours."""
    right = F.col("what").isin(*_KINDS) & F.col("published_us").isNotNull()
    ours = F.col("what").isin(*_MARKS) | F.col("event").isNotNull()
    kinds = ", ".join(_KINDS)
    said = F.concat(F.lit("a row that is not a trace's in "), F.col("_metadata.file_path"), F.lit(f"; expected one of {kinds}"))
    return F.when(right & ours, F.col("what")).otherwise(F.raise_error(said))


def closed(rows: DataFrame, how: Streaming) -> DataFrame:
    """What was written down of each event at each node, as CLOSED, when the watermark has passed its window."""
    row = F.struct("what", "source", "n", "repaired", "tick", "hop")
    none = F.lit(NONE)
    return (
        rows.withWatermark("published", f"{how.delay_s} seconds")
        .groupBy(
            F.window("published", f"{how.window_s} seconds").alias("window"),
            F.coalesce("event", none.cast("long")).alias("event"),
            F.coalesce("node", none).alias("node"),
        )
        .agg(F.count("*").alias("read"), F.collect_set(row).alias("rows"))
        .select(F.col("window.start").alias("start"), F.col("window.end").alias("end"), "event", "node", "read", "rows")
    )


def received(pairs: DataFrame) -> DataFrame:
    """CLOSED as ``measure.gathered`` has it, and how often the application was handed the event."""
    copies = F.filter("rows", lambda row: row["what"] == "receipts")
    order = F.transform(
        copies,
        lambda row: F.struct(
            row["repaired"].alias("repaired"), row["tick"].alias("tick"), row["hop"].cast("long").alias("hop")
        ),
    )
    handed = F.size(F.filter("rows", lambda row: row["what"] == "deliveries"))
    return pairs.select(
        "start",
        "end",
        "event",
        "node",
        F.array_min(order).alias("first"),
        F.size(copies).alias("copies"),
        handed.alias("handed"),
    )


def _measured(pairs: DataFrame, who: DataFrame, run: str) -> DataFrame:
    """Closed pairs beside the truth, an event a row: as SPREADS, with its window and how often it was handed over."""
    got = received(pairs.where(F.col("event") != NONE)).withColumn("run", F.lit(run))
    events = got.groupBy("run", "event", "start", "end").agg(F.sum("handed").alias("handed"))
    wanted = who.withColumn("run", F.lit(run)).join(events.select("event"), "event", "left_semi")
    spreads = beside(got.where("copies > 0").select("run", "event", "node", "first", "copies"), wanted)
    # An event that nobody wants and nobody got is one, too.
    return events.join(spreads, ["run", "event"], "left").na.fill(0)


def _close(out: str, run: str, batch: DataFrame, number: int) -> None:
    """Write down what one batch took out of the stream. Done again after a restart, it puts the same in its place."""
    folder = Path(out)
    pairs = batch.persist()
    try:
        mark = F.col("event") == NONE
        # One row of sums.
        sums = pairs.agg(
            F.sum(F.when(~mark, F.col("read"))).alias("rows"),
            F.sum(F.when(~mark, F.col("read") - F.size("rows"))).alias("twice"),
            F.count_distinct(F.when(~mark, F.col("event"))).alias("events"),
            F.count_distinct(F.when(~mark, F.col("start"))).alias("windows"),
            F.max(F.exists("rows", lambda row: row["what"] == END)).alias("ended"),
        ).head()
        found = {} if sums is None else {name: it or 0 for name, it in sums.asDict().items()}
        if found.get("events"):
            who = batch.sparkSession.read.parquet(str(folder / "truth"))
            spreads = _measured(pairs, who, run)
            _put(spreads, folder / "spreads", number)
            kept = batch.sparkSession.read.parquet(str(folder / "spreads" / _of_batch(number)))
            handed = kept.groupBy("run", "start", "end").agg(F.sum("handed").alias("handed"))
            each = dissemination(kept, ["run", "start", "end"])
            _put(handed.join(each, ["run", "start", "end"]), folder / "windows", number)
    finally:
        pairs.unpersist()
    with renamed(folder / "batches" / f"{number:06d}.json") as path:
        path.write_text(json.dumps(found) + "\n", encoding="utf-8")


def _of_batch(number: int) -> str:
    return f"batch={number:06d}"


def _put(table: DataFrame, folder: Path, number: int) -> None:
    """One batch's part of a table, whole or not at all."""
    partly, place = folder.with_name(f".{folder.name}.partial"), folder / _of_batch(number)
    table.coalesce(1).write.mode("overwrite").parquet(str(partly))
    folder.mkdir(exist_ok=True)
    shutil.rmtree(place, ignore_errors=True)
    partly.rename(place)


# ------------------------------------------------------------------------------------------------ beginning and ending


def wanting(spark: SparkSession, place: Path) -> DataFrame:
    """Who wants what, as event, node, staying: out of a folder of pairs, or judged from the scenario of a run."""
    if (place / "run.json").is_file():
        found = opened(place, place.name)
        subscriptions = workload.subscriptions(spark, found.scenario, found.it.seed)
        pairs = truth.pairs(subscriptions, workload.events(spark, found.scenario, found.it.seed))
    else:
        files = sorted(path for path in place.rglob("*.parquet") if not path.name.startswith((".", "_")))
        if not files:
            raise DataError(
                f"{place}: neither a run's folder nor one with Parquet files of event and node\n"
                "Hint: --truth RUN, where RUN is what gossamer simulate wrote"
            )
        for path in files:
            checked(path, _WANTING)
        pairs = spark.read.parquet(*map(str, files))
    return pairs.select("event", "node").distinct().withColumn("staying", F.expr("true"))


def stream(
    spark: SparkSession,
    folder: Path,
    known: Path,
    out: Path,
    how: Streaming | None = None,
    *,
    once: bool = False,
    files: int = 0,
    every_s: float = 1.0,
    tell: Callable[[Streamed], None] = lambda _: None,
) -> Streamed:
    """Measure rolled files until the end mark comes; with ``once`` only what is there now. Called again, it goes on.

    folder, known : the rolled files; the truth, as for ``wanting``
    files         : at most so many at once, 0 for all there are
    every_s       : how often to look for new files
    tell          : called with what is known so far, without counts of what is not closed
    """
    how = how or Streaming()
    _room(folder, known, out, how)
    if (out / _DONE).is_file():
        return Streamed(**json.loads((out / _DONE).read_text("utf-8")))
    with told("streaming"), _once():
        if not (out / "truth").exists():
            _write_truth(spark, known, out)
        rows = closed(rolled(spark, folder, how.form, files), how)
        writer = rows.writeStream.outputMode("append").option("checkpointLocation", str(out / "checkpoint"))
        writer = writer.foreachBatch(partial(_close, str(out), folder.resolve().name))
        writer = writer.trigger(availableNow=True) if once else writer.trigger(processingTime=f"{every_s:g} seconds")
        query = writer.start()
        try:
            _wait(query, out, tell)
        finally:
            query.stop()
        found = _outcome(spark, folder, out, how)
    if found.ended:
        with renamed(out / _DONE) as path:
            path.write_text(json.dumps(found._asdict(), indent=1) + "\n", encoding="utf-8")
    return found


def _room(folder: Path, known: Path, out: Path, how: Streaming) -> None:
    """Whether it can be done there, and nothing else has been."""
    if not folder.is_dir():
        raise DataError(f"{folder}: {'a file' if folder.exists() else 'not there'}, expected a folder of rolled files")
    if how.form not in FORMS or how.window_s <= 0 or how.delay_s < 0:
        raise DataError(f"found {how}, expected a window above 0, a delay from 0 on, and one of {', '.join(FORMS)}")
    here = {"folder": str(folder.resolve()), "truth": str(known.resolve()), **asdict(how)}
    path = out / "settings.json"
    if not path.is_file():
        if out.is_dir() and any(out.iterdir()):
            raise DataError(f"{out}: holds something else, and was left alone\nHint: another --out")
        with renamed(path) as partly:
            partly.write_text(json.dumps(here, indent=1) + "\n", encoding="utf-8")
        return
    there = json.loads(path.read_text("utf-8"))
    for name, value in here.items():
        if there.get(name) != value:
            raise DataError(
                f"{out}: was begun with {name} = {there.get(name)}, found {value}\nHint: the same again, or another --out"
            )


def _write_truth(spark: SparkSession, known: Path, out: Path) -> None:
    partly = out / ".truth.partial"
    wanting(spark, known).write.mode("overwrite").parquet(str(partly))
    partly.rename(out / "truth")


@contextmanager
def _once() -> Iterator[None]:
    """What a batch dies of is raised by the query; the bridge to Java would print all of it before."""
    bridge = logging.getLogger("py4j")
    level = bridge.level
    bridge.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        bridge.setLevel(level)


def _wait(query: StreamingQuery, out: Path, tell: Callable[[Streamed], None]) -> None:
    """Until the query ends by itself, or the end mark has left it."""
    heard = 0
    while query.isActive:
        batches = _batches(out)
        if len(batches) > heard:
            heard = len(batches)
            tell(_so_far(batches))
        if any(it["ended"] for it in batches):
            return
        time.sleep(_POLL_S)
    query.awaitTermination()  # raises what it died of


def _batches(out: Path) -> list[dict[str, int]]:
    """What each batch has taken out of the stream."""
    found = [json.loads(path.read_text("utf-8")) for path in sorted((out / "batches").glob("*.json"))]
    return [it for it in found if it]


def _so_far(batches: Sequence[Mapping[str, int]], rows: int = 0, metrics: Mapping[str, Any] | None = None) -> Streamed:
    taken, twice, windows, events = (sum(it[name] for it in batches) for name in ("rows", "twice", "windows", "events"))
    ended = any(it["ended"] for it in batches)
    return Streamed(
        ended=ended,
        rows=rows or taken,
        twice=twice,
        late=max(rows - taken, 0) if ended else None,
        waiting=0 if ended else max(rows - taken, 0),
        windows=windows,
        events=events,
        metrics=metrics or {},
    )


def _outcome(spark: SparkSession, folder: Path, out: Path, how: Streaming) -> Streamed:
    """All batches together."""
    reader = spark.read.schema(ROLLED).option("pathGlobFilter", f"*.{how.form}")
    rows = reader.parquet(str(folder)) if how.form == "parquet" else reader.json(str(folder))
    batches, metrics = _batches(out), {}
    if (out / "spreads").is_dir():
        of_all = dissemination(spark.read.parquet(str(out / "spreads"))).drop("run").head()  # one row
        metrics = {} if of_all is None else of_all.asDict()
    return _so_far(batches, rows.where(~F.col("what").isin(*_MARKS)).count(), metrics)
