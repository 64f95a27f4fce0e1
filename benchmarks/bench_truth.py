"""Who should receive what, in process, beside DuckDB: boxes in 3 attributes, points anywhere, how many boxes hold each point.

DuckDB gets what one would write by hand: boxes laid out over the cells of a grid, joined with the points by cell, and compared.
They are held against each other by CPU seconds of all threads, and must count alike. Numpy, a block of points at a time against
all boxes, is there for scale. Boxes are narrow, so that a point lies in 2.7 to 27 of them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.figures import Figure, Size, cpu_s, main, wall_s
from gossamer.truth import judge

__all__ = ["figures", "in_duckdb", "in_numpy", "tables", "world"]

ATTRIBUTES, SIDE = 3, 1 << 30
SIZES: dict[Size, tuple[tuple[int, int, float], ...]] = {
    "tiny": ((300, 200, 0.2),),
    "small": ((10_000, 10_000, 0.06), (100_000, 100_000, 0.03)),
    "large": ((100_000, 1_000_000, 0.03), (1_000_000, 1_000_000, 0.03)),
}
"""Boxes, points, and how wide a box is in each attribute."""
NUMPY_PAIRS = 100_000_000
"""Boxes times points up to which numpy is asked too."""
CELL = 1.0
"""Width of a cell of DuckDB's grid, in widths of a box."""
MEMORY = "8GB"

Numbers = NDArray[np.int64]

GRID = """
with laid as (
    select b.*, x, y, z from boxes b,
        range(l0 // $cell, h0 // $cell + 1) as a(x), range(l1 // $cell, h1 // $cell + 1) as c(y),
        range(l2 // $cell, h2 // $cell + 1) as d(z)
)
select p.id, count(*) as found from points p join laid on p0 // $cell = x and p1 // $cell = y and p2 // $cell = z
where p0 between l0 and h0 and p1 between l1 and h1 and p2 between l2 and h2
group by p.id
"""


def world(boxes: int, points: int, width: float, seed: int) -> tuple[Numbers, Numbers]:
    """Boxes of one width, on average, and points, both anywhere."""
    luck = np.random.default_rng(seed)
    low = luck.integers(0, SIDE, (boxes, ATTRIBUTES))
    wide = (luck.random((boxes, ATTRIBUTES)) * 2 * width * SIDE).astype(np.int64)
    return np.stack([low, np.minimum(low + wide, SIDE - 1)], axis=1), luck.integers(0, SIDE, (points, ATTRIBUTES))


def in_numpy(boxes: Numbers, points: Numbers) -> Numbers:
    """Counts by comparing everything with everything."""
    counts = [
        ((boxes[None, :, 0] <= some[:, None]) & (some[:, None] <= boxes[None, :, 1])).all(axis=2).sum(axis=1)
        for some in np.array_split(points, max(1, boxes.shape[0] * points.shape[0] // 2_000_000))
    ]
    return np.concatenate(counts)


def in_duckdb(boxes: pa.Table, points: pa.Table, cell: int) -> Numbers:
    """Counts by a join on the cells of a grid."""
    with duckdb.connect() as database:
        database.execute(f"set threads = 2; set memory_limit = '{MEMORY}'")
        database.register("boxes", boxes)
        database.register("points", points)
        found = database.execute(GRID, {"cell": cell}).fetchnumpy()
    counts = np.zeros(points.num_rows, np.int64)
    counts[np.asarray(found["id"])] = np.asarray(found["found"])
    return counts


def figures(size: Size, seed: int) -> Iterator[Figure]:
    """All of it."""
    for many, points, width in SIZES[size]:
        yield from _case(many, points, width, seed)


def _case(many: int, points: int, width: float, seed: int) -> Iterator[Figure]:
    """One size; DuckDB and numpy are asked once, for they take long."""
    said = f"{many:,} x {points:,}"
    boxes, where = world(many, points, width, seed)
    keys = np.arange(many, dtype=np.uint64)
    wanted = judge.count(boxes, keys, where).counts
    taken = cpu_s(lambda: judge.count(boxes, keys, where))
    yield Figure(name=f"in process, {said}", value=taken, unit="CPU-s", remark=f"{wanted.mean():.3g} matches a point")
    clock = wall_s(lambda: judge.count(boxes, keys, where, threads=2))
    yield Figure(name=f"in process on two threads, {said}", value=clock, unit="s by the clock")
    if many * points <= NUMPY_PAIRS:
        found: list[Numbers] = []
        brute = cpu_s(lambda: found.append(in_numpy(boxes, where)), 1)
        _same("numpy", found[0], wanted)
        yield Figure(name=f"numpy, {said}", value=brute, unit="CPU-s")
        yield Figure(name=f"in process against numpy, {said}", value=brute / taken, unit="times")
    laid, joined = tables(boxes, where), list[Numbers]()
    by_join = cpu_s(lambda: joined.append(in_duckdb(*laid, cell=int(width * CELL * SIDE))), 1)
    _same("DuckDB", joined[0], wanted)
    yield Figure(name=f"DuckDB, {said}", value=by_join, unit="CPU-s")
    yield Figure(name=f"in process against DuckDB, {said}", value=by_join / taken, unit="times", must=10, aim=50)


def _same(who: str, found: Numbers, wanted: Numbers) -> None:
    if not np.array_equal(found, wanted):
        raise SystemExit(f"bench_truth: {who} counts otherwise at {np.flatnonzero(found != wanted).size} points")


def tables(boxes: Numbers, points: Numbers) -> tuple[pa.Table, pa.Table]:
    """Boxes and points as DuckDB sees them."""
    columns = {f"{side}{d}": boxes[:, s, d] for s, side in enumerate("lh") for d in range(ATTRIBUTES)}
    where = {"id": np.arange(points.shape[0]), **{f"p{d}": points[:, d] for d in range(ATTRIBUTES)}}
    return pa.table(columns), pa.table(where)


if __name__ == "__main__":
    sys.exit(main("bench_truth", __doc__, figures))
