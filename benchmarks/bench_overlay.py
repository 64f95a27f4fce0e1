"""One overlay on Spark, in blocks on this machine's cores, against the same overlay in one process on one thread.

What Spark adds is told per cycle by the clock (both cores work at it, and states and mail go through files), and as CPU
seconds of everything it starts: Java, and Python's workers. Both run the same cycles of the same world, and end in the same
state. The first cycles are not counted, in which workers start and kernels are read.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from benchmarks.figures import Figure, Size, main
from benchmarks.worlds import scenario, world
from gossamer.sim.prints import fingerprint

__all__ = ["figures"]

ROOT = Path(__file__).resolve().parent.parent
BLOCKS = 8
UNCOUNTED = 2
MEASURE = "--measure"
CYCLON: dict[Size, tuple[int, int]] = {"tiny": (400, 3), "small": (100_000, 5), "large": (1_000_000, 6)}
"""Rows and cycles."""
RINGS: dict[Size, tuple[int, int]] = {"tiny": (400, 3), "small": (5_000, 6), "large": (200_000, 12)}


def here(rows: int, cycles: int, form: str, layers: tuple[str, ...], seed: int) -> dict[str, Any]:
    """In one process: seconds by the clock and CPU seconds of the counted cycles, and the state."""
    it = world(scenario(rows), "sub2sub", form, seed, layers=layers)
    for cycle in range(cycles):
        if cycle == UNCOUNTED:
            wall, cpu = time.perf_counter(), time.process_time()
        it.run_cycle()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    it.begin()
    return {"wall_s": wall, "cpu_s": cpu, "state": f"{fingerprint(it):016x}"}


def on_spark(asked: dict[str, Any]) -> dict[str, Any]:
    """The same on Spark; in a program of its own, so that its session is nobody else's."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.bench_overlay", MEASURE, json.dumps(asked | {"folder": folder})]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(asked: dict[str, Any]) -> dict[str, Any]:
    """What that program does."""
    from gossamer.pipeline.carriers import idle  # noqa: PLC0415  (Spark is a matter of this program alone)
    from gossamer.pipeline.overlay import simulate  # noqa: PLC0415
    from gossamer.pipeline.session import session  # noqa: PLC0415
    from gossamer.sim.run import Report  # noqa: PLC0415

    marks: dict[int, tuple[float, float]] = {}

    def mark(report: Report) -> None:
        if report.doing == "gossip":
            marks[report.cycle] = time.perf_counter(), _cpu_s()

    rows, cycles = asked["rows"], asked["cycles"]
    it = replace(scenario(rows), system="sub2sub", form=asked["form"], cycles=cycles)
    with session(master="local[2]") as spark:
        done = simulate(
            spark, it, asked["seed"], Path(asked["folder"]), blocks=BLOCKS, exchange=asked["exchange"],
            layers=tuple(asked["layers"]), tell=mark,
        )  # fmt: skip
        begun = time.perf_counter()
        for _ in range(UNCOUNTED):
            idle(spark, BLOCKS)
        empty_s = (time.perf_counter() - begun) / UNCOUNTED
    first, last = marks[UNCOUNTED], marks[cycles]
    bytes_of = done.cost.per_row_and_cycle(rows, cycles)
    return {
        "wall_s": last[0] - first[0],
        "cpu_s": last[1] - first[1],
        "empty_s": empty_s,
        "state": done.outcome.state,
        **bytes_of,
    }


def _cpu_s() -> float:
    """CPU seconds of this process and all it has started that still runs."""
    total = 0.0
    this = psutil.Process()
    for process in [this, *this.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def figures(size: Size, seed: int) -> Iterator[Figure]:
    """Cyclon alone by files and by shuffle, then Sub-2-Sub."""
    worlds = (
        ("Cyclon", *CYCLON[size], "faithful", ("cyclon",), "files"),
        ("Cyclon, shuffled", *CYCLON["small"], "faithful", ("cyclon",), "shuffle"),
        ("Sub-2-Sub", *RINGS[size], "better", (), "files"),
    )
    for name, rows, cycles, form, layers, exchange in worlds[: 1 if size == "tiny" else None]:
        asked = {"rows": rows, "cycles": cycles, "form": form, "layers": layers, "exchange": exchange, "seed": seed}
        counted, said = cycles - UNCOUNTED, f"{name}, {rows // 1000}K rows" if rows >= 1000 else f"{name}, {rows} rows"  # noqa: PLR2004
        one, spark = here(rows, cycles, form, layers, seed), on_spark(asked)
        if one["state"] != spark["state"]:
            raise AssertionError(f"{said}: {one['state']} here and {spark['state']} on Spark")
        more_s = (spark["wall_s"] - one["wall_s"]) / counted
        must_s, must_cpu = (3.0 if name == "Cyclon" else None), (2.0 if name == "Sub-2-Sub" and size == "large" else None)
        yield Figure(name=f"{said}: in one process", value=one["wall_s"] / counted, unit="s a cycle")
        yield Figure(name=f"{said}: more on Spark", value=max(more_s, 0.0), unit="s a cycle", must=must_s, less=True)
        yield Figure(name=f"{said}: of that two empty supersteps", value=2 * spark["empty_s"], unit="s a cycle")
        ratio = spark["cpu_s"] / one["cpu_s"]
        yield Figure(name=f"{said}: CPU on Spark", value=ratio, unit="times", must=must_cpu, less=True)
        yield Figure(name=f"{said}: mail exchanged", value=spark["mail_bytes"], unit="bytes a row, cycle")
        yield Figure(name=f"{said}: states laid aside", value=spark["state_bytes"], unit="bytes a row, cycle")


if __name__ == "__main__":
    if sys.argv[1:2] == [MEASURE]:
        print(json.dumps(measure(json.loads(sys.argv[2]))))
        sys.exit(0)
    sys.exit(main("bench_overlay", __doc__ or "", figures))
