"""Cells of the user's files as codes of a schema's fields, and a schema for files that come without one.

A cell is a text or null. What a column is, is seen from all of its cells (``profile``, a few numbers a chunk, added up by
``merged``): truths, whole numbers, numbers, moments, one of few names, or texts. One cell in fifty may be something else, as a
slip of the pen; such a row is bad then, and said so, for a column of numbers should not become texts by one ``n/a``.

Moments are taken in several forms, also mixed in a column: ``2001-01-31``, ``2001/01/31 00:47``, ISO 8601 with its ``T``,
fraction and zone, ``01/31/2001`` or ``31.01.2001``, and counts since 1970 (seconds, milli-, micro- or nanoseconds, by their
size). Without a zone they are UTC. Whether the day or the month comes first is seen from the column; when no cell tells, the
month does.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gossamer.arrays import Coordinates, Mask
from gossamer.errors import DataError, InterestError
from gossamer.interest.field import FIRST, NULL, AnyField, nearest
from gossamer.interest.label import Bool, Datetime, Enum, String
from gossamer.interest.quantity import Float, Grid, Int
from gossamer.interest.schema import MAX_FIELDS, Schema
from gossamer.pipeline.source import Rows

__all__ = ["Profile", "Reading", "encoded", "inferred", "loaded", "merged", "profiled", "shown", "text_fields"]

Column = Any
"""A column of texts of pyarrow, which ships no types."""

MOST_NAMES: Final = 64
"""Different texts up to which a column is an enum."""
_SLIPS: Final = 50
"""One cell in so many may be something else."""
_REPEATED: Final = 4
_LONGEST_NAME: Final = 64
_TIME: Final = (
    r"(?:[T ](?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2})(?:[.,](?P<f>\d{1,9}))?)?(?: ?(?P<z>Z|UTC|[+-]\d{2}:?\d{2}))?)?$"
)
_YEAR_FIRST: Final = r"^(?P<y>\d{4})(?P<s>[-/.])(?P<a>\d{1,2})(?P<t>[-/.])(?P<b>\d{1,2})" + _TIME
_YEAR_LAST: Final = r"^(?P<a>\d{1,2})(?P<s>[-/.])(?P<b>\d{1,2})(?P<t>[-/.])(?P<y>\d{4})" + _TIME
_WHOLE: Final = r"^[+-]?(?:\d{1,18}|[1-8]\d{18})$"
_NUMBER: Final = r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?$"
_EPOCH_NAME: Final = re.compile(r"time|date|stamp|when|_at$|^at$|^ts$", re.IGNORECASE)
_EPOCH_MS: Final = (3.0e11, 4.2e12)
"""1979 to 2103 in milliseconds."""
_UNITS: Final = ((1e17, 1000, False), (1e14, 1, True), (1e11, 1000, True))
_MICROSECONDS: Final = 1_000_000
_MONTHS: Final = 12


class Reading(NamedTuple):
    """How files are understood."""

    schema: Schema
    columns: tuple[str, ...]
    """The column of each field, as the files call it."""
    day_first: frozenset[str]
    """Fields of moments in which the day stands before the month."""
    notes: tuple[str, ...] = ()
    """What people should know of how it was inferred."""


class Profile(NamedTuple):
    """What was seen of a column."""

    cells: int = 0
    truths: int = 0
    whole: int = 0
    number: int = 0
    moment: int = 0
    day: int = 0
    """Cells that are a moment only with the day first."""
    month: int = 0
    """Cells that are one only with the month first."""
    low: float = math.inf
    high: float = -math.inf
    early: int = 1 << 62
    late: int = -(1 << 62)
    """Microseconds, months first."""
    names: tuple[str, ...] | None = ()
    """All different cells; None when they are too many or too long."""


def profiled(rows: Rows) -> dict[str, Profile]:
    """What is seen of each column of a chunk."""
    return {name: _profile(_trimmed(rows.table.column(name))) for name in rows.table.column_names}


def _trimmed(column: Column) -> Column:
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    column = pc.utf8_trim_whitespace(column)
    return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)


def _profile(column: Column) -> Profile:
    column = column.drop_null()
    if len(column) == 0:
        return Profile()
    whole = _matching(column, _WHOLE)
    numbers, is_number = _numbers(column)
    lower = pc.utf8_lower(column)
    truths = int(_mask(pc.is_in(lower, pa.array(["true", "false"]))).sum())
    moments, is_moment = _moments(column, day_first=False, counts=False)
    other, is_other = _moments(column, day_first=True, counts=False)
    names = pc.unique(column)
    few = len(names) <= MOST_NAMES and pc.max(pc.utf8_length(names)).as_py() <= _LONGEST_NAME
    best = (moments, is_moment) if is_moment.sum() >= is_other.sum() else (other, is_other)
    finite = numbers[is_number & np.isfinite(numbers)]
    return Profile(
        cells=len(column),
        truths=truths,
        whole=int(whole.sum()),
        number=int(is_number.sum()),
        moment=int((is_moment | is_other).sum()),
        day=int((is_other & ~is_moment).sum()),
        month=int((is_moment & ~is_other).sum()),
        low=float(finite.min()) if finite.size else math.inf,
        high=float(finite.max()) if finite.size else -math.inf,
        early=int(best[0][best[1]].min()) if best[1].any() else 1 << 62,
        late=int(best[0][best[1]].max()) if best[1].any() else -(1 << 62),
        names=tuple(sorted(names.to_pylist())) if few else None,
    )


def merged(one: Profile, other: Profile) -> Profile:
    """What is seen of both."""
    names: tuple[str, ...] | None = None
    if one.names is not None and other.names is not None:
        both = sorted({*one.names, *other.names})
        names = tuple(both) if len(both) <= MOST_NAMES else None
    sums = {name: getattr(one, name) + getattr(other, name) for name in Profile._fields[:7]}
    least = {name: min(getattr(one, name), getattr(other, name)) for name in ("low", "early")}
    most = {name: max(getattr(one, name), getattr(other, name)) for name in ("high", "late")}
    return Profile(**sums, **least, **most, names=names)


def inferred(profiles: Mapping[str, Profile]) -> Reading:
    """A schema for what was seen, in the order of columns."""
    fields: list[AnyField] = []
    columns, days, notes = [], [], []
    for column, seen in profiles.items():
        name = _field_name(column)
        if seen.cells == 0:
            notes.append(f"{column}: no cell has a value (or none but lists and objects); left out")
            continue
        if len(fields) == MAX_FIELDS:
            notes.append(f"{column}: left out, for a schema has at most {MAX_FIELDS} fields; give one with --schema")
            continue
        field = _field(name, seen)
        fields.append(field)
        columns.append(column)
        if name != column:
            notes.append(f"{column}: called {name} in filters")
        if isinstance(field, Datetime) and seen.day > seen.month:
            days.append(name)
        elif isinstance(field, Datetime) and _ambiguous(seen):
            notes.append(
                f"{column}: the month is taken to come first, for no cell tells; day_first = true in a schema says else"
            )
    if not fields:
        raise DataError("no column holds a value\nHint: a file has a first line of names and rows below it")
    return Reading(Schema(*fields), tuple(columns), frozenset(days), tuple(notes))


def _ambiguous(seen: Profile) -> bool:
    """Whether moments have the year last, and none says what comes first."""
    return seen.day == seen.month == 0 and seen.names is not None and any(re.match(r"\d{1,2}[-/]\d", it) for it in seen.names)


def _field_name(column: str) -> str:
    """A name that filters can write."""
    name = re.sub(r"\W", "_", column, flags=re.ASCII)
    name = name if re.match(r"[A-Za-z_]", name) else f"_{name}"
    try:
        return Bool(name[:64]).name
    except InterestError:
        return f"{name[:63]}_"


def _field(name: str, seen: Profile) -> AnyField:
    enough = seen.cells - seen.cells // _SLIPS
    if seen.truths >= enough:
        return Bool(name)
    if seen.whole >= enough and not (_EPOCH_NAME.search(name) and _EPOCH_MS[0] <= seen.low and seen.high <= _EPOCH_MS[1]):
        return Int(name, **(_ends(int(seen.low), int(seen.high))))
    if seen.whole >= enough:
        return Datetime(name, **_moment_ends(name, int(seen.low) * 1000, int(seen.high) * 1000))
    if seen.number >= enough:
        return Float(name, **_ends(seen.low, seen.high))
    if seen.moment >= enough:
        return Datetime(name, **_moment_ends(name, seen.early, seen.late))
    if seen.names is not None and len(seen.names) * _REPEATED <= max(seen.cells, MOST_NAMES):
        return Enum(name, values=seen.names)
    return String(name)


def _ends(low: float, high: float) -> dict[str, Any]:
    return {"lo": low, "hi": high} if low < high else {}


def _moment_ends(name: str, early: int, late: int) -> dict[str, Any]:
    if early >= late:
        return {}
    whole = Datetime(name)
    return {"lo": whole.value(early).isoformat(), "hi": whole.value(late).isoformat()}


def loaded(path: Path, header: Sequence[str]) -> Reading:
    """A schema from a TOML or JSON file; beside a field's own settings ``column`` and ``day_first``."""
    try:
        text = path.read_text("utf-8")
        table = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except (OSError, ValueError) as error:
        hint = 'one table a field: [price], then type = "float"; gossamer truth shows one for your file'
        raise DataError(f"{path}: cannot be read as a schema ({error})\nHint: {hint}") from error
    if not isinstance(table, dict):
        raise DataError(f"{path}: expected a table of fields, found {type(table).__name__}")
    columns, days, settings = [], [], {}
    for name, given in table.items():
        field = dict(given) if isinstance(given, dict) else given
        columns.append(str(field.pop("column", name)) if isinstance(field, dict) else name)
        if isinstance(field, dict) and field.pop("day_first", False):
            days.append(name)
        settings[name] = field
    try:
        schema = Schema.from_dict(settings)
    except InterestError as error:
        raise DataError(f"{path}: {error}") from error
    for column in columns:
        if header and column not in header:
            raise DataError(f"{path}: the events have no column {column!r}\nHint: {nearest(column, list(header), 'columns')}")
    return Reading(schema, tuple(columns), frozenset(days))


