"""Filters: what a subscriber wants, as the WHERE clause of SQL, as boxes, and as a test of one event.

    wanted = Filter.parse(schema, "price BETWEEN 10 AND 12 AND venue = 'X'")
    wanted.boxes            # (B, 2, D) int64: what is gossiped
    wanted.matches(event)   # the text's own answer, by SQL's three-valued logic: what the subscriber asks at last

Every event that matches lies in a box. The other way round holds when `Filter.exact` is true; it is false where a string of
8 bytes or more was compared, whose code keeps a prefix only, and where more boxes came out than were allowed, so that some
were merged. What lies in a box and does not match is an unwanted receipt, counted and dropped by the subscriber.

The surprising thing is what is refused. An OR of m conditions inside an AND of n others is up to m**n boxes; they are
counted before they are made, and beyond 512 the filter is an error at once, not a minute of work.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf
from typing import Any, Final

import numpy as np

from gossamer.arrays import Coordinates
from gossamer.errors import InterestError
from gossamer.interest.ask import HIGH, LOW, Interests
from gossamer.interest.box import box_text
from gossamer.interest.condition import Comparison, Condition, Either, Every, Span, both, either, holds
from gossamer.interest.field import LAST, NULL, AnyField
from gossamer.interest.region import at_most, merged
from gossamer.interest.schema import Schema

__all__ = ["MAX_ALTERNATIVES", "MAX_BOXES", "Filter"]

MAX_BOXES: Final = 16
"""Boxes a filter becomes unless told otherwise: each is a row of gossip."""
MAX_ALTERNATIVES: Final = 512
"""Boxes a filter may be made of before they are merged."""
_MAX_STEP = 2**22
"""Numbers one step of the expansion may hold: 32 MiB."""
_MAX_WORK = 2**25
"""Numbers all steps together may make or compare."""


class Filter:
    """What one subscriber wants of a stream. Immutable; equal when text and schema are."""

    __slots__ = ("_condition", "boxes", "exact", "schema", "text")

    schema: Schema
    text: str
    boxes: Coordinates
    """(B, 2, D) int64, read-only: the boxes around all that matches; they may overlap."""
    exact: bool
    """Whether an event matches if and only if it lies in a box."""

    def __init__(self, schema: Schema, text: str, condition: Condition, most: int) -> None:
        expansion = _Expansion(len(schema))
        everything = expansion.boxes(condition)
        self.schema, self.text, self._condition = schema, text, condition
        self.boxes, whole = at_most(everything, most)
        self.exact = expansion.exact and whole
        self.boxes.flags.writeable = False

    @classmethod
    def parse(cls, schema: Schema, text: str, *, most: int = MAX_BOXES, strict: bool = True) -> Filter:
        """The filter a text states. InterestError names the place in the text that cannot be, and what to try.

        A text that no event can satisfy (``price > 3 AND price < 2``) is an error too, unless ``strict`` is false: then it
        is a filter without boxes, whose `empty` is true.
        """
        # sqlglot is loaded by the first filter, not by an import
        from gossamer.interest.clause import read  # noqa: PLC0415
        from gossamer.interest.words import complaint  # noqa: PLC0415

        condition = read(schema, text)
        try:
            wanted = cls(schema, text, condition, most)
        except InterestError as error:
            raise complaint(text, error.problem, hint=error.hint) from None
        if strict and wanted.empty:
            never = _impossible(schema, condition)
            hint = f"no value of {never} meets all that is asked of it" if never else "its conditions exclude each other"
            raise complaint(text, "no event can match this filter", hint=hint)
        return wanted

    @classmethod
    def ranges(cls, schema: Schema, /, **wanted: object) -> Filter:
        """The filter that asks each named field for a value, a range, or one of several values.

        ``price=(10, 12)`` is BETWEEN, either end None leaves that side open; ``venue="X"`` is =; ``venue=["X", "Y"]`` is IN;
        ``price=None`` is IS NULL. The text it comes with says the same.
        """
        parts = [_range_text(schema[name], want) for name, want in wanted.items()]
        return cls.parse(schema, " AND ".join(parts) or "TRUE")

    @property
    def empty(self) -> bool:
        """Whether no event can match."""
        return len(self.boxes) == 0

    @property
    def condition(self) -> Condition:
        """What the text asks, as a tree."""
        return self._condition

    def matches(self, event: object) -> bool:
        """Whether an event satisfies the text: true, not null; the event is anything `Schema.encode` takes."""
        return holds(self._condition, self.schema.keys(event))

    def may_match(self, vector: Coordinates) -> bool:
        """Whether an encoded event lies in a box, which is all that other nodes can tell."""
        return bool(((self.boxes[:, LOW] <= vector) & (vector <= self.boxes[:, HIGH])).all(axis=1).any())

    def interests(self) -> Interests:
        """The boxes as the four questions take them, numbered from 0."""
        return Interests(self.boxes, self.schema.scales())

    def describe(self) -> str:
        """The boxes as text: what other nodes are told."""
        return " OR ".join(f"({box_text(self.schema, box)})" for box in self.boxes) or "FALSE"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Filter) and (self.text, self.schema) == (other.text, other.schema)

    def __hash__(self) -> int:
        return hash((self.text, self.schema))

    def __repr__(self) -> str:
        return f"<Filter {self.text!r}: {len(self.boxes)} boxes{'' if self.exact else ', not exact'}>"


class _Expansion:
    """Making boxes of one condition, within limits that are checked before anything grows."""

    def __init__(self, attributes: int) -> None:
        self.attributes, self.exact, self.work = attributes, True, 0

    def boxes(self, condition: Condition) -> Coordinates:
        """(B, 2, D) int64: boxes around all that satisfies the condition."""
        if isinstance(condition, Comparison):
            condition = Every((condition,))
        asked: dict[int, list[list[Span]]] = {}
        for part in condition.parts:
            if isinstance(part, Comparison):
                spans, exact = part.spans()
                self.exact &= exact
                asked.setdefault(part.d, []).append(spans)
        nested = [self.boxes(part) for part in condition.parts if not isinstance(part, Comparison)]
        if isinstance(condition, Either):
            alone = [self._along(self._wildcard(), d, either(lists)) for d, lists in asked.items()]
            return self._few(np.concatenate([self._wildcard()[:0], *alone, *nested]))
        boxes = self._wildcard()
        for d, lists in asked.items():
            boxes = self._along(boxes, d, _common(lists))
        for other in sorted(nested, key=len):
            boxes = self._met(boxes, other)
        return boxes

    def _wildcard(self) -> Coordinates:
        everything = np.empty((1, 2, self.attributes), np.int64)
        everything[:, LOW], everything[:, HIGH] = NULL, LAST
        return everything

    def _along(self, boxes: Coordinates, d: int, spans: Sequence[Span]) -> Coordinates:
        """Each box, which is a wildcard in attribute d, once for each span."""
        if len(boxes) * len(spans) > MAX_ALTERNATIVES:
            self._too_many()
        out = np.repeat(boxes, len(spans), axis=0)
        out[:, :, d] = np.tile(np.array(spans, np.int64).reshape(-1, 2), (len(boxes), 1))
        return out

    def _met(self, one: Coordinates, other: Coordinates) -> Coordinates:
        """What each of some boxes has in common with each of others."""
        size = len(one) * len(other) * 2 * self.attributes
        self.work += size
        if size > _MAX_STEP or self.work > _MAX_WORK:
            self._too_many()
        lo = np.maximum(one[:, None, LOW], other[None, :, LOW]).reshape(-1, self.attributes)
        hi = np.minimum(one[:, None, HIGH], other[None, :, HIGH]).reshape(-1, self.attributes)
        some = (lo <= hi).all(axis=1)
        return self._few(np.stack([lo[some], hi[some]], axis=1))

    def _few(self, boxes: Coordinates) -> Coordinates:
        """The boxes, if there are not too many that cannot be joined."""
        if len(boxes) > MAX_ALTERNATIVES:
            boxes = np.unique(boxes, axis=0)
        if MAX_ALTERNATIVES < len(boxes) <= 2 * MAX_ALTERNATIVES and self.work <= _MAX_WORK:
            self.work += len(boxes) ** 2
            boxes = merged(boxes)
        if len(boxes) > MAX_ALTERNATIVES:
            self._too_many()
        return boxes

    @staticmethod
    def _too_many() -> None:
        raise InterestError(
            f"the filter has more than {MAX_ALTERNATIVES} alternatives",
            hint="ANDs of ORs multiply; ask for less, or split it into several subscriptions",
        )


def _common(lists: Sequence[Sequence[Span]]) -> list[Span]:
    """The codes in all of some lists of spans."""
    spans = list(lists[0])
    for other in lists[1:]:
        spans = both(spans, other)
    return spans


def _impossible(schema: Schema, condition: Condition) -> str:
    """The first field of which a conjunction asks what no value meets; nothing if no field alone is to blame."""
    if isinstance(condition, Comparison):
        condition = Every((condition,))
    for d, field in enumerate(schema):
        lists = [part.spans()[0] for part in condition.parts if isinstance(part, Comparison) and part.d == d]
        if isinstance(condition, Every) and lists and not _common(lists):
            return field.name
    return next(filter(None, (_impossible(schema, part) for part in condition.parts if not isinstance(part, Comparison))), "")


def _range_text(field: AnyField, want: object) -> str:
    """What one keyword asks for, in the language."""

    def shown(value: Any) -> str:  # noqa: ANN401  (bound() says what it is not)
        key = field.bound(value)
        if isinstance(key, float) and isinf(key):
            raise InterestError(f"{field.name}: a range cannot end at infinity", hint="None leaves that side open")
        return field.show(key)

    if want is None:
        return f"{field.name} IS NULL"
    if isinstance(want, list | set | frozenset):
        if not want:
            raise InterestError(f"{field.name}: none of no values can be wanted", hint="give at least one value")
        return f"{field.name} IN ({', '.join(sorted(map(shown, want)))})"
    if not isinstance(want, tuple):
        return f"{field.name} = {shown(want)}"
    if len(want) != 2:  # noqa: PLR2004  (a range has two ends)
        raise InterestError(f"{field.name}: a range has two ends, found {len(want)}", hint="(lo, hi), either of them None")
    lo, hi = (None if end is None else shown(end) for end in want)
    if lo is None:
        return f"{field.name} IS NOT NULL" if hi is None else f"{field.name} <= {hi}"
    return f"{field.name} >= {lo}" if hi is None else f"{field.name} BETWEEN {lo} AND {hi}"
