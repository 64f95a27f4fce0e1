"""Cyclon alone: view 20, shuffle 8, everybody there from the start, one thread, views full and mixed before the clock runs.

Beside it, in the same run: Cyclon as one would write it down, exchange after exchange over two arrays, once compiled and once
as plain Python over lists; and the floor, a kernel that touches the same cache lines in the same order and does nothing else.
The figures to reach were set against an array-based Cyclon on PeerSim (0.60 M node-cycles per CPU-second at 1M rows, 3.1 M at
10K) and a sequential prototype (7.8 M).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Figure, Size, cpu_s, main, peak_mib, wall_s
from benchmarks.worlds import run, scenario, world
from gossamer.jit import prefetch, sweep

__all__ = ["figures", "spread", "textbook_all", "textbook_state", "touch_all"]

VIEW, SHUFFLE = 20, 8
WARM = 10
"""Cycles before the clock runs: views are full after six."""
PLAIN_ROWS = 1_000
SIZES: dict[Size, tuple[int, ...]] = {
    "tiny": (300,),
    "small": (10_000, 100_000, 1_000_000),
    "large": (10_000, 100_000, 1_000_000, 10_000_000),
}
_AHEAD = 8


def textbook_all(peers: Any, ages: Any, sent: Any, sent_ages: Any, luck: Any) -> None:  # noqa: ANN401  (arrays, or lists)
    """One cycle of Cyclon as the paper has it, exchange after exchange.

    peers, ages     : (N, K)  whom each row knows, and for how many cycles an entry has been on its way
    sent, sent_ages : (L,)    room for what the row at work has sent
    luck            : (1,)    the state of a small generator
    """
    places, entries = len(peers[0]), len(sent)
    for i in range(len(peers)):
        mine, mine_ages = peers[i], ages[i]
        oldest = 0
        for k in range(places):
            mine_ages[k] += 1
            if mine_ages[k] > mine_ages[oldest]:
                oldest = k
        to = mine[oldest]
        other, other_ages = peers[to], ages[to]
        # What either sends is moved to the front: of the row's own view the partner's place, then others at random.
        mine[0], mine[oldest] = mine[oldest], mine[0]
        mine_ages[0], mine_ages[oldest] = mine_ages[oldest], mine_ages[0]
        for e in range(entries):
            if e > 0:
                luck[0] = (luck[0] * 1103515245 + 12345) & 0x7FFFFFFF
                k = e + (((luck[0] >> 8) * (places - e)) >> 23)
                mine[e], mine[k] = mine[k], mine[e]
                mine_ages[e], mine_ages[k] = mine_ages[k], mine_ages[e]
            luck[0] = (luck[0] * 1103515245 + 12345) & 0x7FFFFFFF
            k = e + (((luck[0] >> 8) * (places - e)) >> 23)
            other[e], other[k] = other[k], other[e]
            other_ages[e], other_ages[k] = other_ages[k], other_ages[e]
        for e in range(entries):
            sent[e], sent_ages[e] = mine[e], mine_ages[e]
        sent[0], sent_ages[0] = i, 0
        slot = 0
        for e in range(entries):
            known = other[e] == i
            for k in range(places):
                known |= mine[k] == other[e]
            if not known:
                mine[slot], mine_ages[slot] = other[e], other_ages[e]
                slot += 1
        slot = 0
        for e in range(entries):
            known = sent[e] == to
            for k in range(places):
                known |= other[k] == sent[e]
            if not known:
                other[slot], other_ages[slot] = sent[e], sent_ages[e]
                slot += 1


_textbook_compiled = sweep(textbook_all)


@sweep
def touch_all(views: NDArray[np.uint64], mail: NDArray[np.uint64], order: NDArray[np.int64], first: NDArray[np.int64]) -> None:
    """Touch the cache lines that a cycle of Cyclon touches, in the same order, and do nothing else.

    A cycle goes over all views three times (timers, requests, answers), over the mail twice in its order, and once, with as
    many counters, in the order of receivers, which is no order at all.

    views : (N, 16) uint64  two lines a row
    mail  : (N, 8) uint64   one line a row
    order : (N,) int64      a permutation
    first : (N,) int64
    """
    rows, one = views.shape[0], np.uint64(1)
    for turn in range(3):
        for i in range(rows):
            m = i
            if turn == 1:
                m = order[i]
                first[m] += 1
                prefetch(mail, order[min(i + _AHEAD, rows - 1)])
            views[i, 0] += one
            views[i, 8] += mail[m, 0]
            mail[m, 0] += one


def ours(rows: int, seed: int, cycles: int) -> tuple[float, float]:
    """Node-cycles per CPU-second, and bytes of state a row."""
    it = world(scenario(rows, 1), "sub2sub", "faithful", seed, layers=("cyclon",))
    run(it, WARM)
    speed = rows * cycles / cpu_s(lambda: run(it, cycles))
    state = it.lanes["cyclon"].state[0]
    return speed, sum(column.nbytes for column in state) / rows


def textbook(rows: int, cycles: int) -> tuple[float, float]:
    """Node-cycles per CPU-second of the textbook's Cyclon, compiled, and the spread of in-degrees."""
    state = textbook_state(rows)
    _textbook_compiled(*state)
    for _ in range(WARM):
        _textbook_compiled(*state)

    def go() -> None:
        for _ in range(cycles):
            _textbook_compiled(*state)

    return rows * cycles / cpu_s(go), spread(state[0])