def shown(reading: Reading) -> str:
    """The schema as a file that ``loaded`` reads back."""
    lines = []
    for field, column in zip(reading.schema, reading.columns, strict=True):
        table = field.to_dict() | ({"column": column} if column != field.name else {})
        table |= {"day_first": True} if field.name in reading.day_first else {}
        cells = ", ".join(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items())
        lines.append(f"{field.name} = {{ {cells} }}")
    return "\n".join(lines) + "\n"


def text_fields(schema: Schema) -> list[int]:
    """The fields whose codes do not say all."""
    return [d for d, field in enumerate(schema) if isinstance(field, String)]


def encoded(reading: Reading, rows: Rows) -> tuple[Coordinates, list[Column], dict[int, str]]:
    """(n, D) codes of all rows, the texts of the fields that are texts, and what is wrong with rows, by their positions."""
    size = rows.line.shape[0]
    codes = np.full((size, len(reading.schema)), NULL, dtype=np.int64)
    wrong: dict[int, str] = {}
    texts = []
    for d, (field, column) in enumerate(zip(reading.schema, reading.columns, strict=True)):
        if column in rows.table.column_names:
            cells = rows.table.column(column)
            cells = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
        else:
            cells = pa.nulls(size, pa.string())
        cells = cells if isinstance(field, String) else _trimmed(cells)
        there = _mask(pc.is_valid(cells))
        codes[there, d], good = _codes(field, cells.drop_null(), day_first=field.name in reading.day_first)
        for at in np.flatnonzero(there)[~good].tolist():
            wrong.setdefault(at, _complaint(column, field, cells[at].as_py()))
        if isinstance(field, String):
            texts.append(cells)
    return codes, texts, wrong


