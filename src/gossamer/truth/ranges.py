"""Ranges of rows on threads: kernels let go of the GIL, and each range writes its own part."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["on_threads"]

_RANGES_A_THREAD = 4

T = TypeVar("T")


def on_threads(job: Callable[[int, int], T], size: int, threads: int) -> list[T]:
    """Cut 0 .. size-1 into ranges and run ``job(start, stop)`` on each; answers in the order of ranges.

    Which thread runs which does not matter. More ranges than threads, for they are not equally heavy.
    """
    pieces = min(size, 1 if threads == 1 else threads * _RANGES_A_THREAD)
    ranges = list(itertools.pairwise(size * i // pieces for i in range(pieces + 1))) if pieces else []
    if threads == 1:
        return [job(start, stop) for start, stop in ranges]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda bounds: job(*bounds), ranges))
