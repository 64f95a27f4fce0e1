"""A sweep of 16 runs on Spark, on one core and on two: whether a run a task, the longest first, keeps both busy.

Each is a command of its own, as a user would give it. The same command given again finds all runs done: what it takes then is
what Spark and Python take to start, and is left out of the ratio. The clock on the wall is read here, for cores kept busy is
what it is about; so on a machine that others want too, the ratio says little.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure, Size, main

__all__ = ["figures"]

SIZES: dict[Size, tuple[str, str, tuple[int, ...]]] = {
    "tiny": ("60", "2", (1,)),
    "small": ("300,600,900,1200", "15", (1, 2, 3, 4)),
    "large": ("2000,4000,6000,8000", "20", (1, 2, 3, 4)),
}
"""Nodes, cycles, seeds."""


def swept(folder: Path, cores: int, size: Size, seed: int) -> tuple[float, float, list[str]]:
    """Seconds of a sweep, seconds of doing nothing, and what came out."""
    nodes, cycles, seeds = SIZES[size]
    words = ["pipeline", "sweep", "dissemination", "--out", str(folder), "--master", f"local[{cores}]", "--json"]
    words += ["--set", f"population.nodes={nodes}", "--set", f"cycles={cycles}", "--set", "events.count=100"]
    words += ["--set", "events.at=[]", "--set", "form=better", "--seeds", *(str(seed + it) for it in seeds)]
    took, states = [], []
    for _ in range(2):
        begin = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "gossamer", *words], capture_output=True, text=True, check=False)
        took.append(time.perf_counter() - begin)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        states.append([it["metrics"]["hit_ratio"] for it in json.loads(done.stdout)["runs"]])
    if states[0] != states[1]:
        raise AssertionError("a sweep that was done came out otherwise")
    return took[0], took[1], [str(it) for it in states[0]]


def figures(size: Size, seed: int) -> Iterator[Figure]:
    """The ratio, and what it is made of."""
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores" if hasattr(os, "getloadavg") else ""
    with tempfile.TemporaryDirectory() as place:
        # Kernels are compiled, and files of the system read, before the clock counts.
        whole, idle, out = swept(Path(place) / "warm", 1, "tiny", seed)
        if size != "tiny":
            whole, idle, out = swept(Path(place) / "one", 1, size, seed)
        one = max(whole - idle, 1e-3)
        yield Figure(name=f"{len(out)} runs, one core", value=one, unit="s", remark=load)
        yield Figure(name="start and end of Spark", value=idle, unit="s")
        if size == "tiny":
            return
        both, idle_both, same = swept(Path(place) / "two", 2, size, seed)
    if out != same:
        raise AssertionError("one core and two came out otherwise")
    two = max(both - idle_both, 1e-3)
    yield Figure(name=f"{len(out)} runs, two cores", value=two, unit="s")
    yield Figure(name="two cores against one", value=one / two, unit="times", must=1.7)


if __name__ == "__main__":
    sys.exit(main("bench_sweep", __doc__ or "", figures))
