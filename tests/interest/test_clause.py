"""Every mistake is found at its place in the text, with something to try."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import InterestError
from gossamer.interest.predicate import Filter
from gossamer.interest.schema import Bool, Datetime, Enum, Float, Int, Schema, String
from gossamer.interest.words import MAX_DEPTH, MAX_TEXT

SCHEMA = Schema(
    Float("price"),
    Int("size"),
    Bool("active"),
    Enum("venue", values=("north", "east")),
    String("name"),
    Datetime("at"),
    Int("date"),
    Int("order"),
)


@pytest.mark.parametrize(
    ("before", "marked", "after", "problem", "hint"),
    [
        ("", "prise", " > 10", "no field is called 'prise'", "'price'"),
        ("price > 1 AND ", "Size", " = 1", "no field is called 'Size'", "'size'"),
        ("venue = ", "north", "", "no field is called 'north'", "single quotes: 'north'"),
        ("venue = ", '"north"', "", "no field is called 'north'", "single quotes: 'north'"),
        ("venue IN ('east', ", "north", ")", "no field is called 'north'", "single quotes: 'north'"),
        ("venue = ", "'nort'", "", "one of the enum's values", "'north'"),
        ("venue = ", "3", "", "one of the enum's values", "single quotes"),
        ("price > ", "'abc'", "", "expected a number", "without quotes"),
        ("size > ", "'1'", "", "expected a number", "without quotes"),
        ("size > ", "TRUE", "", "expected a number", ""),
        ("name = ", "3.50", "", "expected a text, found 3.50", "single quotes"),
        ("active = ", "'yes'", "", "expected TRUE or FALSE", "without quotes"),
        ("active = ", "1", "", "expected TRUE or FALSE", ""),
        ("active IS ", "TRUE", "", "IS asks for NULL only", "active IS NULL"),
        ("price = ", "NULL", "", "nothing equals NULL", "price IS NULL"),
        ("price IN (1, ", "null", ")", "nothing equals NULL", "price IS NULL"),
        ("name LIKE ", "'%abc'", "", "only the beginning", "LIKE 'abc%'"),
        ("name LIKE ", "'a%c'", "", "only the beginning", "LIKE 'a%'"),
        ("name LIKE ", "'ab_'", "", "only the beginning", "LIKE 'ab%'"),
        ("name LIKE ", "3", "", "LIKE needs a text", "LIKE 'abc%'"),
        ("name LIKE 'a%' ", "ESCAPE", " 'x'", "not part of a filter", "made of"),
        ("name ", "ILIKE", " 'a%'", "not part of a filter", "made of"),
        ("venue LIKE ", "'n%'", "", "LIKE asks strings", "venue IN"),
        ("price BETWEEN ", "12 AND 10.5", "", "begins above its end", "BETWEEN 10.5 AND 12.0"),
        ("venue NOT BETWEEN ", "'east' AND 'north'", "", "begins above its end", "BETWEEN 'north' AND 'east'"),
        ("price BETWEEN ", "1", "", "something is missing", "BETWEEN 10 AND 12"),
        ("at > ", "'yesterday'", "", "expected a datetime", "2026-01-31"),
        ("at > ", "5", "", "expected a datetime", "2026-01-31"),
        ("at = TIMESTAMP ", "'2026-02-30'", "", "expected a datetime", "2026-01-31"),
        ("at = DATE ", "'2026-01-01 10:00'", "", "this is no date", "DATE '2026-01-31'"),
        ("price = DATE ", "'2026-01-01'", "", "of type float, not datetime", ""),
        ("", "price", "", "of type float, not a condition", "IS NOT NULL"),
        ("", "10", "", "a value alone", "compare a field"),
        ("", "10", " < 11", "no field is asked here", "price"),
        ("", "price > size", "", "two fields are compared", "single quotes"),
        ("price BETWEEN ", "size", " AND 10", "a field stands where", "single quotes"),
        ("price ", "+", " 1 > 10", "not part of a filter", "made of"),
        ("price > 10 ", "*", " 2", "not part of a filter", "made of"),
        ("", "lower", "(name) = 'x'", "a function or a keyword", "made of"),
        ("", "CAST", "(price AS INT) = 1", "a function or a keyword", "made of"),
        ("price", "::", "int = 1", "not part of a filter", "made of"),
        ("", "price", "(1) = 2", "a field, not a function", "made of"),
        ("price > (", "SELECT", " 1)", "not part of a filter", "made of"),
        ("", "CASE", " WHEN active THEN TRUE END", "not part of a filter", "made of"),
        ("price > ", "?", "", "not part of a filter", "made of"),
        ("price > ", ":", "x", "not part of a filter", "made of"),
        ("price > 1", ";", " size = 1", "not part of a filter", "made of"),
        ("price > ", ".", "5", "begins with a digit", "0.5"),
        ("price > ", "1e999", "", "a number that a double holds", ""),
        ("price > 10 ", "AND", "", "something is missing", ""),
        ("price ", ">", "", "something is missing", ""),
        ("price > 10 AND ", "OR", " size = 1", "something is missing", ""),
        ("price > 10 size ", "=", " 1", "this was not expected", "AND or OR"),
        ("", "(", "price > 10", "not closed", "parenthesis"),
        ("price > 10", ")", "", "closes nothing", "remove it"),
        ("name = ", "'abc", "", "the quote is not closed", "end it with '"),
        ("", '"price > 1', "", "the quote is not closed", 'end it with "'),
        ("price > 10 ", "-- hello", "", "no comments", ""),
        ("price ", "/* a */ > 10", "", "no comments", ""),
        ("", "price", " IN ()", "IN needs values", "IN ("),
        ("name = ", "'a'", " 'b'", "a value was expected", ""),
        ("name = ", "'\0'", "", "without NUL", ""),
        ("price > 1\nAND\t", "naem", " = 'x'", "no field is called 'naem'", "'name'"),
        ("name = 'it''s é' AND ", "nam", " = 'x'", "no field is called 'nam'", "'name'"),
    ],
)
def test_a_mistake_is_marked_where_it_stands(before: str, marked: str, after: str, problem: str, hint: str) -> None:
    text = before + marked + after
    with pytest.raises(InterestError) as caught:
        Filter.parse(SCHEMA, text)
    error = caught.value
    assert (error.start, text[error.start : error.stop]) == (len(before), marked)
    assert problem in error.problem
    assert hint in error.hint
    assert len(error.text) == len(text)
    assert "\n" not in error.text
    assert str(error).splitlines()[0] == error.problem


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_an_empty_text_is_told_how_to_want_everything(text: str) -> None:
    with pytest.raises(InterestError, match="write TRUE"):
        Filter.parse(SCHEMA, text)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ('date = 1 and "order" = 2', "order = 2 AND date = 1"),
        ("at >= DATE '2026-01-01'", "at >= '2026-01-01T00:00:00Z'"),
        ("at = TIMESTAMP '2026-01-01 02:00:00+02:00'", "at = '2026-01-01'"),
        ("((price)) = (1)", "price = 1.0"),
        ("10 < price", "price > 10"),
        ("- 1 = size", "size = -1"),
        ("price = 1e1", "price = 10."),
        ("price == 1 AND size != 1", "price = 1 AND size <> 1"),
        ("active", "active = TRUE"),
        ("NOT active", "active = FALSE"),
        ("NOT (price > 10 OR size IS NULL)", "price <= 10 AND size IS NOT NULL"),
        ("NOT price IN (1, 2)", "price NOT IN (2, 1, 1)"),
        ("NOT name LIKE 'a%'", "name NOT LIKE 'a%'"),
        ("NOT (name NOT LIKE 'a%')", "name LIKE 'a%'"),
        ("NOT price NOT BETWEEN 1 AND 2", "price >= 1 AND price <= 2"),
        ("NOT price IS NOT NULL", "price IS NULL"),
        ("price > 1 AND TRUE OR FALSE", "price > 1"),
        ("price > 1 OR size = 1 AND active", "price > 1 OR (size = 1 AND active)"),
        ("name LIKE 'abc'", "name = 'abc'"),
        ("name LIKE '%'", "name IS NOT NULL"),
        ("venue <> 'north'", "venue = 'east' OR venue > 'east'"),
    ],
)
def test_two_ways_to_say_one_thing(text: str, same: str) -> None:
    one, other = Filter.parse(SCHEMA, text), Filter.parse(SCHEMA, same)
    for event in (
        {},
        {"size": 1, "price": 10.0},
        {"active": False, "price": 1.5},
        {"name": "abc", "venue": "east", "size": -1},
    ):
        assert one.matches(event) == other.matches(event)
        assert one.may_match(SCHEMA.encode(event)) == other.may_match(SCHEMA.encode(event))


def test_nesting_is_counted_before_anything_climbs_down() -> None:
    assert Filter.parse(SCHEMA, "(" * MAX_DEPTH + "active" + ")" * MAX_DEPTH)
    assert Filter.parse(SCHEMA, "NOT " * MAX_DEPTH + "active")
    assert Filter.parse(SCHEMA, " AND ".join(["NOT (active)"] * 400))
    deep = [
        "(" * (MAX_DEPTH + 1) + "active" + ")" * (MAX_DEPTH + 1),
        "NOT " * (MAX_DEPTH + 1) + "active",
        "NOT (" * MAX_DEPTH + "active" + ")" * MAX_DEPTH,
        "price > " + "- " * (MAX_DEPTH + 1) + "1",
        "(" * MAX_TEXT,
        "(" * 4000 + "active" + ")" * 4000,
    ]
    for text in deep:
        with pytest.raises(InterestError, match=f"nested more than {MAX_DEPTH} deep") as caught:
            Filter.parse(SCHEMA, text)
        assert text[caught.value.start : caught.value.stop] in {"(", "NOT", "-"}


def test_long_texts_are_read_without_recursion_and_longer_ones_refused() -> None:
    for word in (" AND ", " OR "):
        text = word.join(["size=1"] * (MAX_TEXT // 12))
        assert Filter.parse(SCHEMA, text).boxes.shape == (1, 2, len(SCHEMA))
    with pytest.raises(InterestError, match="8193 characters"):
        Filter.parse(SCHEMA, " " * (MAX_TEXT + 1))
    with pytest.raises(InterestError, match="surrogate"):
        Filter.parse(SCHEMA, "name = '\ud800'")


def test_a_caller_who_stands_deep_gets_an_error_of_ours() -> None:
    def climb(steps: int) -> None:
        if steps:
            climb(steps - 1)
        else:
            Filter.parse(SCHEMA, "(" * MAX_DEPTH + "active" + ")" * MAX_DEPTH)

    Filter.parse(SCHEMA, "active")
    frame, depth = sys._getframe(), 0
    while frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    with pytest.raises(InterestError, match="nested too deeply"):
        climb(sys.getrecursionlimit() - depth - 100)


WORDS = [
    "price",
    "size",
    "name",
    "AND",
    "OR",
    "NOT",
    "IN",
    "IS",
    "NULL",
    "LIKE",
    "BETWEEN",
    "(",
    ")",
    ",",
    "=",
    "<",
    "-",
    "1",
    "2.5",
]
MORE = [
    "'a%'",
    "''",
    "TRUE",
    "DATE",
    "'2026-01-01'",
    "at",
    "date",
    "active",
    '"order"',
    ".",
    "*",
    "x",
    "CASE",
    "END",
    "[",
    "]",
    "{",
    "|",
]


@given(st.lists(st.sampled_from(WORDS + MORE), max_size=12).map(" ".join) | st.text(max_size=30))
def test_any_text_is_a_filter_or_an_error_of_ours(text: str) -> None:
    try:
        Filter.parse(SCHEMA, text)
    except InterestError as error:
        assert 0 <= error.start <= error.stop <= len(text)  # noqa: PT017  (most texts are errors, some are not)
