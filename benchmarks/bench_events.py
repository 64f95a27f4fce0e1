"""10,000 events on 10,000 converged nodes: the papers' way (ring and one shortcut) beside delegated arcs, one thread.

Gossip stands still while they spread, and the time it took before is not counted. Rings have about 11 members with 3
attributes and about 900 with one, which is where most copies are; so what compares is the time a delivery takes. A broker with
names cut into an 8x8x8 grid was measured at 20 us of CPU a match.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from benchmarks.figures import Figure, Size, cpu_s, main
from benchmarks.worlds import run, scenario, world
from gossamer.measure import delivery
from gossamer.scenario.workload import events
from gossamer.sim.spreading import spread_frozen
from gossamer.sim.watch import Watch

__all__ = ["figures", "spread"]

WAYS = {"paper": "sub2sub", "arcs": "gossamer"}
CYCLES = 40
BROKER_US = 20.0
SIZES: dict[Size, tuple[int, tuple[int, ...]]] = {"tiny": (200, (2,)), "small": (10_000, (3,)), "large": (10_000, (3, 1))}
MUST_S = 2.0


def spread(rows: int, attributes: int, way: str, seed: int) -> tuple[float, int, float, float]:
    """CPU seconds of one spreading, deliveries, the hit ratio, and copies a delivery."""
    wanted = scenario(rows, attributes, rows)
    it = world(wanted, WAYS[way], "better", seed)
    published = events(wanted, it.people, seed)
    run(it, CYCLES)
    watch = Watch(it, published)
    it.begin()
    watch.learn()
    found, _ = spread_frozen(it, published, ring=watch.rings)
    taken = cpu_s(lambda: spread_frozen(it, published, ring=watch.rings), 2)
    return taken, int(found.delivered.sum()), delivery.hit_ratio(found), delivery.copies_per_delivery(found)


def figures(size: Size, seed: int) -> Iterator[Figure]:
    """All of it."""
    rows, worlds = SIZES[size]
    for attributes in worlds:
        each = {}
        for way in WAYS:
            taken, delivered, hit, copies = spread(rows, attributes, way, seed)
            each[way] = 1e6 * taken / max(delivered, 1)
            about = f"{way}, {attributes} attributes" if attributes > 1 else f"{way}, 1 attribute"
            must = MUST_S if (rows, attributes) == (SIZES["small"][0], 3) else None
            many = f"{delivered:,} deliveries"
            yield Figure(name=f"{rows:,} events: {about}", value=taken, unit="CPU-s", must=must, less=True, remark=many)
            yield Figure(name=f"a delivery: {about}", value=each[way], unit="us", must=BROKER_US, less=True)
            yield Figure(name=f"hit ratio: {about}", value=hit, unit="share", must=1.0)
            yield Figure(name=f"copies a delivery: {about}", value=copies, unit="copies")
        yield Figure(name=f"arcs against paper, {attributes} attributes", value=each["paper"] / each["arcs"], unit="times")


if __name__ == "__main__":
    sys.exit(main("bench_events", __doc__, figures))
