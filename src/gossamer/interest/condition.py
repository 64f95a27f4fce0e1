"""What a filter asks, as a tree: comparisons of one field each, joined by "every" and "either".

There is no "not" in the tree. SQL's truth has three values, and a filter wants what is *true*; when every "not" is pushed
down to the comparisons, as SQL's own rules allow, what is left needs two values only: a comparison with null is not true,
whichever way round it was asked. So ``NOT price > 10`` becomes ``price <= 10``, which null does not satisfy either.

A comparison knows two things: whether an event's key satisfies it, and which spans of codes its answers lie in. The spans
hold every code that a satisfying value can have; they are exact when no other value has one of them.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from gossamer.interest.field import FIRST, LAST, NULL, AnyField, Cut
from gossamer.interest.label import String

__all__ = ["FALSE", "TRUE", "Comparison", "Condition", "Either", "Every", "Op", "Span", "both", "either", "holds"]

Span: TypeAlias = tuple[int, int]
"""The lowest and highest of consecutive codes."""


class Op(enum.Enum):
    """What is asked of a field."""

    EQ = "="
    NE = "<>"
    LT = "<"
    GE = ">="
    LE = "<="
    GT = ">"
    BETWEEN = "BETWEEN"
    NOT_BETWEEN = "NOT BETWEEN"
    IN = "IN"
    NOT_IN = "NOT IN"
    STARTS = "LIKE"
    NOT_STARTS = "NOT LIKE"
    NULL = "IS NULL"
    NOT_NULL = "IS NOT NULL"

    @property
    def negated(self) -> Op:
        """What is true of a value when this is false."""
        ops = list(Op)
        return ops[ops.index(self) ^ 1]


@dataclass(frozen=True)
class Comparison:
    """One question about one field."""

    d: int
    field: AnyField
    op: Op
    keys: tuple[Any, ...]

    def holds(self, key: Any) -> bool:  # noqa: ANN401, PLR0911  (a key is of the field's type; one line a question)
        """Whether the key of an event, None for null, satisfies it."""
        if key is None:
            return self.op is Op.NULL
        match self.op, self.keys:
            case Op.EQ, (bound,):
                return bool(key == bound)
            case Op.NE, (bound,):
                return bool(key != bound)
            case Op.LT, (bound,):
                return bool(key < bound)
            case Op.LE, (bound,):
                return bool(key <= bound)
            case Op.GT, (bound,):
                return bool(key > bound)
            case Op.GE, (bound,):
                return bool(key >= bound)
            case Op.BETWEEN, (lo, hi):
                return bool(lo <= key <= hi)
            case Op.NOT_BETWEEN, (lo, hi):
                return bool(key < lo or key > hi)
            case Op.IN, bounds:
                return key in bounds
            case Op.NOT_IN, bounds:
                return key not in bounds
            case Op.STARTS, (start,):
                return bool(key.startswith(start))
            case Op.NOT_STARTS, (start,):
                return not key.startswith(start)
        return self.op is Op.NOT_NULL

    def spans(self) -> tuple[list[Span], bool]:
        """The codes its answers lie in, ascending and apart, and whether that is exact."""
        cuts = [] if self.op in _WITHOUT_CUTS else [self.field.cut(key) for key in self.keys]
        match self.op:
            case Op.NULL:
                return [(NULL, NULL)], True
            case Op.NOT_NULL:
                return [(FIRST, LAST)], True
            case Op.STARTS | Op.NOT_STARTS:
                return self._prefix_spans()
            case Op.IN:
                return either([self._kept([(cut.ge, cut.le)]) for cut in cuts]), all(map(_apart, cuts))
            case Op.NOT_IN:
                spans: list[Span] = [(FIRST, LAST)]
                for cut in cuts:
                    spans = both(spans, self._kept([(FIRST, cut.lt), (cut.gt, LAST)]))
                return spans, all(map(_apart, cuts))
        low, high = cuts[0], cuts[-1]
        raw, exact = {
            Op.EQ: ([(low.ge, low.le)], _apart(low)),
            Op.NE: ([(FIRST, low.lt), (low.gt, LAST)], _apart(low)),
            Op.LT: ([(FIRST, low.lt)], low.lt < low.ge),
            Op.GE: ([(low.ge, LAST)], low.lt < low.ge),
            Op.LE: ([(FIRST, low.le)], low.le < low.gt),
            Op.GT: ([(low.gt, LAST)], low.le < low.gt),
            Op.BETWEEN: ([(low.ge, high.le)], low.lt < low.ge and high.le < high.gt),
            Op.NOT_BETWEEN: ([(FIRST, low.lt), (high.gt, LAST)], low.lt < low.ge and high.le < high.gt),
        }[self.op]
        return self._kept(raw), exact

    def _kept(self, spans: list[Span]) -> list[Span]:
        """Spans without those that no value can fall into, as one list of what is apart."""
        lowest, highest = self.field.codes_span
        return either([[(max(lo, FIRST), min(hi, LAST))] for lo, hi in spans if lo <= min(hi, highest) and hi >= lowest])

    def _prefix_spans(self) -> tuple[list[Span], bool]:
        assert isinstance(self.field, String)  # noqa: S101  (the parser lets no other field be asked so)
        lo, hi, exact = self.field.prefix(self.keys[0])
        if self.op is Op.STARTS:
            return [(lo, hi)], exact
        return self._kept([(FIRST, lo - 1), (hi + 1, LAST)]) if exact else [(FIRST, LAST)], exact


_WITHOUT_CUTS = frozenset({Op.NULL, Op.NOT_NULL, Op.STARTS, Op.NOT_STARTS})


@dataclass(frozen=True)
class Every:
    """True when all parts are; without parts it is always true."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Either:
    """True when some part is; without parts it is never true."""

    parts: tuple[Condition, ...]


Condition: TypeAlias = Comparison | Every | Either

TRUE: Final = Every(())
FALSE: Final = Either(())


def holds(condition: Condition, keys: Sequence[Any]) -> bool:
    """Whether an event satisfies the condition, by its keys in the order of the schema."""
    if isinstance(condition, Comparison):
        return condition.holds(keys[condition.d])
    found = (holds(part, keys) for part in condition.parts)
    return all(found) if isinstance(condition, Every) else any(found)


def both(one: Sequence[Span], other: Sequence[Span]) -> list[Span]:
    """The codes in both of two ascending lists of spans."""
    out, i, j = [], 0, 0
    while i < len(one) and j < len(other):
        lo, hi = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if lo <= hi:
            out.append((lo, hi))
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return out


def either(lists: Sequence[Sequence[Span]]) -> list[Span]:
    """The codes in any of some lists of spans, ascending; spans that touch become one."""
    out: list[Span] = []
    for lo, hi in sorted(span for spans in lists for span in spans):
        if out and lo <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], hi))
        else:
            out.append((lo, hi))
    return out


def _apart(cut: Cut) -> bool:
    """Whether no value other than the bound has its code."""
    return cut.lt < cut.ge and cut.le < cut.gt