def _complaint(column: str, field: AnyField, cell: str) -> str:
    found = repr(cell if len(cell) <= 40 else f"{cell[:37]}...")  # noqa: PLR2004  (half a line)
    if isinstance(field, Enum):
        return f"{column}: found {found}, expected one of {len(field.values)} names; {nearest(cell, field.values, 'they are')}"
    expected = {Bool: "true or false", Int: "a whole number", Datetime: "a moment", String: "a text without NUL"}
    return f"{column}: found {found}, expected {expected.get(type(field), 'a number')}; an empty cell is null"


def _codes(field: AnyField, cells: Column, *, day_first: bool) -> tuple[Coordinates, Mask]:
    """Codes of cells that are there, NULL for those that are not what they should be, and which are."""
    out = np.full(len(cells), NULL, dtype=np.int64)
    if isinstance(field, Datetime):
        out, good = _moments(cells, day_first=day_first, counts=True)
    elif isinstance(field, Float | Grid):
        values, good = _numbers(cells)
        out[good] = field.codes(values[good])
    elif isinstance(field, Int):
        out, good = _whole(cells)
    elif isinstance(field, Bool):
        place = _filled(pc.index_in(pc.utf8_lower(cells), pa.array(["false", "true"])))
        out, good = place, place >= 0
    elif isinstance(field, Enum):
        place = _filled(pc.index_in(cells, pa.array(field.values, pa.string())))
        out, good = place, place >= 0
    else:
        good = ~_mask(pc.match_substring(cells, "\0"))
        kept = np.asarray(pc.binary_slice(cells.cast(pa.binary()), 0, 8).to_numpy(zero_copy_only=False)).astype("S8")
        packed: NDArray[np.uint64] = kept.view(">u8").astype(np.uint64) if len(cells) else np.empty(0, dtype=np.uint64)
        out = np.maximum((packed ^ np.uint64(1 << 63)).view(np.int64), FIRST)
    return np.where(good, out, NULL), good


def _filled(places: Column) -> Coordinates:
    found: Coordinates = np.asarray(pc.fill_null(places, -1).to_numpy(zero_copy_only=False)).astype(np.int64)
    return found


def _mask(column: Column) -> Mask:
    found: Mask = np.asarray(pc.fill_null(column, fill_value=False).to_numpy(zero_copy_only=False), dtype=np.bool_)
    return found


def _matching(cells: Column, pattern: str) -> Mask:
    return _mask(pc.match_substring_regex(cells, pattern))


