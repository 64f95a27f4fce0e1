"""The laws that widths, centres and session lengths follow, as tables of quantiles.

The surprising thing: nothing here calls libm. Its pow and log differ between compiled and plain Python, and between
machines, in the last bit; a population must not. So each law is inverted once, in decimal arithmetic, at 4,097 evenly
spaced probabilities, and a draw is an integer interpolation in that one table.

The laws of Sub-2-Sub's workload: the paper says "power law centred at 0, alpha 4" for widths and "power law" for centres,
and the exact form cannot be recovered. The forms below give rings of 2 to about 250 in three attributes, as printed.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import cache
from typing import Final

import numpy as np

from gossamer.arrays import Numbers
from gossamer.jit import kernel

__all__ = ["GRID", "MEAN", "centre_table", "quantile", "session_table", "threshold", "width_table"]

GRID: Final = 1 << 30
"""The upper end of [0, 1] in coordinates."""
MEAN: Final = 1 << 20
"""One mean session length, in the units of a session table."""

_CELLS = 1 << 12
_DIGITS = 30
_S20, _S52, _LOW = np.uint64(20), np.uint64(52), np.uint64(0xFFFFFFFF)
_ALL = (1 << 64) - 1


@kernel
def quantile(table: Numbers, bits: np.uint64) -> int:
    """The value a draw stands for: the upper 12 bits choose a cell of the table, the next 32 the place in it.

    table : (4097,) int64  quantiles of a law at 0, 1/4096, ... 1, rising, each below 2**31
    """
    cell = np.int64(bits >> _S52)
    part = np.int64((bits >> _S20) & _LOW)
    return table[cell] + (((table[cell + 1] - table[cell]) * part) >> np.int64(32))  # type: ignore[no-any-return]


def threshold(share: float) -> np.uint64:
    """The bound below which a 64-bit draw falls with this probability; 0 is never, 1 all but once in 2**64."""
    return np.uint64(min(int(share * 2.0**64), _ALL))


def _table(values: list[Decimal], unit: int) -> Numbers:
    table = np.array([int((value * unit).to_integral_value()) for value in values], dtype=np.int64)
    table.setflags(write=False)
    return table


def _probabilities() -> list[Decimal]:
    return [Decimal(i) / _CELLS for i in range(_CELLS + 1)]


@cache
def width_table(law: str, knee: float, exponent: float, fixed: float) -> Numbers:
    """Quantiles of a box's width on the grid.

    power   : density ~ (1 + w / knee) ** -exponent on [0, 1]
    uniform : anything in [0, fixed]
    fixed   : always ``fixed``
    """
    with localcontext() as context:
        context.prec = _DIGITS
        if law == "uniform":
            return _table([Decimal(fixed) * q for q in _probabilities()], GRID)
        if law == "fixed":
            return _table([Decimal(fixed)] * (_CELLS + 1), GRID)
        bend, power = Decimal(knee), Decimal(exponent) - 1
        rest = 1 - _power(1 + 1 / bend, -power)
        return _table([bend * (_power(1 - q * rest, -1 / power) - 1) for q in _probabilities()], GRID)


@cache
def centre_table(law: str, knee: float) -> Numbers:
    """Quantiles of a box's centre on the grid.

    power   : the offset from the middle has density ~ 1 / (knee + x) on [0, 1/2], to either side alike
    uniform : anything in [0, 1]
    """
    with localcontext() as context:
        context.prec = _DIGITS
        if law == "uniform":
            return _table(_probabilities(), GRID)
        bend, middle = Decimal(knee), Decimal("0.5")
        reach = (middle + bend) / bend
        offsets = [bend * (_power(reach, abs(2 * q - 1)) - 1) for q in _probabilities()]
        signed = [x if 2 * i >= _CELLS else -x for i, x in enumerate(offsets)]
        return _table([middle + x for x in signed], GRID)


@cache
def session_table(law: str) -> Numbers:
    """Quantiles of a session's length in units of a 2**20th of the mean.

    exponential : without memory; the longest is about 8.3 means, where the table ends
    pareto      : density ~ (1 + x / 2) ** -4, the same mean: many short ones and a long tail
    constant    : all alike
    """
    with localcontext() as context:
        context.prec = _DIGITS
        last = Decimal(1) / (2 * _CELLS)
        if law == "constant":
            return _table([Decimal(1)] * (_CELLS + 1), MEAN)
        rests = [max(1 - q, last / 2) for q in _probabilities()]
        if law == "exponential":
            return _table([-rest.ln() for rest in rests], MEAN)
        return _table([2 * (_power(rest, Decimal(-1) / 3) - 1) for rest in rests], MEAN)


def _power(base: Decimal, exponent: Decimal) -> Decimal:
    """exp(exponent * ln(base)): both are correctly rounded in decimal arithmetic, unlike its ``**``."""
    return (exponent * base.ln()).exp()
