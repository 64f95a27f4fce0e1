"""What lies between two rows: how long a message travels, whether it is lost, whether a wall stands between.

All of it is a function of the run's seed and the two keys, so no driver keeps a table of links and each asks alone.
"""

from __future__ import annotations

import numpy as np

from gossamer.draws import Purpose, below, draw, mix
from gossamer.jit import kernel

__all__ = ["delay", "lost", "separated", "side"]

_LATENCY, _LOSS, _PARTITION = Purpose.LATENCY, Purpose.LOSS, Purpose.PARTITION


@kernel
def delay(seed: np.uint64, sender: np.uint64, receiver: np.uint64, low: int, high: int) -> int:
    """Ticks a message takes from one key to another: the same for each, and another on the way back.

    low, high : int  bounds, both possible; below 2**31
    """
    if low == high:
        return low
    return low + below(draw(seed, sender + mix(receiver), 0, _LATENCY, 0), high - low + 1)


@kernel
def lost(seed: np.uint64, sender: np.uint64, receiver: np.uint64, tick: int, kind: int, n: int, bound: np.uint64) -> bool:
    """Whether the n-th message of a kind sent in a tick is lost on its way.

    tick  : int     when it was sent; below 2**32
    kind  : int     which message of the system's table; below 2**8
    n     : int     the how-manieth of that kind in this tick from the one to the other; below 2**16
    bound : uint64  laws.threshold of the probability
    """
    if bound == np.uint64(0):
        return False
    return draw(seed, sender + mix(receiver), tick, _LOSS, (kind << 16) | n) < bound  # type: ignore[return-value]


@kernel
def side(seed: np.uint64, key: np.uint64, which: int, bound: np.uint64) -> bool:
    """Whether a node stands on the smaller side of the which-th partition.

    key   : uint64  the node's number, not a row's key: rows of one node are never parted
    bound : uint64  laws.threshold of the share
    """
    return draw(seed, key, which, _PARTITION, 0) < bound  # type: ignore[return-value]


@kernel
def separated(seed: np.uint64, one: np.uint64, other: np.uint64, which: int, bound: np.uint64) -> bool:
    """Whether the which-th partition stands between two nodes."""
    return side(seed, one, which, bound) != side(seed, other, which, bound)
