"""One attribute of an event, and how its values become int64 codes that keep their order.

A *field* has three words for one thing. A *value* is what an application writes (``12.5``, ``"ACME"``, a ``datetime``). Its
*key* is what the field compares by: values that are equal for the field have one key. Its *code* is the int64 that gossip,
boxes and kernels see; a larger key never has a smaller code. Codes are

    int       the number itself                        enum      rank in the declared order
    float     the bits, by sign and magnitude          datetime  microseconds since 1970, UTC
    grid      steps of a 2**30 grid over [lo, hi]      string    the first 8 bytes of its UTF-8, as one number
    bool      0 and 1                                  null      NULL, the lowest int64, below every value

The surprising thing: a string's code forgets what follows its first 8 bytes, so several strings share one. That is why a
comparison does not ask for a code but for a `Cut`, four codes that say where "less", "at most", "more" and "at least"
begin and end; where they meet, the question is answered exactly, and where they cross, only by a superset.

A gap between boxes is measured in widths of the declared domain (`Field.scale`). Codes of floats are not linear in the
value but nearly so in its logarithm: within ``[10, 12]`` nobody notices, while over ``[0, 100]`` most codes lie below 1e-9.
So a domain that touches or crosses zero counts only magnitudes down to 2**-10 of its largest, and a field to be measured
linearly is a grid.
"""

from __future__ import annotations

import enum
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, ClassVar, Final, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from gossamer.arrays import Coordinates
from gossamer.errors import InterestError

__all__ = ["FIRST", "LAST", "NULL", "AnyField", "Cut", "Field", "Value", "first_row", "nearest", "quoted"]

NULL: Final = -(2**63)
"""The code of a missing value. A wildcard covers it, a comparison never does."""
FIRST: Final = NULL + 1
"""The lowest code a value may have."""
LAST: Final = 2**63 - 1

Value: TypeAlias = float | int | bool | str | datetime | enum.Enum | None
K = TypeVar("K")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_WORDS = frozenset({"and", "or", "not", "in", "is", "null", "true", "false", "like", "between"})


class Cut(NamedTuple):
    """Where a bound falls among the codes: values below it have codes <= ``lt``, values above it codes >= ``gt``, and so on."""

    lt: int
    le: int
    gt: int
    ge: int


def nearest(word: str, known: Sequence[str], what: str) -> str:
    """A hint for a name that is not known."""
    folded = {name.casefold(): name for name in known}
    if close := get_close_matches(word.casefold(), list(folded), n=1):
        return f"did you mean {folded[close[0]]!r}?"
    shown = ", ".join(list(known)[:12]) + (", ..." if len(known) > 12 else "")  # noqa: PLR2004  (a line's worth)
    return f"{what}: {shown}"


def quoted(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def first_row(bad: NDArray[np.bool_]) -> int:
    """The number of the first row that is marked."""
    return int(np.argmax(bad))


@dataclass(frozen=True)
class Field(ABC, Generic[K]):
    """A named attribute; every field may be null. Subclasses say how its values are compared and coded."""

    name: str

    kind: ClassVar[str]
    exact: ClassVar[bool] = True
    """Whether two values with one code are always equal to the field."""

    def __post_init__(self) -> None:
        """Refuse a name that the filter language could not write."""
        if not _NAME.fullmatch(self.name):
            raise InterestError(
                f"{self.name!r} cannot name a field",
                hint="a letter or underscore, then letters, digits and underscores, at most 64 in all",
            )
        if self.name.lower() in _WORDS:
            raise InterestError(f"{self.name!r} is a word of the filter language", hint=f"call the field {self.name}_")

    @abstractmethod
    def key(self, value: object) -> K:
        """What a value of an event is compared by; never called with None."""

    @abstractmethod
    def code(self, key: K) -> int:
        """The order-preserving code of a key that an event can have."""

    @abstractmethod
    def value(self, code: int) -> Value:
        """The value a code stands for, for showing; a prefix for strings."""

    @property
    @abstractmethod
    def codes_span(self) -> tuple[int, int]:
        """The lowest and highest code a value can have."""

    def bound(self, value: object) -> K:
        """The key of a bound in a filter, which may be a number no event can carry (10.5 for an int)."""
        return self.key(value)

    def cut(self, key: K) -> Cut:
        """Where a bound falls among the codes."""
        code = self.code(key)
        return Cut(lt=code - 1, le=code, gt=code + 1, ge=code)

    def show(self, key: K) -> str:
        """A bound as the filter language writes it."""
        return str(key)

    def codes(self, column: NDArray[Any]) -> Coordinates:
        """Codes of a column without nulls; the kinds override what they can do at once."""
        out = np.empty(len(column), np.int64)
        for i, value in enumerate(column.tolist()):
            try:
                out[i] = self.code(self.key(value))
            except InterestError as error:
                raise InterestError(f"row {i}: {error.problem}", hint=error.hint) from None
        return out

    @property
    def scale(self) -> float:
        """One over the width of the domain, in codes."""
        first, last = self.codes_span
        return 1.0 / max(1, last - first)

    def to_dict(self) -> dict[str, object]:
        """The field as TOML or JSON would hold it, without its name."""
        settings = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "name"}
        given = {key: value for key, value in settings.items() if value is not None}
        return {"type": self.kind} | {key: list(value) if isinstance(value, tuple) else value for key, value in given.items()}

    def refuse(self, value: object, expected: str, hint: str = "") -> InterestError:
        """The error for a value the field does not take; the caller raises it."""
        shown = str(value) if isinstance(value, Decimal) else repr(value)
        shown = shown if len(shown) <= 60 else f"{shown[:57]}..."  # noqa: PLR2004  (a line's worth)
        return InterestError(f"{self.name}: expected {expected}, found {shown}", hint=hint)

    def check_domain(self, lo: K | None, hi: K | None) -> None:
        """Refuse a domain with one end, or without width."""
        if (lo is None) != (hi is None):
            raise InterestError(f"{self.name}: a domain needs both ends", hint="give lo and hi, or neither")
        if lo is not None and hi is not None and self.code(lo) >= self.code(hi):
            raise InterestError(f"{self.name}: the domain is empty", hint="lo must be below hi")


AnyField: TypeAlias = "Field[Any]"
