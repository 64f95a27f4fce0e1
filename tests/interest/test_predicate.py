"""Filters against plain evaluation and against DuckDB, and their boxes against both."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.errors import InterestError
from gossamer.interest import predicate
from gossamer.interest.ask import matches
from gossamer.interest.box import volume
from gossamer.interest.clause import read
from gossamer.interest.field import LAST, NULL
from gossamer.interest.predicate import MAX_BOXES, Filter
from gossamer.interest.schema import Float, Int, Schema, String
from tests.naive import interest as naive

TYPES = {
    "price": "DOUBLE",
    "x": "DOUBLE",
    "size": "BIGINT",
    "active": "BOOLEAN",
    "venue": "venues",
    "name": "VARCHAR",
    "at": "TIMESTAMP",
}


def rows() -> list[dict[str, Any]]:
    """Every value of every pool, and null, several times over, each time among others."""
    steps = {name: 2 * d + 1 for d, name in enumerate(naive.SCHEMA.names)}
    pools = {name: [None, *naive.POOLS[name]] for name in naive.SCHEMA.names}
    return [{name: pool[(i * steps[name] + i // len(pool)) % len(pool)] for name, pool in pools.items()} for i in range(120)]


ROWS = rows()
VECTORS = np.stack([naive.SCHEMA.encode(row) for row in ROWS])


@pytest.fixture(scope="module")
def table() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("CREATE TYPE venues AS ENUM ('north', 'east', 'west', 'it''s')")
        connection.execute(f"CREATE TABLE t (id INTEGER, {', '.join(f'{naive.named(name)} {TYPES[name]}' for name in TYPES)})")
        plain = [[i, *row.values()] for i, row in enumerate(ROWS)]
        for row in plain:
            row[-1] = None if row[-1] is None else row[-1].replace(tzinfo=None)
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?)", plain)
        yield connection


@settings(max_examples=300)
@given(tree=naive.trees())
def test_a_filter_answers_as_its_definition_and_as_duckdb_do(tree: naive.Tree, table: duckdb.DuckDBPyConnection) -> None:
    text = naive.text(tree)
    wanted = Filter.parse(naive.SCHEMA, text, strict=False)
    found = [wanted.matches(row) for row in ROWS]
    assert found == [naive.naive_truth(tree, row) is True for row in ROWS]
    answer = table.execute(f"SELECT id FROM t WHERE {naive.text(tree, typed=True)} ORDER BY id").fetchall()  # noqa: S608  (our own text)
    assert [i for i, truth in enumerate(found) if truth] == [i for (i,) in answer]
    inside = [wanted.may_match(vector) for vector in VECTORS]
    assert all(boxed or not truth for boxed, truth in zip(inside, found, strict=True))
    if wanted.exact:
        assert inside == found


@settings(max_examples=200)
@given(tree=naive.trees(), event=naive.events(), most=st.integers(1, 4))
def test_boxes_hold_all_that_matches_and_nothing_else_when_exact(tree: naive.Tree, event: dict[str, Any], most: int) -> None:
    wanted = Filter.parse(naive.SCHEMA, naive.text(tree), most=most, strict=False)
    truth = naive.naive_truth(tree, event) is True
    inside = wanted.may_match(naive.SCHEMA.encode(event))
    assert wanted.matches(event) == truth
    assert inside or not truth
    assert inside == truth or not wanted.exact
    assert len(wanted.boxes) <= most


@settings(max_examples=100)
@given(tree=naive.trees())
def test_what_is_described_reads_as_the_same_boxes(tree: naive.Tree) -> None:
    wanted = Filter.parse(naive.SCHEMA, naive.text(tree), strict=False)
    if "é" not in wanted.text:  # a character may be cut in two
        again = Filter.parse(naive.SCHEMA, wanted.describe(), strict=False)
        assert [again.may_match(vector) for vector in VECTORS] == [wanted.may_match(vector) for vector in VECTORS]


NAMES = Schema(String("name"))


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("name = 'abcdefg'", True),
        ("name = 'abcdefgh'", False),
        ("name <> 'abcdefgh'", False),
        ("name < 'abcdefgh'", True),
        ("name >= 'abcdefgh'", True),
        ("name <= 'abcdefgh'", False),
        ("name > 'abcdefgh'", False),
        ("name < 'abcdefghi'", False),
        ("name >= 'abcdefghi'", False),
        ("name LIKE 'abcdefgh%'", True),
        ("name NOT LIKE 'abcdefgh%'", True),
        ("name LIKE 'abcdefghi%'", False),
        ("name NOT LIKE 'abcdefghi%'", False),
        ("name LIKE '%'", True),
        ("name LIKE 'abc'", True),
        ("name = ''", True),
        ("name BETWEEN 'abcdefgh' AND 'b'", True),
        ("name IN ('a', 'abcdefgh')", False),
        ("name IS NULL", True),
    ],
)
def test_strings_are_exact_as_far_as_eight_bytes_tell(text: str, exact: bool) -> None:  # noqa: FBT001  (a table)
    wanted = Filter.parse(NAMES, text)
    assert wanted.exact == exact
    for name in (None, *naive.NAMES):
        assert wanted.may_match(NAMES.encode([name])) or not wanted.matches([name])
        assert not exact or wanted.may_match(NAMES.encode([name])) == wanted.matches([name])


NUMBERS = Schema(Int("n"), Float("f"))


@pytest.mark.parametrize(
    ("text", "event", "answer"),
    [
        ("n > 10.5", [11, None], True),
        ("n > 10.5", [10, None], False),
        ("n <> 10.5", [10, None], True),
        ("n NOT IN (10.5)", [10, None], True),
        ("n < 1e30", [2**63 - 1, None], True),
        ("n >= -9223372036854775809", [-(2**63) + 1, None], True),
        ("n <= 9223372036854775807.5", [2**63 - 1, None], True),
        ("n > 9007199254740992", [2**53 + 1, None], True),
        ("n BETWEEN 0.5 AND 1.5", [1, None], True),
        ("f = 0.1", [None, 0.1], True),
        ("f > 10", [None, 10], False),
        ("f >= -0.0", [None, 0.0], True),
        ("f < 1e308", [None, float("-inf")], True),
        ("f > 1e308", [None, float("inf")], True),
        ("NOT f > 10", [None, None], False),
        ("NOT (f > 10 AND n IS NULL)", [1, None], True),
        ("f IS NULL OR n = 1", [2, None], True),
    ],
)
def test_numbers_are_compared_as_numbers(text: str, event: list[float | None], answer: bool) -> None:  # noqa: FBT001  (a table)
    wanted = Filter.parse(NUMBERS, text)
    assert wanted.exact
    assert wanted.matches(event) == wanted.may_match(NUMBERS.encode(event)) == answer


def test_what_nothing_matches_is_an_error_unless_asked_for() -> None:
    for text in ("n > 3 AND n < 2", "n = 10.5", "n > 1e30", "n = 1 AND FALSE", "n = 1 OR n = 2 AND f < 1 AND f > 2"):
        if " OR " not in text:
            with pytest.raises(InterestError, match="no event can match"):
                Filter.parse(NUMBERS, text)
        wanted = Filter.parse(NUMBERS, text, strict=False)
        assert wanted.empty == (" OR " not in text)
    with pytest.raises(InterestError) as caught:
        Filter.parse(NUMBERS, "n = 1 AND (f > 3 AND f < 2)")
    assert caught.value.hint == "no value of f meets all that is asked of it"


def test_true_wants_everything_nulls_too() -> None:
    wanted = Filter.parse(NUMBERS, "TRUE")
    assert wanted.boxes.tolist() == [[[NULL, NULL], [LAST, LAST]]]
    assert wanted.matches([None, None])
    assert Filter.parse(NUMBERS, "n > 10").boxes.tolist() == [[[11, NULL], [LAST, LAST]]]


def test_neighbours_become_one_box_and_interests_answer_by_number() -> None:
    wanted = Filter.parse(NUMBERS, "n IN (3, 1, 2) OR n = 4 OR n = 9")
    assert wanted.exact
    assert wanted.boxes[:, :, 0].tolist() == [[1, 4], [9, 9]]
    interests = wanted.interests()
    assert [matches(interests, handle, NUMBERS.encode([9, 1.0])) for handle in (0, 1)] == [False, True]
    with pytest.raises(ValueError, match="read-only"):
        wanted.boxes[0] = 0


def test_more_boxes_than_allowed_are_merged_where_it_adds_least() -> None:
    wanted = Filter.parse(NUMBERS, f"n IN ({', '.join(str(10 * i) for i in range(20))})")
    assert len(wanted.boxes) == MAX_BOXES
    assert not wanted.exact
    assert sum(volume(box[:, :1]) for box in wanted.boxes) == 20 + 4 * 9
    assert wanted.may_match(NUMBERS.encode([11, None]))
    assert not wanted.matches([11, None])
    assert Filter.parse(NUMBERS, wanted.text, most=20).exact


@pytest.mark.parametrize("parts", [11, 16, 40, 100])
def test_alternatives_that_multiply_are_refused_before_they_grow(parts: int) -> None:
    schema = Schema(*(Int(f"a{i}") for i in range(20)), *(Int(f"b{i}") for i in range(20)))
    text = " AND ".join(f"(a{i % 20}={i} OR b{i % 20}={i})" for i in range(parts))
    with pytest.raises(InterestError, match="more than 512 alternatives"):
        Filter.parse(schema, text)
    expansion = predicate._Expansion(len(schema))
    with pytest.raises(InterestError):
        expansion.boxes(read(schema, text))
    assert expansion.work <= 2 * (2 * 512) ** 2


def test_many_alternatives_in_each_of_several_fields_are_refused_unbuilt() -> None:
    schema = Schema(*(Int(f"a{i}") for i in range(6)))
    text = " AND ".join(f"a{i} NOT IN ({', '.join(str(2 * n) for n in range(100))})" for i in range(6))
    expansion = predicate._Expansion(len(schema))
    with pytest.raises(InterestError, match="more than 512 alternatives"):
        expansion.boxes(read(schema, text))
    assert expansion.work == 0


def test_what_looks_like_many_alternatives_and_is_few_is_fine() -> None:
    text = " AND ".join(f"n <> {2 * i}" for i in range(200))
    wanted = Filter.parse(NUMBERS, text, most=512)
    assert wanted.exact
    assert len(wanted.boxes) == 201
    assert len(Filter.parse(NUMBERS, " OR ".join(f"n = {i}" for i in range(700))).boxes) == 1
    both = " AND ".join(f"(n = {i} OR f = {j})" for i, j in product(range(4), range(4)))
    assert Filter.parse(NUMBERS, both, strict=False).exact


def test_ranges_write_the_filter_they_are() -> None:
    noon = datetime(2026, 6, 1, 12, tzinfo=UTC)
    wanted = Filter.ranges(
        naive.SCHEMA, price=(10, 12.5), venue="it's", size=[3, 1], at=(noon, None), active=True, name=(None, "m"), x=None
    )
    assert wanted.text == (
        "price BETWEEN 10.0 AND 12.5 AND venue = 'it''s' AND size IN (1, 3) AND at >= '2026-06-01T12:00:00Z' "
        "AND active = TRUE AND name <= 'm' AND x IS NULL"
    )
    assert wanted == Filter.parse(naive.SCHEMA, wanted.text)
    assert hash(wanted) == hash(Filter.parse(naive.SCHEMA, wanted.text))
    assert Filter.ranges(naive.SCHEMA).text == "TRUE"
    assert Filter.ranges(naive.SCHEMA, size=(None, None)).text == "size IS NOT NULL"
    assert Filter.ranges(naive.SCHEMA, size=(0.5, None)).text == "size >= 0.5"


@given(name=st.sampled_from(naive.SCHEMA.names), data=st.data())
def test_a_range_of_any_value_matches_that_value(name: str, data: st.DataObject) -> None:
    value = data.draw(naive.values(name))
    if value in (float("inf"), float("-inf")):
        with pytest.raises(InterestError, match="cannot end at infinity"):
            Filter.ranges(naive.SCHEMA, **{name: value})
        return
    for want in (value, (value, value), [value], (None, value), (value, None)):
        wanted = Filter.ranges(naive.SCHEMA, **{name: want})
        assert wanted.matches({name: value})
        assert wanted.may_match(naive.SCHEMA.encode({name: value}))


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ({"prise": 1}, "no field is called 'prise'"),
        ({"price": "x"}, "price: expected a number"),
        ({"price": (1, 2, 3)}, "a range has two ends"),
        ({"price": []}, "none of no values"),
        ({"price": (2, 1)}, "BETWEEN begins above its end"),
        ({"venue": "south"}, "expected one of the enum's values"),
        ({"at": datetime(2026, 1, 1)}, "carries its zone"),  # noqa: DTZ001  (that is the point)
    ],
)
def test_a_range_that_cannot_be_is_an_error(wanted: dict[str, object], problem: str) -> None:
    with pytest.raises(InterestError, match=problem):
        Filter.ranges(naive.SCHEMA, **wanted)


def test_a_filter_shows_itself() -> None:
    wanted = Filter.parse(naive.SCHEMA, "name = 'abcdefgh' OR size > 3 AND (price IS NULL OR price <= 2)")
    assert repr(wanted) == f"<Filter {wanted.text!r}: 2 boxes, not exact>"
    assert wanted.describe() == "(name LIKE 'abcdefgh%') OR ((price IS NULL OR price <= 2.0) AND size >= 4)"
    assert Filter.parse(naive.SCHEMA, "FALSE", strict=False).describe() == "FALSE"
