"""Codes keep the order of values; schemas round-trip, and refuse what has no place in them."""

from __future__ import annotations

import enum
import json
import math
import tomllib
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import InterestError
from gossamer.interest.field import LAST, NULL
from gossamer.interest.schema import MAX_FIELDS, Bool, Datetime, Domain, Enum, Float, Grid, Int, Schema, String
from tests.naive import interest as naive

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


@given(name=st.sampled_from(naive.SCHEMA.names), data=st.data())
def test_codes_keep_the_order_of_values(name: str, data: st.DataObject) -> None:
    one, other = data.draw(naive.values(name)), data.draw(naive.values(name))
    field = naive.SCHEMA[name]
    low, high = field.code(field.key(one)), field.code(field.key(other))
    smaller, larger = naive._sortable(name, one), naive._sortable(name, other)
    assert not smaller < larger or low < high or (low == high and not field.exact)
    assert smaller != larger or low == high
    first, last = field.codes_span
    assert NULL < first <= low <= last <= LAST


@given(naive.events())
def test_an_event_comes_back_as_it_was(event: dict[str, Any]) -> None:
    vector = naive.SCHEMA.encode(event)
    assert vector.dtype == np.int64
    back = naive.SCHEMA.decode(vector)
    assert naive.SCHEMA.encode(back | {"name": event["name"]}).tolist() == vector.tolist()
    assert {name for name in back if back[name] is None} == {name for name in event if event[name] is None}
    assert {back[name] for name in ("size", "active", "venue", "at")} == {
        event[name] for name in ("size", "active", "venue", "at")
    }
    assert back["price"] == event["price"]
    assert event["name"] is None or event["name"].startswith(str(back["name"]))


@given(st.lists(naive.events(), min_size=1, max_size=20))
def test_columns_of_any_kind_are_coded_as_single_events_are(events: list[dict[str, Any]]) -> None:
    expected = np.stack([naive.SCHEMA.encode(event) for event in events])
    columns = {name: [event[name] for event in events] for name in naive.SCHEMA.names}
    assert np.array_equal(naive.SCHEMA.encode_columns(columns), expected)
    kinds = [pa.float64(), pa.float64(), pa.int64(), pa.bool_(), pa.string(), pa.string(), pa.timestamp("us", tz="UTC")]
    table = pa.table({name: pa.array(columns[name], kind) for name, kind in zip(columns, kinds, strict=True)})
    assert np.array_equal(naive.SCHEMA.encode_columns(table), expected)
    chunked = pa.concat_tables([table, table])
    chunked = chunked.set_column(4, "venue", chunked["venue"].dictionary_encode())
    assert np.array_equal(naive.SCHEMA.encode_columns(chunked), np.concatenate([expected, expected]))
    masked = {
        name: np.ma.MaskedArray(
            [naive.POOLS[name][0] if value is None else value for value in values], mask=[value is None for value in values]
        )
        for name, values in columns.items()
    }
    assert np.array_equal(naive.SCHEMA.encode_columns(masked), expected)


class PandasLike:
    """A column that speaks as pandas' do: NaN is missing."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.values = values

    def isna(self) -> np.ndarray[Any, Any]:
        """Which are missing."""
        return np.array([value != value for value in self.values])  # noqa: PLR0124  (NaN)

    def __getitem__(self, kept: np.ndarray[Any, Any]) -> PandasLike:
        return PandasLike(self.values[kept])

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """As numpy."""
        return self.values


class PolarsLike:
    """A column that speaks as polars' do."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def drop_nulls(self) -> PolarsLike:
        """Those that are there."""
        return PolarsLike([value for value in self.values if value is not None])

    def is_null(self) -> PolarsLike:
        """Which are missing."""
        return PolarsLike([value is None for value in self.values])

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """As numpy."""
        return np.array(self.values)


def test_other_libraries_say_what_is_missing_in_their_own_way() -> None:
    schema = Schema(Int("a"), Int("b"))
    coded = schema.encode_columns(
        {"a": PandasLike(np.array([1.0, np.nan, 3.0])), "b": PolarsLike([1, 2, None]), "c": "not a field"}
    )
    assert coded.tolist() == [[1, 1], [NULL, 2], [3, NULL]]


