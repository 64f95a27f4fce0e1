"""Fields of truths, names, texts and moments.

The surprising thing is the string: its code keeps the first 8 bytes of its UTF-8, so texts of 8 bytes and more share codes.
NUL is refused because it pads shorter texts; that makes the codes of all texts below 8 bytes their own. What a comparison
with a text of n bytes can then say exactly: everything for n < 8; ``<`` and ``>=`` for n = 8, for no text sharing the code
is smaller; nothing for n > 8. A prefix is exact up to 8 bytes.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gossamer.arrays import Coordinates
from gossamer.errors import InterestError
from gossamer.interest.field import FIRST, LAST, NULL, Cut, Field, first_row, nearest, quoted

__all__ = ["Bool", "Datetime", "Enum", "String"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_KEPT_BYTES = 8
_MAX_ENUM = 4096
_MOMENT_HINT = "write '2026-01-31' or '2026-01-31 12:00:00+00:00'"
_TEXT_HINT = "datetime.fromisoformat makes one; in filters alone texts are read as datetimes"


@dataclass(frozen=True)
class Bool(Field[int]):
    """True or false; false comes first."""

    kind: ClassVar[str] = "bool"

    def key(self, value: object) -> int:
        """0 or 1."""
        if not isinstance(value, bool | np.bool_):
            raise self.refuse(value, "TRUE or FALSE", "truths stand without quotes" if isinstance(value, str) else "")
        return int(value)

    def code(self, key: int) -> int:
        """0 or 1."""
        return key

    def value(self, code: int) -> bool:
        """False or True."""
        return code > 0

    def show(self, key: int) -> str:
        """A word of the language."""
        return "TRUE" if key else "FALSE"

    @property
    def codes_span(self) -> tuple[int, int]:
        """0 and 1."""
        return 0, 1

    def codes(self, column: NDArray[Any]) -> Coordinates:
        """All at once when the column holds booleans."""
        return column.astype(np.int64) if column.dtype.kind == "b" else super().codes(column)


@dataclass(frozen=True)
class Enum(Field[int]):
    """One of some names, in their declared order. Members of a Python enum go by their names."""

    values: tuple[str, ...] = ()
    kind: ClassVar[str] = "enum"

    def __post_init__(self) -> None:
        """Check the names."""
        super().__post_init__()
        object.__setattr__(self, "values", tuple(self.values))
        if not 1 <= len(self.values) <= _MAX_ENUM or len(set(self.values)) != len(self.values):
            raise InterestError(f"{self.name}: an enum needs 1 to {_MAX_ENUM} different values", hint="values=('X', 'Y')")
        for value in self.values:
            if not isinstance(value, str) or "\0" in value:
                raise self.refuse(value, "a text as the enum's value")
        object.__setattr__(self, "_rank", {value: rank for rank, value in enumerate(self.values)})

    def key(self, value: object) -> int:
        """The rank."""
        name = value.name if isinstance(value, enum.Enum) else value
        ranks: Mapping[object, int] = self.__dict__["_rank"]
        if not isinstance(name, str) or name not in ranks:
            hint = nearest(name, self.values, "its values are") if isinstance(name, str) else "write the value in single quotes"
            raise self.refuse(value, "one of the enum's values", hint)
        return ranks[name]

    def code(self, key: int) -> int:
        """The rank."""
        return key

    def value(self, code: int) -> str:
        """The name of this rank."""
        return self.values[min(max(code, 0), len(self.values) - 1)]

    def show(self, key: int) -> str:
        """In single quotes."""
        return quoted(self.values[key])

    @property
    def codes_span(self) -> tuple[int, int]:
        """The ranks."""
        return 0, len(self.values) - 1

    def codes(self, column: NDArray[Any]) -> Coordinates:
        """One look-up for each name that occurs."""
        if column.dtype.kind != "U":
            return super().codes(column)
        names, where = np.unique(column, return_inverse=True)
        return super().codes(names)[where]


@dataclass(frozen=True)
class String(Field[str]):
    """Text without NUL, in the order of its UTF-8 bytes, of which the code keeps 8: shorter strings are coded exactly."""

    lo: str | None = None
    hi: str | None = None
    kind: ClassVar[str] = "string"
    exact: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the domain."""
        super().__post_init__()
        for end in ("lo", "hi"):
            if getattr(self, end) is not None:
                self.key(getattr(self, end))
        self.check_domain(self.lo, self.hi)

    def key(self, value: object) -> str:
        """The text. Python compares it by code points, which is the order of its UTF-8 bytes."""
        if isinstance(value, enum.Enum) or not isinstance(value, str):
            raise self.refuse(value, "a text", "write texts in single quotes")
        if "\0" in value:
            raise self.refuse(value, "a text without NUL characters", "NUL pads what is shorter than 8 bytes")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise self.refuse(value, "a text that UTF-8 can hold", "it holds half of a surrogate pair") from None
        return str(value)

    def code(self, key: str) -> int:
        """The first 8 bytes, the empty text just above null."""
        return max(FIRST, int.from_bytes(key.encode()[:_KEPT_BYTES].ljust(_KEPT_BYTES, b"\0"), "big") + NULL)

    def cut(self, key: str) -> Cut:
        """Texts of 8 bytes or more share their code with longer ones; those of more than 8 with smaller ones too."""
        code, size = self.code(key), len(key.encode())
        return Cut(lt=code - (size <= _KEPT_BYTES), le=code, gt=code + (size < _KEPT_BYTES), ge=code)

    def prefix(self, start: str) -> tuple[int, int, bool]:
        """Codes of all texts that begin so, and whether no other text has one of them."""
        kept = self.key(start).encode()
        low = int.from_bytes(kept[:_KEPT_BYTES].ljust(_KEPT_BYTES, b"\0"), "big") + NULL
        high = int.from_bytes(kept[:_KEPT_BYTES].ljust(_KEPT_BYTES, b"\xff"), "big") + NULL
        return max(FIRST, low), high, len(kept) <= _KEPT_BYTES

    def value(self, code: int) -> str:
        """What is known of the text: its first bytes, as far as they are whole characters."""
        if code <= FIRST:
            return ""
        return (code - NULL).to_bytes(_KEPT_BYTES, "big").partition(b"\0")[0].decode(errors="ignore")

    def show(self, key: str) -> str:
        """In single quotes."""
        return quoted(key)

    @property
    def codes_span(self) -> tuple[int, int]:
        """From the empty text to the highest 8 bytes."""
        return FIRST, LAST

    @property
    def scale(self) -> float:
        """Over the codes of the domain."""
        return super().scale if self.lo is None or self.hi is None else 1.0 / (self.code(self.hi) - self.code(self.lo))

    def codes(self, column: NDArray[Any]) -> Coordinates:
        """The bytes of all texts laid side by side and read as big-endian numbers."""
        if column.dtype.kind not in "OU":
            return super().codes(column)
        try:
            texts = [self.key(value).encode()[:_KEPT_BYTES] for value in column.tolist()]
        except InterestError:  # once more, one by one, to name the row
            return super().codes(column)
        kept = np.array(texts, dtype=f"S{_KEPT_BYTES}")
        numbers = kept.view(">u8").astype(np.uint64) ^ np.uint64(2**63)
        return np.maximum(numbers.view(np.int64), FIRST)


