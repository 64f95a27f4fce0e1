"""Sub-2-Sub, 3 attributes, power laws: CPU seconds of gossip from nothing until all rings of 10,000 events are complete.

The better form, one thread; looking at the rings between cycles is not counted. Beside it, in the same run, the faithful form:
the plain reading of the papers, in at most 60 cycles. The figures to reach were set against a careful compiled reference that
takes about 75 seconds at 10K.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.figures import Figure, Size, main, peak_mib
from benchmarks.worlds import scenario, world
from gossamer.measure import ring
from gossamer.scenario.workload import events
from gossamer.sim.watch import Watch

__all__ = ["Way", "figures", "until_complete"]

MOST_CYCLES = 60
EVENTS = 10_000
SIZES: dict[Size, tuple[int, ...]] = {"tiny": (200,), "small": (10_000,), "large": (10_000, 100_000)}
MUST = {10_000: (25.0, 8.0), 100_000: (1200.0, 180.0)}
"""CPU seconds that must do, and those we would be proud of."""
ROOM_MIB = 8192


class Way(NamedTuple):
    """How it went."""

    cycles: int
    complete: float
    """The share of rings that are complete at the end."""
    cpu_s: float


def until_complete(rows: int, form: str, seed: int) -> Way:
    """Gossip until all rings are complete, or for as many cycles as one has patience for."""
    wanted = scenario(rows, events=min(rows, EVENTS))
    it = world(wanted, "sub2sub", form, seed)
    watch = Watch(it, events(wanted, it.people, seed))
    it.begin()
    watch.learn()
    taken, complete, cycle = 0.0, 0.0, 0
    while cycle < MOST_CYCLES and complete < 1.0:
        begun = time.process_time()
        it.run_cycle()
        taken += time.process_time() - begun
        cycle += 1
        complete = ring.rings_complete(watch.judge())
    return Way(cycle, complete, taken)


def figures(size: Size, seed: int) -> Iterator[Figure]:
    """All of it, the smaller worlds first, so that the peak of memory is that of the world it stands below."""
    for rows in SIZES[size]:
        until_complete(64, "better", seed)
        better = until_complete(rows, "better", seed)
        must, aim = MUST.get(rows, (None, None))
        yield Figure(
            name=f"to all rings complete, {rows:,} rows", value=better.cpu_s, unit="CPU-s", must=must, aim=aim, less=True
        )
        yield Figure(name=f"rings complete, {rows:,} rows", value=better.complete, unit="share", must=1.0)
        yield Figure(name=f"cycles, {rows:,} rows", value=better.cycles, unit="cycles", must=40, aim=20, less=True)
        yield Figure(name=f"peak memory, {rows:,} rows", value=peak_mib(), unit="MiB", must=ROOM_MIB, less=True)
        if rows == SIZES[size][0]:
            plain = until_complete(rows, "faithful", seed)
            how = f"{plain.complete:.4f} of rings at cycle {plain.cycles}"
            yield Figure(name=f"faithful form, {rows:,} rows", value=plain.cpu_s, unit="CPU-s", remark=how)
            yield Figure(name=f"better form against faithful, {rows:,} rows", value=plain.cpu_s / better.cpu_s, unit="times")


if __name__ == "__main__":
    sys.exit(main("bench_rings", __doc__, figures))