@pytest.mark.parametrize(
    ("field", "column", "codes"),
    [
        (Int("a"), np.array([1, -2], np.int8), [1, -2]),
        (Int("a"), np.array([1, 2**63 - 1], np.uint64), [1, 2**63 - 1]),
        (Float("a"), np.array([0.5, -0.0], np.float32), [0x3FE0000000000000, 0]),
        (Float("a"), np.array([1, 2]), [0x3FF0000000000000, 0x4000000000000000]),
        (Float("a"), [Decimal("0.5"), 1], [0x3FE0000000000000, 0x3FF0000000000000]),
        (Datetime("a"), np.array(["1970-01-02", "NaT"], "datetime64[D]"), [86_400_000_000, NULL]),
        (Datetime("a"), np.array([-1], "datetime64[ns]"), [-1]),
        (Datetime("a"), [np.datetime64("1970-01-01T00:00:01")], [1_000_000]),
        (Enum("a", values=("x", "y")), np.array(["y", "x", "y"]), [1, 0, 1]),
        (Bool("a"), np.array([True, False]), [1, 0]),
        (String("a"), np.array(["", "b"]), [NULL + 1, (0x62 << 56) - 2**63]),
        (Grid("a", lo=-1.0, hi=1.0), np.array([-1.0, 0.0, 1.0]), [0, 2**29, 2**30]),
    ],
)
def test_a_column_is_coded(field: Any, column: Any, codes: list[int]) -> None:  # noqa: ANN401  (of many kinds)
    assert Schema(field).encode_columns({"a": column})[:, 0].tolist() == codes


@pytest.mark.parametrize(
    ("field", "column", "problem"),
    [
        (Float("a"), np.array([1.0, np.nan]), "row 1: a: NaN"),
        (Float("a"), [1, "x"], "row 1: a: expected a number"),
        (Int("a"), np.array([0, 2**63], np.uint64), "row 1: a: expected a whole number"),
        (Int("a"), np.array([-(2**63)]), "row 0: a: expected a whole number"),
        (Int("a"), np.array([1.0, 1.5]), "row 1: a: expected a whole number"),
        (Int("a"), np.array([True]), "booleans have a field type"),
        (Enum("a", values=("x",)), ["x", "z"], "row 1: a: expected one of the enum's values"),
        (String("a"), ["x", "a\0b"], "row 1: a: expected a text without NUL"),
        (String("a"), np.array([1]), "row 0: a: expected a text"),
        (Datetime("a"), np.array(["12026-01-01"], "datetime64[D]"), "years 1 to 9999"),
        (Grid("a"), np.array([0.0, 1e300]), "in row 1"),
    ],
)
def test_a_column_with_a_wrong_cell_names_its_row(field: Any, column: Any, problem: str) -> None:  # noqa: ANN401
    with pytest.raises(InterestError, match=problem):
        Schema(field).encode_columns({"a": column})


def test_columns_must_be_there_and_equally_long() -> None:
    schema = Schema(Int("a"), Int("b"))
    with pytest.raises(InterestError, match="no column 'b'"):
        schema.encode_columns({"a": [1]})
    with pytest.raises(InterestError, match="no column 'b'"):
        schema.encode_columns(pa.table({"a": [1]}))
    with pytest.raises(InterestError, match="'b' has 2 rows, 'a' has 1"):
        schema.encode_columns({"a": [1], "b": [1, 2]})
    assert schema.encode_columns({"a": [], "b": []}).shape == (0, 2)


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        ({"prise": 1.0}, "no field is called 'prise'"),
        ({"price": math.nan}, "NaN has no place"),
        ({"price": "1"}, "expected a number"),
        ({"price": True}, "expected a number"),
        ({"price": 10**400}, "a number that a double holds"),
        ({"size": 1.5}, "expected a whole number"),
        ({"size": -(2**63)}, "lowest int64 stands for null"),
        ({"size": 2**63}, "from -2\\*\\*63"),
        ({"active": 1}, "TRUE or FALSE"),
        ({"venue": "nort"}, "did you mean 'north'"),
        ({"name": "a\0"}, "without NUL"),
        ({"name": "\ud800"}, "UTF-8"),
        ({"at": datetime(2026, 1, 1)}, "carries its zone"),  # noqa: DTZ001  (that is the point)
        ({"at": date(2026, 1, 1)}, "expected a datetime"),
        ({"at": datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))}, "years 1 to 9999, UTC"),
        ({"at": "2026-01-01"}, "fromisoformat"),
        ({"x": math.inf}, "anywhere near"),
        ([1.0], "expected 7 values, found 1"),
        ("price", "expected an event"),
        (7, "expected an event"),
    ],
)
def test_an_event_that_does_not_fit_is_refused(event: object, problem: str) -> None:
    with pytest.raises(InterestError, match=problem):
        naive.SCHEMA.encode(event)


