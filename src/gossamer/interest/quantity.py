"""Fields of numbers: doubles, numbers on a grid, whole numbers.

Numbers of any library are taken as long as the field can hold them unchanged: a float counts as a whole number only when
it is one, and a whole number beyond 2**53 becomes the nearest double, as it would in a database's column of doubles. The
surprising thing is the whole number's bound: a filter may ask for ``size > 10.5``, so bounds between two whole numbers and
beyond the coded range are kept as such, and compared rightly.
"""

from __future__ import annotations

import math
import operator
import struct
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from gossamer.arrays import Coordinates, Reals
from gossamer.errors import InterestError
from gossamer.interest.field import FIRST, LAST, AnyField, Cut, Field, first_row

__all__ = ["GRID_STEPS", "Float", "Grid", "Int"]

GRID_STEPS: Final = 2**30
"""Steps of a grid over its domain."""

_MAGNITUDE = 2**63 - 1
_KEPT_OCTAVES = 10
_FURTHEST_STEP = 2.0**50
_ROOM = 4.0


def _float_code(value: float) -> int:
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits if bits >= 0 else -(bits & _MAGNITUDE)


def _float_value(code: int) -> float:
    bits = code if code >= 0 else -code | 2**63
    value: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    return value


def _as_float(field: AnyField, value: object) -> float:
    """A number as a double, refusing what is none and what no double holds."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | Decimal | Fraction | np.number):
        raise field.refuse(value, "a number", "numbers stand without quotes" if isinstance(value, str) else "")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isnan(number):
        raise field.refuse(value, "a number", "NaN has no place in an order; use null for what is missing")
    if math.isinf(number) and not (isinstance(value, float | np.floating) and math.isinf(value)):
        raise field.refuse(value, "a number that a double holds", "the largest is about 1.8e308")
    return number + 0.0  # -0.0 becomes 0.0


def _float_column(field: AnyField, column: NDArray[Any]) -> Reals:
    numbers = column.astype(np.float64) + 0.0
    if (bad := np.isnan(numbers)).any():
        raise InterestError(f"row {first_row(bad)}: {field.name}: NaN has no place in an order", hint="mark the cell as null")
    return numbers


@dataclass(frozen=True)
class Float(Field[float]):
    """A double. NaN is refused, -0.0 equals 0.0, infinities are values like others."""

    lo: float | None = None
    hi: float | None = None
    kind: ClassVar[str] = "float"

    def __post_init__(self) -> None:
        """Check the domain."""
        super().__post_init__()
        for end in ("lo", "hi"):
            if getattr(self, end) is not None:
                number = _as_float(self, getattr(self, end))
                if math.isinf(number):
                    raise self.refuse(number, "a finite end of the domain")
                object.__setattr__(self, end, number)
        self.check_domain(self.lo, self.hi)

    def key(self, value: object) -> float:
        """The double, without a negative zero."""
        return _as_float(self, value)

    def code(self, key: float) -> int:
        """The bits, counted from zero away."""
        return _float_code(key)

    def value(self, code: int) -> float:
        """The double with this code."""
        first, last = self.codes_span
        return _float_value(min(max(code, first), last))

    @property
    def codes_span(self) -> tuple[int, int]:
        """From minus to plus infinity."""
        return _float_code(-math.inf), _float_code(math.inf)

    @property
    def scale(self) -> float:
        """Over the codes of the domain; when zero is in it, over magnitudes down to 2**-10 of the largest."""
        if self.lo is None or self.hi is None:
            return super().scale
        low, high = _float_code(self.lo), _float_code(self.hi)
        if self.lo <= 0.0 <= self.hi:
            small = _float_code(math.ldexp(max(-self.lo, self.hi), -_KEPT_OCTAVES))
            return 1.0 / (max(0, high - small) + max(0, -low - small))
        return 1.0 / (high - low)

    def codes(self, column: NDArray[Any]) -> Coordinates:
        """All at once when the column holds numbers."""
        if column.dtype.kind not in "iuf":
            return super().codes(column)
        bits = _float_column(self, column).view(np.int64)
        return np.where(bits >= 0, bits, -(bits & _MAGNITUDE))


@dataclass(frozen=True)
class Grid(Field[int]):
    """A number on 2**30 equal steps over [lo, hi]: what lies between two points *is* the nearer one, for events and bounds.

    The codes are linear in the value, so distances are too. Values outside the domain continue the same steps.
    """

    lo: float = 0.0
    hi: float = 1.0
    kind: ClassVar[str] = "grid"

    def __post_init__(self) -> None:
        """Check the domain."""
        super().__post_init__()
        object.__setattr__(self, "lo", _as_float(self, self.lo))
        object.__setattr__(self, "hi", _as_float(self, self.hi))
        if not (self.lo < self.hi and math.isfinite(self.hi - self.lo) and math.isfinite(self._steps)):
            raise InterestError(f"{self.name}: no grid spans [{self.lo}, {self.hi}]", hint="lo must be below hi")
        if (self.hi - self.lo) / GRID_STEPS < _ROOM * math.ulp(max(abs(self.lo), abs(self.hi))):
            problem = f"{self.name}: doubles near {self.hi} are coarser than a grid over [{self.lo}, {self.hi}]"
            raise InterestError(problem, hint="use a float field")

    @property
    def _steps(self) -> float:
        return GRID_STEPS / (self.hi - self.lo)

    def key(self, value: object) -> int:
        """The nearest step, the even one of two."""
        step = (_as_float(self, value) - self.lo) * self._steps
        if not abs(step) <= _FURTHEST_STEP:
            raise self.refuse(value, f"a number anywhere near [{self.lo}, {self.hi}]", "widen the grid, or use a float field")
        return round(step)

    def code(self, key: int) -> int:
        """The step."""
        return key

    def value(self, code: int) -> float:
        """Where the step lies."""
        return self.lo + code / self._steps

    def show(self, key: int) -> str:
        """Where the step lies, as a number."""
        return repr(self.value(key))

    @property
    def codes_span(self) -> tuple[int, int]:
        """As far as steps are counted."""
        return -int(_FURTHEST_STEP), int(_FURTHEST_STEP)

    @property
    def scale(self) -> float:
        """One over the steps of the domain."""
        return 1.0 / GRID_STEPS

    def codes(self, column: NDArray[Any]) -> Coordinates:
        """All at once when the column holds numbers; the same roundings as one by one."""
        if column.dtype.kind not in "iuf":
            return super().codes(column)
        with np.errstate(over="ignore"):  # what is too far is refused below
            steps = np.rint((_float_column(self, column) - self.lo) * self._steps)
        if (bad := ~(np.abs(steps) <= _FURTHEST_STEP)).any():
            row = first_row(bad)
            raise self.refuse(column[row].item(), f"in row {row} a number anywhere near [{self.lo}, {self.hi}]")
        return steps.astype(np.int64)


@dataclass(frozen=True)
class Int(Field["int | Fraction"]):
    """A whole number from -2**63+1 to 2**63-1; the lowest int64 is the code of null."""

    lo: int | None = None
    hi: int | None = None
    kind: ClassVar[str] = "int"

    def __post_init__(self) -> None:
        """Check the domain."""
        super().__post_init__()
        for end in ("lo", "hi"):
            if getattr(self, end) is not None:
                object.__setattr__(self, end, self.key(getattr(self, end)))
        self.check_domain(self.lo, self.hi)

    def key(self, value: object) -> int:
        """The number; a float only when it is whole."""
        if isinstance(value, bool | np.bool_):
            raise self.refuse(value, "a whole number", "booleans have a field type of their own")
        value = value.item() if isinstance(value, np.generic) else value
        if hasattr(value, "__index__"):
            number = operator.index(value)
        elif isinstance(value, float | Decimal | Fraction) and -LAST <= value <= LAST and int(value) == value:
            number = int(value)
        else:
            raise self.refuse(value, "a whole number")
        if not FIRST <= number <= LAST:
            raise self.refuse(value, "a whole number from -2**63+1 to 2**63-1", "the lowest int64 stands for null")
        return number

    def bound(self, value: object) -> int | Fraction:
        """Any number: one between two whole ones is kept as a half, one beyond the range as the first beyond."""
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | Decimal | Fraction | np.number):
            raise self.refuse(value, "a number", "numbers stand without quotes" if isinstance(value, str) else "")
        number = operator.index(value) if isinstance(value, np.integer) else value
        if number != number:  # noqa: PLR0124  (NaN, whatever its type)
            raise self.refuse(value, "a number")
        if number > LAST or number < FIRST:
            return LAST + 1 if number > 0 else FIRST - 1
        below = math.floor(number)
        return below if below == number else Fraction(2 * below + 1, 2)

    def code(self, key: int | Fraction) -> int:
        """The number itself."""
        return int(key)

    def cut(self, key: int | Fraction) -> Cut:
        """Between two whole numbers nothing is equal."""
        below, above = math.floor(key), math.ceil(key)
        return Cut(lt=above - 1, le=below, gt=below + 1, ge=above)

    def show(self, key: int | Fraction) -> str:
        """As a number; a half for what lay between."""
        return str(key) if isinstance(key, int) else f"{math.floor(key)}.5" if key > 0 else f"-{math.floor(-key)}.5"

    def value(self, code: int) -> int:
        """The number itself."""
        return code

    @property
    def codes_span(self) -> tuple[int, int]:
        """All but the lowest int64."""
        return FIRST, LAST

    @property
    def scale(self) -> float:
        """One over the domain's width."""
        return super().scale if self.lo is None or self.hi is None else 1.0 / (self.hi - self.lo)

    def codes(self, column: NDArray[Any]) -> Coordinates:
        """All at once when the column holds numbers; floats must be whole."""
        if column.dtype.kind == "i" and not (column < FIRST).any():
            return column.astype(np.int64)
        if column.dtype.kind == "u" and not (column > LAST).any():
            return column.astype(np.int64)
        if column.dtype.kind == "f" and ((np.abs(column) < 2.0**63) & (column == np.rint(column))).all():
            return column.astype(np.int64)
        return super().codes(column)
