"""Cyclon and Vicinity (view 20, shuffle 10, 3 attributes, power laws), one thread, views full before the clock runs.

Beside it, in the same run: Vicinity as one would write it down in Python, every view sorted by distance at every merge. The
figure to reach was set against Cyclon, Vicinity and rings of topics on PeerSim: 9,300 node-cycles per CPU-second at 100K.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Iterator

from benchmarks.figures import Figure, Size, cpu_s, main
from benchmarks.worlds import run, scenario, world
from gossamer.scenario.population import population

__all__ = ["figures", "textbook_cycle"]

VIEW, SHUFFLE, SAMPLES = 20, 10, 20
WARM = 10
PLAIN_ROWS = 300
SIZES: dict[Size, tuple[int, ...]] = {
    "tiny": (300,),
    "small": (10_000, 100_000),
    "large": (10_000, 100_000, 1_000_000),
}
MUST_AT = 100_000

Box = list[list[int]]


def apart(one: Box, other: Box) -> float:
    """Squared distance over the gaps between two boxes."""
    total = 0.0
    for low, high, other_low, other_high in zip(one[0], one[1], other[0], other[1], strict=True):
        total += max(low - other_high, other_low - high, 0) ** 2
    return total


def nearest(boxes: list[Box], target: int, known: Iterable[int], most: int, luck: random.Random) -> list[int]:
    """The nearest to a target of all that are known; who of those as near is drawn."""
    others = [other for other in set(known) if other != target]
    return sorted(others, key=lambda other: (apart(boxes[target], boxes[other]), luck.random()))[:most]


def textbook_cycle(boxes: list[Box], views: list[list[int]], luck: random.Random) -> None:
    """One cycle, exchange after exchange; random samples are drawn outright, which no Cyclon could do faster."""
    rows = range(len(boxes))
    for i in rows:
        mine = luck.sample(rows, min(SAMPLES, len(rows)))
        to = luck.choice(views[i] or mine)
        its = luck.sample(rows, min(SAMPLES, len(rows)))
        sent = nearest(boxes, to, [*views[i], *mine], SHUFFLE - 1, luck)
        got = nearest(boxes, i, [*views[to], *its], SHUFFLE - 1, luck)
        views[to] = nearest(boxes, to, [*views[to], *its, i, *sent], VIEW, luck)
        views[i] = nearest(boxes, i, [*views[i], *mine, to, *got], VIEW, luck)


def textbook(rows: int, seed: int) -> float:
    """Node-cycles per CPU-second in plain Python."""
    boxes: list[Box] = population(scenario(rows), seed).boxes.tolist()
    views: list[list[int]] = [[] for _ in boxes]
    luck = random.Random(seed)  # noqa: S311  (nothing secret)
    textbook_cycle(boxes, views, luck)
    return rows / cpu_s(lambda: textbook_cycle(boxes, views, luck))


def ours(rows: int, seed: int, cycles: int) -> float:
    """Node-cycles per CPU-second."""
    it = world(scenario(rows), "sub2sub", "faithful", seed, layers=("cyclon", "vicinity"))
    run(it, WARM)
    return rows * cycles / cpu_s(lambda: run(it, cycles))


def figures(size: Size, seed: int) -> Iterator[Figure]:
    """All of it, the smaller worlds first."""
    unit = "node-cycles/CPU-s"
    by_hand = textbook(min(PLAIN_ROWS, *SIZES[size]), seed)
    yield Figure(name="textbook, plain Python", value=by_hand, unit=unit)
    for rows in SIZES[size]:
        speed = ours(rows, seed, max(1, min(20, 400_000 // rows)))
        must, aim = (190_000, 1e6) if rows == MUST_AT else (None, None)
        yield Figure(name=f"Cyclon + Vicinity, {rows:,} rows", value=speed, unit=unit, must=must, aim=aim)
        yield Figure(name=f"against plain Python, {rows:,} rows", value=speed / by_hand, unit="times")


if __name__ == "__main__":
    sys.exit(main("bench_likeness", __doc__, figures))
