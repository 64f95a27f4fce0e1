"""What schemas, filters, boxes and regions mean, typed out; and the strategies that make some.

A filter here is a nest of tuples; `text` writes it as SQL, and `naive_truth` answers it for one row as SQL's three-valued
logic does: True, False or None.
"""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from gossamer.interest.box import Box
from gossamer.interest.schema import Bool, Datetime, Enum, Float, Grid, Int, Schema, String

__all__ = [
    "POOLS",
    "SCHEMA",
    "VENUES",
    "Tree",
    "events",
    "naive_at_most",
    "naive_points",
    "naive_truth",
    "small_boxes",
    "text",
    "trees",
    "values",
]

Tree: TypeAlias = tuple[Any, ...]

VENUES = ("north", "east", "west", "it's")
SCHEMA = Schema(
    Float("price", lo=0.5, hi=100.0),
    Grid("x"),
    Int("size", lo=0, hi=10),
    Bool("active"),
    Enum("venue", values=VENUES),
    String("name"),
    Datetime("at", lo="2026-01-01", hi="2027-01-01"),
)

START = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = [
    "",
    "a",
    "ab",
    "b",
    "abcdefg",
    "abcdefgh",
    "abcdefghi",
    "abcdefgha",
    "abcdefgz",
    "éééé",
    "ééééé",
    "it's",
    "z" * 20,
    "\x01",
]

# Few values, so that events and bounds meet often; each pool is sorted as the field sorts it.
POOLS: dict[str, list[Any]] = {
    "price": [-1e300, -2.5, -0.0, 5e-324, 0.1, 1.0, 10.0, 10.5, 1e22],
    "x": [0.0, 2.0**-30, 0.25, 0.5, 1.0, 1.5],
    "size": [-(2**40), -1, 0, 1, 2, 3, 10, 2**53 + 1],
    "active": [False, True],
    "venue": list(VENUES),
    "name": sorted(NAMES),
    "at": [START + step for step in (-timedelta(days=300), timedelta(0), timedelta(microseconds=1), timedelta(days=1))],
}
BOUNDS = POOLS | {"size": [*POOLS["size"], Decimal("-0.5"), Decimal("0.5"), Decimal("2.5"), Decimal("1e30"), Decimal("-1e30")]}


def small_boxes(attributes: int, width: int = 4) -> st.SearchStrategy[Box]:
    """A box of a small grid."""
    ends = st.tuples(st.integers(0, width), st.integers(0, width)).map(sorted)
    return st.lists(ends, min_size=attributes, max_size=attributes).map(
        lambda pairs: Box([lo for lo, _ in pairs], [hi for _, hi in pairs])
    )


def naive_points(boxes: list[Box] | NDArray[np.int64]) -> set[tuple[int, ...]]:
    """Every point of some boxes, one by one."""
    corners = [box.corners if isinstance(box, Box) else box for box in boxes]
    ranges = [[range(lo, hi + 1) for lo, hi in zip(*corner.tolist(), strict=True)] for corner in corners]
    return {point for sides in ranges for point in itertools.product(*sides)}


def naive_at_most(boxes: list[Box], most: int) -> list[Box]:
    """Boxes, of which the two whose hull adds least volume are replaced by it until there are few enough."""
    while len(boxes) > most:
        pairs = itertools.combinations(boxes, 2)
        hull = min(
            ((_added(one, other), i, one.hull(other)) for i, (one, other) in enumerate(pairs)), key=lambda found: found[:2]
        )[2]
        boxes = [hull, *(box for box in boxes if not hull.contains(box))]
    return boxes


def _added(one: Box, other: Box) -> int:
    common = one.intersection(other)
    return one.hull(other).volume() - one.volume() - other.volume() + (common.volume() if common else 0)


def values(name: str) -> st.SearchStrategy[Any]:
    """A value of one of the schema's fields, from the pool or from anywhere."""
    anywhere: dict[str, st.SearchStrategy[Any]] = {
        "price": st.floats(allow_nan=False),
        "x": st.floats(-2.0, 2.0),
        "size": st.integers(-(2**63) + 1, 2**63 - 1),
        "active": st.booleans(),
        "venue": st.sampled_from(VENUES),
        "name": st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12),
        "at": st.datetimes(timezones=st.just(UTC)),
    }
    return st.sampled_from(POOLS[name]) | anywhere[name]


def events() -> st.SearchStrategy[dict[str, Any]]:
    """An event of the schema, with nulls."""
    return st.fixed_dictionaries({name: st.none() | values(name) for name in SCHEMA.names})


