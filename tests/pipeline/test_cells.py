"""Cells become codes, and columns a schema, as a person would read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.errors import DataError
from gossamer.interest.field import NULL
from gossamer.interest.label import Datetime
from gossamer.interest.predicate import Filter
from gossamer.interest.schema import Bool, Enum, Float, Int, Schema, String
from gossamer.pipeline.cells import Profile, Reading, encoded, inferred, loaded, merged, profiled, shown
from gossamer.pipeline.source import Rows
from gossamer.pipeline.verdict import holds_all
from tests.naive.pipeline import naive_moment

moments = st.one_of(
    st.datetimes().map(lambda it: it.isoformat()[:26]),
    st.datetimes().map(lambda it: it.strftime("%Y/%m/%d %H:%M").zfill(16)),
    st.from_regex(r"\A[0-3]?[0-9][/.-][0-3]?[0-9][/-](19|20)[0-9]{2}( [0-2][0-9]:[0-6][0-9])?\Z"),
    st.from_regex(r"\A20[0-9]{2}-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-5][0-9]:[0-5][0-9](Z|[+-]0[0-9]:[0-5]0)\Z"),
)


def rows(**columns: Sequence[str | None]) -> Rows:
    table = pa.table({name: pa.array(cells, pa.string()) for name, cells in columns.items()})
    return Rows(table, np.arange(table.num_rows) + 2, [])


def kinds(**columns: Sequence[str | None]) -> dict[str, str]:
    return {field.name: field.kind for field in inferred(profiled(rows(**columns))).schema}


@given(st.lists(moments, min_size=1, max_size=8), st.booleans())
@settings(max_examples=40)
def test_moments_are_those_that_python_reads(cells: list[str], day_first: bool) -> None:  # noqa: FBT001
    reading = Reading(Schema(Datetime("at")), ("at",), frozenset({"at"} if day_first else ()))
    codes, _, wrong = encoded(reading, rows(at=[*cells]))
    for at, (cell, code) in enumerate(zip(cells, codes[:, 0].tolist(), strict=True)):
        known = naive_moment(cell, day_first=day_first)
        assert (at in wrong) == (known is None), cell
        assert code == (NULL if known is None else known), cell


def test_counts_since_1970_are_told_apart_by_their_size() -> None:
    reading = Reading(Schema(Datetime("at")), ("at",), frozenset())
    cells: list[str | None] = ["1517966773", "1517966773840", "1517966773840123", "1517966773840123456", "0"]
    codes, _, _ = encoded(reading, rows(at=cells))
    assert codes[:, 0].tolist() == [1517966773000000, 1517966773840000, 1517966773840123, 1517966773840123, 0]


def test_a_column_is_what_all_its_cells_are() -> None:
    assert kinds(
        size=["1", "-2", None],
        price=["1", "2.5", "1e3"],
        ok=["true", "FALSE", None],
        at=["2026-01-31", "2026/01/31 10:00", "01/31/2026"],
        time=["1517966773840", "1517966037750", None],
        venue=["X", "Y", "X"],
        note=["some words", "others", None],
    ) == {"size": "int", "price": "float", "ok": "bool", "at": "datetime", "time": "datetime", "venue": "enum", "note": "enum"}
    assert kinds(name=[f"name {n}" for n in range(100)]) == {"name": "string"}


def test_one_slip_in_fifty_does_not_make_a_column_of_texts() -> None:
    cells: list[str | None] = ["n/a", *(str(n) for n in range(99))]
    assert kinds(x=cells) == {"x": "int"}
    assert kinds(x=[*["n/a"] * 5, *cells]) == {"x": "string"}
    reading = inferred(profiled(rows(x=cells)))
    _, _, wrong = encoded(reading, rows(x=cells))
    assert wrong == {0: "x: found 'n/a', expected a whole number; an empty cell is null"}


def test_days_and_months_are_told_apart_by_the_column() -> None:
    assert inferred(profiled(rows(at=["01/02/2026", "25/02/2026"]))).day_first == {"at"}
    assert inferred(profiled(rows(at=["01/02/2026", "02/25/2026"]))).day_first == set()
    unclear = inferred(profiled(rows(at=["01/02/2026", "03/02/2026"])))
    assert unclear.day_first == set()
    assert "day_first" in unclear.notes[0]


def test_names_that_filters_cannot_write_are_changed_and_said_so() -> None:
    reading = inferred(profiled(rows(**{"temp max": ["1", "2"], "null": ["3", "4"], "2nd": ["5", "6"]})))
    assert reading.schema.names == ("temp_max", "null_", "_2nd")
    assert len(reading.notes) == 3


def test_what_is_seen_in_parts_is_what_is_seen_of_the_whole() -> None:
    cells: list[str | None] = ["1", "2.5", None, "x", "2026-01-02", "true", "13/01/2026"]
    whole = profiled(rows(x=cells))["x"]
    for at in range(len(cells)):
        parts = (profiled(rows(x=some)).get("x", Profile()) for some in (cells[:at], cells[at:]))
        assert merged(*parts) == whole


def test_a_schema_that_is_shown_can_be_given_back(tmp_path: Path) -> None:
    reading = inferred(
        profiled(rows(**{"a b": ["1", "2"], "at": ["25/02/2026", "26/02/2026"], "name": [f"n{n}" for n in range(2)]}))
    )
    (tmp_path / "schema.toml").write_text(shown(reading))
    again = loaded(tmp_path / "schema.toml", ("a b", "at", "name"))
    assert again._replace(notes=reading.notes) == reading
    with pytest.raises(DataError, match="did you mean 'a_b'"):
        loaded(tmp_path / "schema.toml", ("a_b", "at", "name"))


SCHEMA = Schema(String("name"), Float("x"), Enum("venue", values=("X", "Y")), Int("n"), Bool("ok"))
TEXTS = ["", "abc", "abcdefg", "abcdefgh", "abcdefghi", "abcdefgz", "abcdefg\u00e9", "b", None]
FILTERS = [
    "name = 'abcdefghi'",
    "name <> 'abcdefghi'",
    "name < 'abcdefghi'",
    "name <= 'abcdefgh' AND x > 1",
    "name > 'abcdefgh' OR n = 3",
    "name BETWEEN 'abcdefghi' AND 'b'",
    "name NOT BETWEEN 'abcdefghi' AND 'b'",
    "name IN ('abcdefghi', 'b')",
    "name NOT IN ('abcdefghi', 'b')",
    "name LIKE 'abcdefghi%'",
    "NOT name LIKE 'abcdefghi%' AND (ok OR venue = 'Y')",
    "name IS NULL OR NOT (name >= 'abcdefghi' AND x < 2)",
]


def test_the_text_is_asked_of_many_events_as_of_one() -> None:
    size = 90
    cells: dict[str, list[str | None]] = {
        "name": [TEXTS[i % len(TEXTS)] for i in range(size)],
        "x": [None if i % 4 == 0 else str(i % 3) for i in range(size)],
        "venue": ["XY"[i // 9 % 2] for i in range(size)],
        "n": [str(i % 5) for i in range(size)],
        "ok": [["true", "false", None][i // 10 % 3] for i in range(size)],
    }
    codes, (names,), _ = encoded(Reading(SCHEMA, SCHEMA.names, frozenset()), rows(**cells))
    assert codes.tolist() == [SCHEMA.encode(it).tolist() for it in _events(cells, size)]
    for text in FILTERS:
        wanted = Filter.parse(SCHEMA, text)
        found = holds_all(wanted.condition, codes, {0: names})
        assert found.tolist() == [wanted.matches(it) for it in _events(cells, size)], text


def _events(cells: dict[str, list[str | None]], size: int) -> list[dict[str, object]]:
    readers: dict[str, Callable[[str], object]] = {
        "name": str,
        "x": float,
        "venue": str,
        "n": int,
        "ok": lambda it: it == "true",
    }
    return [
        {name: None if (cell := column[i]) is None else readers[name](cell) for name, column in cells.items()}
        for i in range(size)
    ]