def plain(rows: int) -> float:
    """Node-cycles per CPU-second of the textbook's Cyclon in plain Python."""
    state = [column.tolist() for column in textbook_state(rows)]
    return rows / cpu_s(lambda: textbook_all(*state))


def floor(rows: int, cycles: int) -> float:
    """Node-cycles per CPU-second if there were nothing to do but to fetch memory."""
    order = np.random.default_rng(1).permutation(rows)
    room = np.zeros((rows, 16), np.uint64), np.zeros((rows, 8), np.uint64), order, np.zeros(rows, np.int64)
    touch_all(*room)

    def go() -> None:
        for _ in range(cycles):
            touch_all(*room)

    return rows * cycles / cpu_s(go)


def second_core(rows: int, seed: int, cycles: int) -> float:
    """How many times faster two blocks on two threads are than one, by the clock; both take turns."""
    least = [np.inf, np.inf]
    worlds = [world(scenario(rows, 1), "sub2sub", "faithful", seed, layers=("cyclon",), blocks=n, threads=n) for n in (1, 2)]
    for it in worlds:
        run(it, WARM)
    for _ in range(3):
        for n, it in enumerate(worlds):
            least[n] = min(least[n], wall_s(lambda it=it: run(it, cycles), 1))  # type: ignore[misc]
    worlds[1].close()
    return float(least[0] / least[1])


def spread(peers: NDArray[np.int32]) -> float:
    """Standard deviation of in-degrees: 1 to 1.5 after a proper Cyclon, 4.5 in a random graph."""
    return float(np.bincount(peers[peers >= 0], minlength=peers.shape[0]).std())


def figures(size: Size, seed: int) -> Iterator[Figure]:
    """All of it, the smaller worlds first, so that the peak of memory is that of the world it stands below."""
    unit = "node-cycles/CPU-s"
    by_hand = plain(min(PLAIN_ROWS, *SIZES[size]))
    yield Figure(name="textbook, plain Python", value=by_hand, unit=unit)
    for rows in SIZES[size]:
        cycles, said = max(2, min(50, 2_000_000 // rows)), _said(rows)
        speed, state = ours(rows, seed, cycles)
        peak = peak_mib()
        must, aim = (3.6e6, 7.8e6) if rows >= SIZES["small"][0] else (None, None)
        yield Figure(name=f"Cyclon, {said} rows", value=speed, unit=unit, must=must, aim=aim)
        yield Figure(name=f"state of a row, {said} rows", value=state, unit="bytes", must=128, less=True)
        yield Figure(name=f"peak memory, {said} rows", value=peak, unit="MiB")
        reference, sd = textbook(rows, max(2, cycles // 4))
        yield Figure(name=f"textbook, compiled, {said} rows", value=reference, unit=unit, remark=f"in-degree sd {sd:.2f}")
        yield Figure(name=f"Cyclon against the compiled textbook, {said} rows", value=speed / reference, unit="times")
        yield Figure(name=f"Cyclon against plain Python, {said} rows", value=speed / by_hand, unit="times")
        yield Figure(name=f"memory traffic alone against Cyclon, {said} rows", value=floor(rows, cycles) / speed, unit="times")
    rows = min(SIZES[size][-1], 1_000_000)
    gain = second_core(rows, seed, max(2, min(50, 2_000_000 // rows)))
    yield Figure(name=f"gain of the second core, {_said(rows)} rows", value=gain, unit="times, by the clock")


def _said(rows: int) -> str:
    return f"{rows // 1_000_000}M" if rows >= 1_000_000 else f"{rows // 1000}K" if rows >= 1000 else str(rows)  # noqa: PLR2004


def textbook_state(rows: int) -> tuple[NDArray[Any], ...]:
    """Full views: each row knows some that stand behind it, at distances that grow."""
    step = max(1, (rows - 1) // VIEW)
    peers = ((np.arange(rows)[:, None] + 1 + np.arange(VIEW) * step) % rows).astype(np.int32)
    ages = np.zeros((rows, VIEW), np.int32)
    return peers, ages, np.zeros(SHUFFLE, np.int32), np.zeros(SHUFFLE, np.int32), np.ones(1, np.int64)


if __name__ == "__main__":
    sys.exit(main("bench_cyclon", __doc__, figures))