def leaves() -> st.SearchStrategy[Tree]:
    """One question about one field."""

    def about(name: str) -> st.SearchStrategy[Tree]:
        bound = st.sampled_from(BOUNDS[name])
        order = BOUNDS[name].index if name == "venue" else lambda value: value
        pairs = st.tuples(bound, bound).map(lambda pair: sorted(pair, key=order))
        kinds = [
            st.tuples(st.just("compare"), st.just(name), st.sampled_from(["=", "<>", "!=", "<", "<=", ">", ">="]), bound),
            st.tuples(st.just("turned"), st.just(name), st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), bound),
            st.tuples(st.just("between"), st.just(name), pairs, st.booleans()),
            st.tuples(st.just("in"), st.just(name), st.lists(bound, min_size=1, max_size=4), st.booleans()),
            st.tuples(st.just("null"), st.just(name), st.booleans()),
        ]
        if name == "name":
            kinds.append(st.tuples(st.just("like"), st.just(name), bound, st.booleans()))
        if name == "active":
            kinds.append(st.tuples(st.just("truth"), st.just(name)))
        return st.one_of(kinds)

    return st.sampled_from(SCHEMA.names).flatmap(about)


def trees() -> st.SearchStrategy[Tree]:
    """A filter over the schema."""
    return st.recursive(
        leaves() | st.tuples(st.just("constant"), st.booleans()),
        lambda inner: (
            st.tuples(st.just("and"), st.lists(inner, min_size=1, max_size=3))
            | st.tuples(st.just("or"), st.lists(inner, min_size=1, max_size=3))
            | st.tuples(st.just("not"), inner)
        ),
        max_leaves=8,
    )


def literal(value: Any) -> str:  # noqa: ANN401  (a value of any field)
    """A value as SQL writes it."""
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case datetime():
            return f"TIMESTAMP '{value.replace(tzinfo=None)}'"
        case float():
            return f"{value!r}e0" if "e" not in repr(value) else repr(value)
    return str(value)


def named(name: str) -> str:
    """A field's name as SQL writes it; ``at`` is a keyword for some."""
    return f'"{name}"' if name == "at" else name


def text(tree: Tree, *, typed: bool = False) -> str:
    """A filter as SQL; typed is for DuckDB, which compares names of an enum as texts unless they are cast."""

    def shown(bound: Any) -> str:  # noqa: ANN401  (a value of any field)
        return f"{literal(bound)}::venues" if typed and tree[1] == "venue" else literal(bound)

    match tree:
        case "constant", truth:
            return "TRUE" if truth else "FALSE"
        case "truth", name:
            return named(name)
        case "compare", name, op, bound:
            return f"{named(name)} {op} {shown(bound)}"
        case "turned", name, op, bound:
            return f"{shown(bound)} {op} {named(name)}"
        case "between", name, (lo, hi), negated:
            return f"{named(name)} {'NOT ' * negated}BETWEEN {shown(lo)} AND {shown(hi)}"
        case "in", name, bounds, negated:
            return f"{named(name)} {'NOT ' * negated}IN ({', '.join(map(shown, bounds))})"
        case "like", name, start, negated:
            return f"{named(name)} {'NOT ' * negated}LIKE {literal(start + '%')}"
        case "null", name, negated:
            return f"{named(name)} IS {'NOT ' * negated}NULL"
        case "not", inner:
            return f"NOT ({text(inner, typed=typed)})"
        case word, parts:
            return f" {word.upper()} ".join(f"({text(part, typed=typed)})" for part in parts)
    raise AssertionError(tree)


def naive_truth(tree: Tree, row: dict[str, Any]) -> bool | None:
    """SQL's answer for one row: None is its "unknown"."""
    match tree:
        case "constant", truth:
            return bool(truth)
        case "not", inner:
            found = naive_truth(inner, row)
            return None if found is None else not found
        case "and", parts:
            found_all = [naive_truth(part, row) for part in parts]
            return False if False in found_all else None if None in found_all else True
        case "or", parts:
            found_all = [naive_truth(part, row) for part in parts]
            return True if True in found_all else None if None in found_all else False
        case "null", name, negated:
            return (row[name] is None) is not negated
    return None if row[tree[1]] is None else _naive_answer(tree, _sortable(tree[1], row[tree[1]]))


def _naive_answer(tree: Tree, value: Any) -> bool:  # noqa: ANN401  (a value of any field)
    """What is true of a value that is there."""
    name = tree[1]
    match tree:
        case "truth", _:
            return bool(value)
        case "compare", _, op, bound:
            return _compared(value, op, _sortable(name, bound))
        case "turned", _, op, bound:
            return _compared(_sortable(name, bound), op, value)
        case "between", _, (lo, hi), negated:
            return bool((_sortable(name, lo) <= value <= _sortable(name, hi)) != negated)
        case "in", _, bounds, negated:
            return bool(any(value == _sortable(name, bound) for bound in bounds) != negated)
        case "like", _, start, negated:
            return bool(value.startswith(start) != negated)
    raise AssertionError(tree)


def _sortable(name: str, value: Any) -> Any:  # noqa: ANN401  (a value of any field)
    """Names by their place in the list, numbers on the grid by the nearest step; all else sorts as Python has it."""
    if name == "venue":
        return VENUES.index(value)
    return round(value * 2**30) if name == "x" else value


def _compared(left: Any, op: str, right: Any) -> bool:  # noqa: ANN401  (values of one field)
    answers = {
        "=": left == right,
        "<>": left != right,
        "!=": left != right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }
    return bool(answers[op])