@dataclass(frozen=True)
class Datetime(Field[int]):
    """A moment, to the microsecond. A Python datetime must carry its zone; texts and columns without one are UTC."""

    lo: datetime | str | None = None
    hi: datetime | str | None = None
    kind: ClassVar[str] = "datetime"

    def __post_init__(self) -> None:
        """Check the domain; its ends are kept as texts."""
        super().__post_init__()
        ends = []
        for end in ("lo", "hi"):
            given = getattr(self, end)
            key = None if given is None else self.bound(given)
            ends.append(key)
            object.__setattr__(self, end, None if key is None else self._iso(key))
        object.__setattr__(self, "_ends", tuple(ends))
        self.check_domain(*ends)

    def key(self, value: object) -> int:
        """Microseconds since 1970, UTC."""
        if isinstance(value, np.datetime64):
            return int(self.codes(np.array([value]))[0])
        if not isinstance(value, datetime):
            raise self.refuse(value, "a datetime", _TEXT_HINT if isinstance(value, str) else _MOMENT_HINT)
        if value.utcoffset() is None:
            raise self.refuse(value, "a datetime that carries its zone", "datetime.now(UTC), or .replace(tzinfo=UTC)")
        key = (value - _EPOCH) // _MICROSECOND
        first, last = self.codes_span
        if not first <= key <= last:  # an offset can carry the first and last hours over the edge
            raise self.refuse(value, "a moment in the years 1 to 9999, UTC")
        return key

    def bound(self, value: object) -> int:
        """Also a text in ISO 8601; without an offset it is UTC."""
        if not isinstance(value, str):
            return self.key(value)
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise self.refuse(value, "a datetime", _MOMENT_HINT) from None
        return self.key(moment if moment.utcoffset() is not None else moment.replace(tzinfo=UTC))

    def code(self, key: int) -> int:
        """The microseconds."""
        return key

    def value(self, code: int) -> datetime:
        """The moment in UTC."""
        first, last = self.codes_span
        return _EPOCH + min(max(code, first), last) * _MICROSECOND

    def _iso(self, key: int) -> str:
        return self.value(key).isoformat().replace("+00:00", "Z")

    def show(self, key: int) -> str:
        """In single quotes, in UTC."""
        return quoted(self._iso(key))

    @property
    def codes_span(self) -> tuple[int, int]:
        """The years 1 to 9999."""
        low, high = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
        return (low - _EPOCH) // _MICROSECOND, (high - _EPOCH) // _MICROSECOND

    @property
    def scale(self) -> float:
        """Over the domain's microseconds."""
        low, high = self.__dict__["_ends"]
        return super().scale if low is None else 1.0 / (high - low)

    def codes(self, column: NDArray[Any]) -> Coordinates:
        """All at once when numpy knows them as datetimes."""
        if column.dtype.kind != "M":
            return super().codes(column)
        years = column.astype("datetime64[Y]").astype(np.int64) + 1970
        if (bad := (years < MINYEAR) | (years > MAXYEAR)).any():
            row = first_row(bad)
            raise InterestError(f"row {row}: {self.name}: expected a moment in the years 1 to 9999, found {column[row]}")
        return column.astype("datetime64[us]").astype(np.int64)