def _where(cells: Column, mask: Mask) -> Column:
    return pc.if_else(pa.array(mask), pc.replace_substring_regex(cells, r"^\+", ""), "0")


def _numbers(cells: Column) -> tuple[NDArray[np.float64], Mask]:
    good = _matching(cells, _NUMBER)
    values: NDArray[np.float64] = np.asarray(_where(cells, good).cast(pa.float64()).to_numpy(zero_copy_only=False))
    return values, good & np.isfinite(values)


def _whole(cells: Column) -> tuple[Coordinates, Mask]:
    """Whole numbers, also written as 5.0 or 1e3."""
    plain = _matching(cells, _WHOLE)
    out: Coordinates = np.array(_where(cells, plain).cast(pa.int64()).to_numpy(zero_copy_only=False))
    if plain.all():
        return out, plain
    values, good = _numbers(cells)
    also = good & ~plain & (np.abs(values) < 2.0**53) & (values == np.rint(values))
    out[also] = values[also].astype(np.int64)
    return out, plain | also


def _moments(cells: Column, *, day_first: bool, counts: bool) -> tuple[Coordinates, Mask]:
    """Microseconds since 1970, and which cells are a moment; ``counts`` lets whole numbers be counts since 1970."""
    out, good = np.zeros(len(cells), dtype=np.int64), np.zeros(len(cells), dtype=np.bool_)
    for pattern in (_YEAR_FIRST, _YEAR_LAST):
        fits = _matching(cells, pattern)
        if fits.any():
            parts = pc.extract_regex(cells.filter(pa.array(fits)), pattern)
            found, right = _moment(parts, swapped=None if pattern == _YEAR_FIRST else day_first)
            out[fits], good[fits] = found, right
    if counts:
        fits = _matching(cells, _WHOLE) & ~good
        if fits.any():
            number = np.asarray(_where(cells, fits).cast(pa.int64()).to_numpy(zero_copy_only=False))[fits]
            out[fits], good[fits] = _since_1970(number), True
    return out, good


def _since_1970(number: Coordinates) -> Coordinates:
    """Microseconds of counts in the unit their size tells."""
    size = np.abs(number.astype(np.float64))
    found = number * np.where(size < _UNITS[-1][0], _MICROSECONDS, 1)
    for least, factor, times in _UNITS:
        fits = size >= least
        found = np.where(fits & (found == number), number * factor if times else number // factor, found)
        size = np.where(fits, 0, size)
    return found


def _moment(parts: Column, *, swapped: bool | None) -> tuple[Coordinates, Mask]:
    """Microseconds of a moment in parts; swapped: the day first, None: the year first."""

    def number(name: str) -> Coordinates:
        text = pc.struct_field(parts, name)
        found: Coordinates = np.asarray(
            pc.if_else(pc.equal(text, ""), "0", text).cast(pa.int64()).to_numpy(zero_copy_only=False)
        )
        return found

    one, two, year = number("a"), number("b"), number("y")
    month, day = one, two
    if swapped is not None:
        # With points between them the day comes first wherever that is written.
        first = _mask(pc.equal(pc.struct_field(parts, "s"), ".")) | swapped
        month, day = np.where(first, two, one), np.where(first, one, two)
    good = _mask(pc.equal(pc.struct_field(parts, "s"), pc.struct_field(parts, "t")))
    good &= (month >= 1) & (month <= _MONTHS) & (day >= 1) & (year >= 1)
    months = (np.maximum(year, 1) - 1970) * _MONTHS + np.clip(month, 1, _MONTHS) - 1
    start = months.astype("datetime64[M]")
    days = start.astype("datetime64[D]").astype(np.int64) + day - 1
    good &= days < (start + np.timedelta64(1, "M")).astype("datetime64[D]").astype(np.int64)
    hour, minute, second = number("H"), number("M"), number("S")
    good &= (hour < 24) & (minute < 60) & (second < 60)  # noqa: PLR2004  (the clock's own)
    fraction = pc.struct_field(parts, "f")
    micro = np.asarray(
        pc.utf8_slice_codeunits(pc.utf8_rpad(fraction, 6, "0"), 0, 6).cast(pa.int64()).to_numpy(zero_copy_only=False)
    )
    zone = pc.replace_substring_regex(pc.struct_field(parts, "z"), "Z|UTC|:", "")
    zoned = np.asarray(
        pc.if_else(pc.equal(zone, ""), "0", pc.replace_substring(zone, "+", "")).cast(pa.int64()).to_numpy(zero_copy_only=False)
    )
    offset = np.sign(zoned) * (np.abs(zoned) // 100 * 60 + np.abs(zoned) % 100)
    seconds = ((days * 24 + hour) * 60 + minute - offset) * 60 + second
    return seconds * _MICROSECONDS + micro, good
