"""Who should receive what, on Spark, beside one process and DuckDB: boxes and points of ``bench_truth``, from Parquet files.

The session and its Python workers are there before, and a small job has warmed the kernels; so what is measured is the job:
reading, packing, the shuffle, the kernel, and a row of sums that comes back. CPU seconds are those of the JVM, of all workers
and of this process together. DuckDB joins the same files laid out over the cells of a grid, numpy and polars compare everything
with everything where that is not hopeless.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import polars as pl
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from benchmarks.bench_truth import CELL, NUMPY_PAIRS, SIDE, in_duckdb, in_numpy, tables, world
from benchmarks.figures import Figure, Size, cpu_s, main, wall_s
from gossamer.pipeline.plan import WAYS, planned
from gossamer.pipeline.schemas import Subscribed, events_batch, subscriptions_batch
from gossamer.pipeline.session import session
from gossamer.pipeline.truth import matches, matches_in
from gossamer.scenario.population import NEVER
from gossamer.truth import judge

__all__ = ["figures"]

SIZES: dict[Size, tuple[tuple[int, int, float], ...]] = {
    "tiny": ((300, 200, 0.2),),
    "small": ((10_000, 10_000, 0.06), (100_000, 100_000, 0.03)),
    "large": ((10_000, 10_000, 0.06), (100_000, 1_000_000, 0.03), (1_000_000, 1_000_000, 0.03)),
}
"""Boxes, points, and how wide a box is in each attribute."""
FILES = 4

Numbers = NDArray[np.int64]


def figures(size: Size, seed: int) -> Iterator[Figure]:
    """All of it."""
    with session(master="local[2]") as spark, TemporaryDirectory() as folder:
        for n, (many, points, width) in enumerate(SIZES[size]):
            yield from _case(spark, Path(folder) / str(n), many, points, width, seed)


def _case(spark: SparkSession, folder: Path, many: int, points: int, width: float, seed: int) -> Iterator[Figure]:
    said = f"{many:,} x {points:,}"
    boxes, where = world(many, points, width, seed)
    keys = np.arange(many, dtype=np.uint64)
    wanted = judge.count(boxes, keys, where).counts
    taken, clock = cpu_s(lambda: judge.count(boxes, keys, where)), wall_s(lambda: judge.count(boxes, keys, where, threads=2))
    yield Figure(name=f"in process, {said}", value=taken, unit="CPU-s", remark=f"{wanted.mean():.3g} matches a point")
    yield Figure(name=f"in process on two threads, {said}", value=clock, unit="s by the clock")
    laid, joined = tables(boxes, where), list[Numbers]()
    by_join = cpu_s(lambda: joined.append(in_duckdb(*laid, cell=int(width * CELL * SIDE))), 1)
    wall_of_join = wall_s(lambda: joined.append(in_duckdb(*laid, cell=int(width * CELL * SIDE))), 1)
    _same("DuckDB", int(joined[0].sum()), wanted)
    yield Figure(name=f"DuckDB, {said}", value=by_join, unit="CPU-s")
    yield Figure(name=f"DuckDB by the clock, {said}", value=wall_of_join, unit="s by the clock")
    yield Figure(name=f"in process against DuckDB, {said}", value=by_join / taken, unit="times", must=10)
    if many * points <= NUMPY_PAIRS:
        yield Figure(name=f"numpy, {said}", value=cpu_s(lambda: in_numpy(boxes, where), 1), unit="CPU-s")
        found = list[int]()
        yield Figure(name=f"polars, {said}", value=cpu_s(lambda: found.append(in_polars(*laid)), 1), unit="CPU-s")
        _same("polars", found[0], wanted)
    subscriptions, events = _written(spark, folder, boxes, where)
    jobs: dict[str, Callable[[], DataFrame]] = {
        "files": lambda: matches_in(spark, folder / "subscriptions", folder / "events"),
    }
    for way in WAYS:
        if way == "one" and many * points > NUMPY_PAIRS * 100:
            continue
        plan = planned(subscriptions, events, way=way, tasks=4)
        jobs[way] = partial(matches, subscriptions, events, plan)
    for way, job in jobs.items():
        _same(way, _sum(job()), wanted)
        cpu, wall = _spent(lambda job=job: _sum(job()))  # type: ignore[misc]
        must = {10**11: 1, 10**12: 10}.get(many * points) if way == "files" else None
        yield Figure(name=f"Spark, {way}, {said}", value=cpu, unit="CPU-s")
        yield Figure(name=f"Spark, {way}, by the clock, {said}", value=wall, unit="s by the clock")
        yield Figure(name=f"Spark, {way}, against DuckDB, {said}", value=by_join / cpu, unit="times", must=must)


def in_polars(boxes: pa.Table, points: pa.Table) -> int:
    """How many pairs an inequality join finds."""
    one, other = pl.DataFrame(pl.from_arrow(boxes)).lazy(), pl.DataFrame(pl.from_arrow(points)).lazy()
    inside = [pl.col(f"l{d}") <= pl.col(f"p{d}") for d in range(3)] + [pl.col(f"p{d}") <= pl.col(f"h{d}") for d in range(3)]
    return int(one.join_where(other, *inside).select(pl.len()).collect().item())


def _written(spark: SparkSession, folder: Path, boxes: Numbers, where: Numbers) -> tuple[DataFrame, DataFrame]:
    """Both sides as Parquet, some files each, as the pipeline leaves them."""
    for name in ("subscriptions", "events"):
        (folder / name).mkdir(parents=True)
    for n, some in enumerate(np.array_split(np.arange(boxes.shape[0]), FILES)):
        zeros = np.zeros(some.shape[0], dtype=np.int64)
        who = Subscribed(some, some.astype(np.uint64), some.astype(np.int32), zeros, zeros + NEVER, boxes[some])
        pq.write_table(pa.Table.from_batches([subscriptions_batch(who, zeros)]), folder / "subscriptions" / f"{n}.parquet")
    for n, some in enumerate(np.array_split(np.arange(where.shape[0]), FILES)):
        batch = events_batch(some, some.astype(np.uint64), np.zeros(some.shape[0]), where[some])
        pq.write_table(pa.Table.from_batches([batch]), folder / "events" / f"{n}.parquet")
    return spark.read.parquet(str(folder / "subscriptions")), spark.read.parquet(str(folder / "events"))


def _sum(found: DataFrame) -> int:
    return int(found.agg({"matches": "sum"}).toArrow().column(0)[0].as_py())


def _spent(job: Callable[[], object]) -> tuple[float, float]:
    """CPU seconds of this process and all below it, and seconds by the clock."""
    before, clock = _cpu_of_all(), perf_counter()
    job()
    return _cpu_of_all() - before, perf_counter() - clock


def _cpu_of_all() -> float:
    me = psutil.Process()
    total = 0.0
    for it in [me, *me.children(recursive=True)]:
        try:
            times = it.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def _same(who: str, found: int, wanted: Numbers) -> None:
    if found != int(wanted.sum()):
        raise SystemExit(f"bench_truth_spark: {who} counts {found}, not {int(wanted.sum())}")


if __name__ == "__main__":
    sys.exit(main("bench_truth_spark", __doc__, figures))
