"""What a world should be, typed out: laws by floating point, events by counting."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["naive_centre", "naive_count", "naive_width"]


def naive_width(q: float, knee: float, exponent: float) -> float:
    """Quantile of the density ~ (1 + w / knee) ** -exponent on [0, 1]."""
    rest = 1 - (1 + 1 / knee) ** (1 - exponent)
    return float(knee * ((1 - q * rest) ** (1 / (1 - exponent)) - 1))


def naive_centre(q: float, knee: float) -> float:
    """Quantile of a centre whose distance from the middle has the density ~ 1 / (knee + x) on [0, 1/2]."""
    share = abs(2 * q - 1)
    offset = knee * (math.exp(share * math.log((0.5 + knee) / knee)) - 1)
    return 0.5 + math.copysign(offset, q - 0.5)


def naive_count(boxes: NDArray[np.int64], point: NDArray[np.int64]) -> int:
    """How many boxes hold the point."""
    return sum(all(low <= x <= high for x, low, high in zip(point, *box, strict=True)) for box in boxes)
