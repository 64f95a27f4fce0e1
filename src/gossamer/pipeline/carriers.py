"""Who carries states and mail between the blocks of an overlay: files in a shared folder, or Spark's own shuffle.

``Files``: a task reads its block's state and a slice of every block's mail, and writes both anew under the tick's number. What
it reads is not touched before a later cycle is through, so a task may be tried again on any machine, and a run can go on after
its driver was killed.

``Shuffle``: state and mail are rows, grouped by the block they are for; for clusters whose machines share no folder. The rows
of each tick are written as Parquet to an address that Spark reaches (``spool``), which cuts the lineage there: without it a
tick would do all ticks before it again. Three addresses take turns, so the last finished cycle always stands.

What comes back to the driver is one row of sums a block, and nothing else.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from gossamer.arrays import NONE
from gossamer.pipeline.blocks import Done, Job, Step, facts, spread, step
from gossamer.pipeline.exchange import Pack, in_bytes, mail_of, pieces_for, write
from gossamer.sim.checkpoint import Arrays
from gossamer.sim.lanes import taken
from gossamer.sim.part import Batch, Piece

__all__ = ["PACKETS", "TOLD", "Carrier", "Files", "Shuffle", "idle"]

TOLD: Final = "block int, part int, payload binary"
"""What a task tells the driver: sums, as a pack; in parts, where it is long."""
PACKETS: Final = "block int, kind string, written int, source int, part int, payload binary"
"""What is shuffled: states, mail and what is told, as packs cut into parts; by the block they are for."""
_TOLD: Final = pa.schema([("block", pa.int32()), ("part", pa.int32()), ("payload", pa.binary())])
_PACKETS: Final = pa.schema(
    [
        ("block", pa.int32()),
        ("kind", pa.string()),
        ("written", pa.int32()),
        ("source", pa.int32()),
        ("part", pa.int32()),
        ("payload", pa.binary()),
    ]
)
_PART_BYTES: Final = 8 << 20
_SPOOLS: Final = 3


class Carrier(Protocol):
    """Runs supersteps, and keeps what blocks were after the last one."""

    def prepare(self) -> dict[str, Any]:
        """Get what all tasks need to its place; what is to be known of the run."""
        ...

    def tick(self, now: Step) -> list[Pack]:
        """Run a superstep; what each block tells of it."""
        ...

    def spread(self, cycle: int, since: int, *, burden_too: bool) -> Pack:
        """Let events spread in the whole world; tables and metrics."""
        ...

    def forget(self, since: int, mail: Iterable[int]) -> None:
        """A cycle is through: keep what blocks were after a tick, and mail of some ticks."""
        ...


def _parts(payload: bytes) -> Iterator[tuple[int, bytes]]:
    """Bytes cut to what a row may hold."""
    for part, start in enumerate(range(0, len(payload), _PART_BYTES)):
        yield part, payload[start : start + _PART_BYTES]


def _joined(rows: Iterable[Any]) -> dict[int, bytes]:
    """The bytes of each block, out of rows in any order."""
    found: dict[int, bytes] = {}
    for row in sorted(rows, key=lambda row: (row.block, row.part)):
        found[row.block] = found.get(row.block, b"") + bytes(row.payload)
    return found


def _told_of(done: Done, sizes: dict[str, int]) -> bytes:
    return in_bytes({"right": done.right, "wanted": done.wanted}, done.more | sizes)


def _ask(spark: SparkSession, tasks: int, work: Callable[[int], bytes]) -> list[Pack]:
    """Let so many tasks work, and hear what they tell."""

    def told(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():  # one a task
                parts = list(_parts(work(number)))
                columns = {"block": [number] * len(parts), "part": [n for n, _ in parts], "payload": [it for _, it in parts]}
                yield pa.RecordBatch.from_pydict(columns, _TOLD)

    rows = spark.range(0, tasks, 1, tasks).mapInArrow(told, TOLD).collect()  # sums alone
    return [Pack(payload) for _, payload in sorted(_joined(rows).items())]


def idle(spark: SparkSession, tasks: int) -> None:
    """A superstep in which nobody has anything to do."""
    _ask(spark, tasks, lambda _: in_bytes({}, {}))


# ---------------------------------------------------------------------------------------------------- files


class Files:
    """By files in a folder that all workers see: ``state/<tick>/<block>`` and ``mail/<tick>/<block>``."""

    def __init__(self, spark: SparkSession, job: Job) -> None:
        self.spark, self.job = spark, job

    def prepare(self) -> dict[str, Any]:
        """Lay the population down, in one task."""
        job = self.job
        return _ask(self.spark, 1, lambda _: in_bytes({}, facts(job)))[0].more

    def tick(self, now: Step) -> list[Pack]:
        """Run a superstep, a task a block."""
        job = self.job
        return _ask(self.spark, job.blocks, lambda number: _tick_of_file(job, now, number))

    def spread(self, cycle: int, since: int, *, burden_too: bool) -> Pack:
        """Let events spread, in one task."""
        job = self.job
        return _ask(self.spark, 1, lambda _: _spread_of_files(job, cycle, since, burden_too=burden_too))[0]

    def forget(self, since: int, mail: Iterable[int]) -> None:
        """Remove what no cycle to come will read."""
        kept = {"state": {str(since)}, "mail": {str(tick) for tick in mail}}
        for kind, names in kept.items():
            folder = Path(self.job.place, kind)
            for old in folder.iterdir() if folder.exists() else ():
                if old.name not in names:
                    shutil.rmtree(old, ignore_errors=True)


def _tick_of_file(job: Job, now: Step, number: int) -> bytes:
    place = Path(job.place)
    state: Arrays | None = None
    if now.since != NONE:
        with Pack(place / "state" / str(now.since) / f"{number}") as pack:
            state = pack.whole()
    pieces: list[tuple[str, Piece]] = []
    if not now.last:
        for written in now.arriving:
            for source in range(job.blocks):
                with Pack(place / "mail" / str(written) / f"{source}") as pack:
                    pieces += pieces_for(number, now.tick, written, source, pack)
    done = step(job, now, number, state, pieces)
    sizes = {"state_bytes": 0, "mail_bytes": 0}
    if not now.last:
        columns, lines = mail_of(done.batches)
        sizes["mail_bytes"] = write(place / "mail" / str(now.tick) / f"{number}", columns, {"batches": lines})
        sizes["state_bytes"] = write(place / "state" / str(now.tick) / f"{number}", done.state, {"block": number})
    return _told_of(done, sizes)


def _spread_of_files(job: Job, cycle: int, since: int, *, burden_too: bool) -> bytes:
    def states() -> Iterator[Pack]:
        for number in range(job.blocks if since != NONE else 0):
            with Pack(Path(job.place, "state", str(since), f"{number}")) as pack:
                yield pack

    return in_bytes(*spread(job, cycle, states(), burden_too=burden_too))


# ---------------------------------------------------------------------------------------------------- shuffle


class Shuffle:
    """By rows, grouped by the block they are for. ``spool`` is any address that Spark writes to."""

    def __init__(
        self, spark: SparkSession, job: Job, spool: str, kept: int = NONE, names: dict[int, str] | None = None
    ) -> None:
        self.spark, self.job, self.spool = spark, job, spool
        self.names = names or {}
        """Where the rows of a tick are."""
        self.kept = kept
        """The tick at which the last finished cycle ended."""

    def prepare(self) -> dict[str, Any]:
        """Each worker draws the population for itself."""
        job = self.job
        return _ask(self.spark, 1, lambda _: in_bytes({}, facts(job)))[0].more

    def tick(self, now: Step) -> list[Pack]:
        """Run a superstep: a group a block."""
        job = self.job

        def of_block(table: pa.Table) -> pa.Table:
            return _table(_tick_of_rows(job, now, table))

        before = self._before(now.since).filter(F.col("kind") != "told").repartition(job.blocks, "block")
        after = before.groupBy("block").applyInArrow(of_block, PACKETS)
        name = next(str(n) for n in range(_SPOOLS) if str(n) not in {self.names.get(now.since), self.names.get(self.kept)})
        self.names = {tick: it for tick, it in self.names.items() if it != name} | {now.tick: name}
        after.write.mode("overwrite").parquet(f"{self.spool}/{name}")
        told = self._before(now.tick).filter(F.col("kind") == "told").select("block", "part", "payload").collect()  # sums alone
        return [Pack(payload) for _, payload in sorted(_joined(told).items())]

    def spread(self, cycle: int, since: int, *, burden_too: bool) -> Pack:
        """Let events spread, where all states come together."""
        job = self.job
        if since == NONE:
            return _ask(self.spark, 1, lambda _: in_bytes(*spread(job, cycle, (), burden_too=burden_too)))[0]

        def of_all(table: pa.Table) -> pa.Table:
            states = (Pack(payload) for _, _, _, payload in _packs(table))
            payload = in_bytes(*spread(job, cycle, states, burden_too=burden_too))
            return _table([(0, "told", cycle, 0, payload)])

        states = self._before(since).filter(F.col("kind") == "state").withColumn("all", F.lit(0))
        told = states.groupBy("all").applyInArrow(lambda table: of_all(table.drop(["all"])), PACKETS)
        return Pack(_joined(told.select("block", "part", "payload").collect())[0])

    def forget(self, since: int, mail: Iterable[int]) -> None:  # noqa: ARG002  (mail that is still on its way is among the rows)
        """Let nobody write over what the cycle ended in."""
        self.kept = since

    def _before(self, since: int) -> DataFrame:
        if since != NONE:
            return self.spark.read.schema(PACKETS).parquet(f"{self.spool}/{self.names[since]}")
        empty = [F.lit(value).cast(kind).alias(name) for name, kind, value in _EMPTY]
        return self.spark.range(0, self.job.blocks, 1).select(F.col("id").cast("int").alias("block"), *empty)


_EMPTY: Final = (
    ("kind", "string", "start"),
    ("written", "int", NONE),
    ("source", "int", NONE),
    ("part", "int", 0),
    ("payload", "binary", ""),
)

Packet = tuple[int, str, int, int, bytes]
"""For which block, of which kind, written in which tick, by which block, and what."""


def _tick_of_rows(job: Job, now: Step, table: pa.Table) -> list[Packet]:
    """A superstep of one block, from all rows that are for it."""
    number = int(table.column("block")[0].as_py())
    state: Arrays | None = None
    pieces: list[tuple[str, Piece]] = []
    found: list[Packet] = []
    for kind, written, source, payload in _packs(table):
        if kind == "state":
            state = Pack(payload).whole()
        elif kind == "mail" and not now.last:
            pack = Pack(payload)
            pieces += pieces_for(number, now.tick, written, source, pack)
            if any(line["tick"] > now.tick for line in pack.more["batches"]):
                found.append((number, "mail", written, source, payload))
    done = step(job, now, number, state, pieces)
    sizes = {"state_bytes": 0, "mail_bytes": 0}
    if not now.last:
        mail = [(block, payload) for block in range(job.blocks) if (payload := _mail_for(block, done.batches))]
        payload = in_bytes(done.state, {"block": number})
        sizes = {"state_bytes": len(payload), "mail_bytes": sum(len(it) for _, it in mail)}
        found += [(block, "mail", now.tick, number, it) for block, it in mail]
        found.append((number, "state", now.tick, number, payload))
    found.append((number, "told", now.tick, number, _told_of(done, sizes)))
    return found


def _mail_for(block: int, batches: Sequence[Batch]) -> bytes:
    """A block's part of all mail, as a pack that has nothing for others."""
    mine = []
    for batch in batches:
        start, stop = int(batch.ends[block]), int(batch.ends[block + 1])
        if stop > start:
            ends = np.where(np.arange(batch.ends.shape[0]) > block, stop - start, 0)
            mine.append(batch._replace(mail=taken(batch.mail, slice(start, stop)), ends=ends))
    columns, lines = mail_of(mine)
    return in_bytes(columns, {"batches": lines}) if mine else b""


def _packs(table: pa.Table) -> Iterator[tuple[str, int, int, bytes]]:
    """The packs among rows, put together: kind, tick, source, bytes."""
    whole: dict[tuple[str, int, int], list[tuple[int, bytes]]] = {}
    columns = (table.column(name).to_pylist() for name in ("kind", "written", "source", "part", "payload"))
    for kind, written, source, part, payload in zip(*columns, strict=True):  # a few rows a block
        whole.setdefault((kind, written, source), []).append((part, payload))
    for (kind, written, source), parts in sorted(whole.items()):
        yield kind, written, source, b"".join(payload for _, payload in sorted(parts))


def _table(packets: Iterable[Packet]) -> pa.Table:
    rows = [
        {"block": block, "kind": kind, "written": written, "source": source, "part": part, "payload": payload}
        for block, kind, written, source, whole in packets
        for part, payload in _parts(whole)
    ]
    return pa.Table.from_pylist(rows, _PACKETS)