def test_values_that_are_the_same_are_coded_the_same() -> None:
    def code(name: str, value: object) -> int:
        return int(naive.SCHEMA.encode({name: value})[naive.SCHEMA.index(name)])

    assert code("price", -0.0) == code("price", 0) == code("price", np.float32(0)) == 0
    assert code("size", 3.0) == code("size", np.int8(3)) == code("size", Decimal(3)) == 3
    assert (
        code("at", NOON)
        == code("at", NOON.astimezone(timezone(timedelta(hours=5))))
        == code("at", np.datetime64("2026-06-01T12:00"))
    )
    assert code("x", 0.25) == code("x", 0.25 + 2.0**-33)
    assert code("name", "abcdefgh") == code("name", "abcdefghij")
    assert code("name", "") > code("name", None) == NULL


class Venue(enum.Enum):
    """Where."""

    NORTH = "n"
    EAST = "e"


@dataclass
class Trade:
    """An event as a class."""

    price: Annotated[float, Domain(0, 100)]
    share: Annotated[float | None, Domain(0.0, 1.0, grid=True)]
    size: int | None
    active: bool
    venue: Venue
    side: Literal["buy", "sell"]
    name: str
    at: datetime


class Pair(NamedTuple):
    """Another."""

    one: int
    two: float


def test_a_class_is_a_schema() -> None:
    schema = Schema.from_dataclass(Trade)
    assert schema == Schema(
        Float("price", lo=0, hi=100),
        Grid("share", lo=0, hi=1),
        Int("size"),
        Bool("active"),
        Enum("venue", values=("NORTH", "EAST")),
        Enum("side", values=("buy", "sell")),
        String("name"),
        Datetime("at"),
    )
    trade = Trade(1.5, 0.5, None, True, Venue.EAST, "sell", "x", NOON)  # noqa: FBT003  (a row)
    assert schema.decode(schema.encode(trade))["venue"] == "EAST"
    assert schema.encode(trade)[2] == NULL
    assert Schema.from_dataclass(Pair).names == ("one", "two")
    assert Schema.from_dataclass(Pair).encode(Pair(1, 0.0)).tolist() == [1, 0]
    for wrong in (
        {"a": bytes},
        {"a": int | str},
        {"a": Annotated[int, Domain(0, 1, grid=True)]},
        {"a": Annotated[bool, Domain(0, 1)]},
    ):
        with pytest.raises(InterestError):
            Schema.from_dataclass(type("Wrong", (), {"__annotations__": wrong}))


def test_a_schema_is_written_and_read() -> None:
    table = naive.SCHEMA.to_dict()
    assert Schema.from_dict(table) == naive.SCHEMA
    assert Schema.from_dict(json.loads(json.dumps(table))) == naive.SCHEMA
    text = "active = 'bool'\nat = {type = 'datetime', lo = 2026-01-01T00:00:00Z, hi = '2027-01-01'}"
    assert Schema.from_dict(tomllib.loads(text)) == Schema(Bool("active"), Datetime("at", lo="2026-01-01", hi="2027-01-01"))


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({}, "1 to 64 fields, not 0"),
        ({f"a{i}": "int" for i in range(MAX_FIELDS + 1)}, "1 to 64 fields, not 65"),
        ({"a": "flaot"}, "did you mean 'float'"),
        ({"a": 3}, "a table with a type"),
        ({"a": {"lo": 3}}, "a table with a type"),
        ({"a": {"type": "int", "low": 3}}, "did you mean 'lo'"),
        ({"a": {"type": "int", "lo": 3}}, "needs both ends"),
        ({"a": {"type": "int", "lo": 3, "hi": 3}}, "lo must be below hi"),
        ({"a": {"type": "int", "lo": "x", "hi": 3}}, "expected a whole number"),
        ({"a": {"type": "float", "lo": -math.inf, "hi": 0.0}}, "finite end"),
        ({"a": {"type": "grid", "lo": 1.0, "hi": 1.0}}, "no grid spans"),
        ({"a": {"type": "grid", "lo": 1e9, "hi": 1e9 + 1}}, "coarser than a grid"),
        ({"a": "enum"}, "1 to 4096 different values"),
        ({"a": {"type": "enum", "values": ["x", "x"]}}, "different values"),
        ({"a": {"type": "enum", "values": [1]}}, "a text as the enum's value"),
        ({"a": {"type": "datetime", "lo": "soon", "hi": "late"}}, "expected a datetime"),
        ({"a-b": "int"}, "cannot name a field"),
        ({"1a": "int"}, "cannot name a field"),
        ({"a" * 65: "int"}, "cannot name a field"),
        ({"Null": "int"}, "a word of the filter language"),
        ({"a": "int", "A": "int"}, "more than their case"),
    ],
)
def test_a_schema_that_cannot_be_is_refused(table: dict[str, object], problem: str) -> None:
    with pytest.raises(InterestError, match=problem):
        Schema.from_dict(table)


def test_the_fingerprint_is_of_everything_and_of_all_time() -> None:
    one = Schema(Float("price", lo=0, hi=1), Enum("venue", values=("x", "y")))
    assert one.fingerprint == "4c5a69f35598eb879701be929548b4a8"
    others = [
        Schema(Float("price", lo=0, hi=2), Enum("venue", values=("x", "y"))),
        Schema(Float("price"), Enum("venue", values=("x", "y"))),
        Schema(Float("price", lo=0, hi=1), Enum("venue", values=("y", "x"))),
        Schema(Enum("venue", values=("x", "y")), Float("price", lo=0, hi=1)),
        Schema(Grid("price"), Enum("venue", values=("x", "y"))),
    ]
    assert len({schema.fingerprint for schema in [one, *others]}) == 6
    assert all(one != other and one.differences(other) for other in others)
    assert one.differences(others[3]) == ["order: price, venue here, venue, price there"]
    assert one.differences(Schema(Bool("price"))) == [
        "venue: only here",
        "price: {'type': 'float', 'lo': 0.0, 'hi': 1.0} here, {'type': 'bool'} there",
    ]
    assert one.differences(Schema(*one)) == []
    assert hash(one) == hash(Schema(*one))


def test_scales_measure_gaps_in_widths_of_the_domain() -> None:
    schema = Schema(
        Int("size", lo=-5, hi=5),
        Grid("x", lo=0, hi=50),
        Enum("venue", values=("a", "b", "c")),
        Bool("active"),
        Datetime("at", lo="2026-01-01", hi="2026-01-02"),
        Float("price", lo=10.0, hi=15.0),
        Float("gain", lo=-100.0, hi=100.0),
        String("name", lo="a", hi="b"),
        Int("free"),
    )
    scales = dict(zip(schema.names, schema.scales().tolist(), strict=True))
    assert scales["size"] == 0.1
    assert scales["x"] == 2.0**-30
    assert scales["venue"] == 0.5
    assert scales["active"] == 1.0
    assert scales["at"] == 1 / 86_400_000_000
    assert scales["name"] == 2.0**-56
    assert scales["free"] < 1e-19

    def gap(name: str, one: float, other: float) -> float:
        codes = [int(schema.encode({name: value})[schema.index(name)]) for value in (one, other)]
        return float(abs(codes[0] - codes[1]) * scales[name])

    assert gap("price", 10.0, 15.0) == 1.0
    assert gap("price", 10.0, 12.5) == pytest.approx(0.5)
    assert gap("gain", 50.0, 100.0) == pytest.approx(0.05)  # one octave of twenty
    assert gap("gain", -100.0, 100.0) > 1.0


def test_a_schema_knows_what_it_keeps_exactly() -> None:
    assert not naive.SCHEMA.exact
    assert [field.name for field in naive.SCHEMA if not field.exact] == ["name"]
    assert Schema(Int("a")).exact
    assert "a" in Schema(Int("a"))
    assert len(naive.SCHEMA) == 7
    assert repr(Schema(Bool("a"))) == "Schema(Bool(name='a'))"
    with pytest.raises(InterestError, match="expected a field"):
        Schema("a")  # type: ignore[arg-type]
    with pytest.raises(InterestError, match="did you mean 'price'"):
        naive.SCHEMA["pricee"]
