"""The user's own files, cut into chunks and read as columns of texts, with the line of every row.

CSV, JSON lines, Parquet and plain lines; a file, a folder or a glob. A chunk is what one task reads: some megabytes of text,
or one row group. Lines are counted as an editor counts them, so a complaint can name one; in Parquet they are rows from 1.

Every cell comes out as a text or null, whatever the file: numbers in JSON and Parquet are written out in the shortest form
that reads back the same, and one reader (``cells``) understands them all. An empty cell is null.

The surprising thing is that a chunk of CSV is looked at before it is parsed. Counting quotes and delimiters over the bytes
tells which rows are broken and where each begins, line breaks inside quotes included; so what the parser gets has no broken
rows, and its n-th row has a known line.
"""

from __future__ import annotations

import glob
import io
import itertools
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.json as pc_json
import pyarrow.parquet as pq

from gossamer.arrays import Mask, Numbers
from gossamer.errors import DataError
from gossamer.interest.field import nearest

__all__ = ["KINDS", "Bad", "Chunk", "Rows", "chunks", "files", "lines_of", "read"]

KINDS: Final = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".parquet": "parquet",
}
"""What a file is, by the end of its name."""
_CHUNK: Final = 16 << 20
_LINES_CHUNK: Final = 1 << 16
"""Filters take longer to read than rows."""
_DELIMITERS: Final = ",;\t|"
_QUOTE, _NEWLINE, _RETURN = 34, 10, 13
_BOM: Final = b"\xef\xbb\xbf"


class Bad(NamedTuple):
    """A row that cannot be taken."""

    line: int
    reason: str


class Chunk(NamedTuple):
    """A part of a file that one task reads."""

    path: str
    kind: str
    start: int
    """First byte, or the row group."""
    stop: int
    line: int
    """The line, or row, it begins with."""
    first: int
    """Lines of all files before this one: a row's number is this and its line."""
    header: tuple[str, ...] = ()
    delimiter: str = ","


class Rows(NamedTuple):
    """What a chunk holds."""

    table: pa.Table
    """A column of texts for each name, nulls where a cell is empty."""
    line: Numbers
    """(n,) int64: where each row begins."""
    bad: list[Bad]
    """What could not be read, in the order of lines."""


def files(patterns: Iterable[str]) -> list[Path]:
    """The files that are meant: each a file, a folder with all it holds, or a glob."""
    found: list[Path] = []
    for pattern in patterns:
        path = Path(pattern)
        if path.is_file():
            found.append(path)
        elif path.is_dir():
            inner = [
                it
                for it in sorted(path.rglob("*"))
                if it.is_file() and it.suffix.lower() in KINDS and not it.name.startswith(("_", "."))
            ]
            if not inner:
                raise DataError(f"{path}: no file to read in this folder\nHint: files end in {', '.join(KINDS)}")
            found += inner
        else:
            matched = sorted(Path(it) for it in glob.glob(pattern, recursive=True))  # noqa: PTH207  (it may be absolute)
            if not matched:
                beside = [it.name for it in path.parent.iterdir()] if path.parent.is_dir() else []
                hint = nearest(path.name, sorted(beside), "there are") if beside else "a file, a folder or a glob in quotes"
                raise DataError(f"{pattern}: not there\nHint: {hint}")
            found += [it for it in matched if it.is_file()]
    return found


def chunks(paths: Sequence[Path]) -> list[Chunk]:
    """All files of one table cut into chunks; of CSV every file has the same header."""
    found: list[Chunk] = []
    first = 0
    for path in paths:
        kind = KINDS.get(path.suffix.lower())
        if kind is None:
            raise DataError(f"{path}: not known by its name\nHint: files end in {', '.join(KINDS)}")
        parts, size = _of_parquet(path, first) if kind == "parquet" else _of_text(path, kind, first, _CHUNK)
        other = next((it for it in found if it.header and parts and parts[0].header and it.header != parts[0].header), None)
        if other is not None:
            problem = f"{path}: has the columns {', '.join(parts[0].header)}\n{other.path} has {', '.join(other.header)}"
            raise DataError(f"{problem}\nHint: files of one table have the same columns; ask for one kind at a time")
        found += parts
        first += size
    return found


def lines_of(path: Path) -> list[Chunk]:
    """A file of plain lines, in small chunks."""
    if not path.is_file():
        raise DataError(f"{path}: not there, or no file\nHint: one filter a line, or an id, a tab and the filter")
    return _of_text(path, "lines", 0, _LINES_CHUNK)[0]


def read(chunk: Chunk) -> Rows:
    """The rows of a chunk."""
    if chunk.kind == "parquet":
        return _parquet(chunk)
    with Path(chunk.path).open("rb") as file:
        file.seek(chunk.start)
        data = file.read(chunk.stop - chunk.start)
    return {"csv": _csv, "json": _json, "lines": _lines}[chunk.kind](chunk, data)


def _of_text(path: Path, kind: str, first: int, size: int) -> tuple[list[Chunk], int]:
    """Chunks that end where a row does, and the number of lines."""
    found: list[Chunk] = []
    header: tuple[str, ...] = ()
    delimiter = ","
    try:
        with path.open("rb") as file:
            start = len(_BOM) if file.read(len(_BOM)) == _BOM else 0
            file.seek(start)
            line = 1
            if kind == "csv":
                top = _whole_rows(file, b"", 1)
                header, delimiter = _header(path, top)
                line += top.count(b"\n")
                start += len(top)
            while data := file.read(size):
                data = _whole_rows(file, data, 0) if kind == "csv" else data + file.readline()
                found.append(Chunk(str(path), kind, start, start + len(data), line, first, header, delimiter))
                start += len(data)
                line += data.count(b"\n")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    return found, line


def _whole_rows(file: io.BufferedReader, data: bytes, least: int) -> bytes:
    """What was read, and lines on to the end of a row: line breaks inside quotes end none."""
    quotes, lines = data.count(b'"'), 0
    while (not data.endswith(b"\n") or quotes % 2 or lines < least) and (more := file.readline()):
        data += more
        quotes += more.count(b'"')
        lines += 1
    return data


def _header(path: Path, top: bytes) -> tuple[tuple[str, ...], str]:
    """Names of the columns, and what stands between them."""
    try:
        text = top.decode().strip("\r\n")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: the first line is not UTF-8 ({error.reason})") from error
    if not text.strip():
        raise DataError(f"{path}: the first line is empty, expected the names of the columns")
    delimiter = max(_DELIMITERS, key=text.count)
    options = pc_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    table = pc_csv.read_csv(io.BytesIO(top.strip(b"\r\n") + b"\n"), parse_options=options)
    names = tuple(name.strip() for name in table.column_names)
    if len({name.lower() for name in names}) != len(names):
        told = f"{path}: two columns have one name: {', '.join(names)}"
        raise DataError(f"{told}\nHint: names differ in more than their case; the first line holds them")
    return names, delimiter


def _of_parquet(path: Path, first: int) -> tuple[list[Chunk], int]:
    try:
        meta = pq.read_metadata(path)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path}: cannot be read; truncated or not Parquet ({error})") from error
    found, row = [], 1
    header = tuple(pq.read_schema(path).names)
    for group in range(meta.num_row_groups):
        found.append(Chunk(str(path), "parquet", group, group + 1, row, first, header))
        row += meta.row_group(group).num_rows
    return found, max(meta.num_rows, 1)


def _parquet(chunk: Chunk) -> Rows:
    try:
        table = pq.ParquetFile(chunk.path).read_row_group(chunk.start)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{chunk.path}: cannot be read; truncated or not Parquet ({error})") from error
    return Rows(_texts(table), np.arange(chunk.line, chunk.line + table.num_rows), [])


def _texts(table: pa.Table) -> pa.Table:
    """Every column as texts; what is nested becomes nulls, under its name with a mark."""
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            columns[name] = pa.chunked_array([pa.nulls(len(column), pa.string())])
        else:
            columns[name] = column.cast(pa.string())
    return pa.table(columns)


def _rows_of(chunk: Chunk, data: bytes, *, quoted: bool) -> tuple[Numbers, Numbers, Numbers, Mask]:
    """Where rows begin and end in the bytes, their lines, and which hold anything."""
    seen = np.frombuffer(data, dtype=np.uint8)
    breaks = seen == _NEWLINE
    rows = breaks & (np.cumsum(seen == _QUOTE) % 2 == 0) if quoted and b'"' in data else breaks
    stops = np.flatnonzero(rows)
    if seen.size and (stops.size == 0 or stops[-1] != seen.size - 1):
        stops = np.append(stops, seen.size)
    starts = np.append(0, stops[:-1] + 1) if stops.size else stops
    before = np.append(0, np.cumsum(breaks))
    ends = stops - ((stops > starts) & (seen[np.maximum(stops - 1, 0)] == _RETURN))
    return starts, ends, chunk.line + before[starts], ends > starts


def _csv(chunk: Chunk, data: bytes) -> Rows:
    starts, ends, line, good = _rows_of(chunk, data, quoted=True)
    seen = np.frombuffer(data, dtype=np.uint8)
    between = seen == ord(chunk.delimiter)
    if b'"' in data:
        between &= np.cumsum(seen == _QUOTE) % 2 == 0
    before = np.append(0, np.cumsum(between))
    cells = before[ends] - before[starts] + 1
    fits = cells == len(chunk.header)
    told = np.flatnonzero(good & ~fits)
    bad = [Bad(int(line[i]), f"found {cells[i]} cells, expected {len(chunk.header)}") for i in told]
    good &= fits
    if data.count(b'"') % 2:
        good[-1] = False
        bad = [it for it in bad if it.line != line[-1]]
        bad.append(Bad(int(line[-1]), "a quote is not closed, and all that follows is inside it"))
    strange = _not_utf8(data, starts, ends, good)
    bad += [Bad(int(line[i]), "is not UTF-8") for i in strange]
    good[strange] = False
    kept = data
    if not good.all():
        kept = b"".join(data[a:b] + b"\n" for a, b in zip(starts[good].tolist(), ends[good].tolist(), strict=True))
    return Rows(_parsed(chunk, kept), line[good], sorted(bad))


def _not_utf8(data: bytes, starts: Numbers, ends: Numbers, good: Mask) -> list[int]:
    """Rows that are no text; looked for only where the whole is none."""
    try:
        data.decode()
    except UnicodeDecodeError:
        strange = []
        for i in np.flatnonzero(good).tolist():
            try:
                data[starts[i] : ends[i]].decode()
            except UnicodeDecodeError:
                strange.append(i)
        return strange
    return []


def _parsed(chunk: Chunk, data: bytes) -> pa.Table:
    names = list(chunk.header)
    if not data.strip():
        return pa.table({name: pa.array([], pa.string()) for name in names})
    try:
        return pc_csv.read_csv(
            io.BytesIO(data),
            read_options=pc_csv.ReadOptions(column_names=names, use_threads=False, block_size=max(len(data), 1 << 16)),
            parse_options=pc_csv.ParseOptions(delimiter=chunk.delimiter, newlines_in_values=True, ignore_empty_lines=False),
            convert_options=pc_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                strings_can_be_null=True,
                null_values=[""],
            ),
        )
    except pa.ArrowException as error:
        raise DataError(f"{chunk.path}: from line {chunk.line} on not CSV ({error})") from error


def _json(chunk: Chunk, data: bytes) -> Rows:
    starts, ends, line, good = _rows_of(chunk, data, quoted=False)
    try:
        return Rows(_json_at_once(data), line[good], [])
    except (pa.ArrowException, UnicodeDecodeError):
        pass
    # Some line is no object, or a name holds numbers here and texts there: line by line, to say which.
    rows: list[dict[str, Any]] = []
    bad = []
    for i in np.flatnonzero(good).tolist():
        try:
            row = json.loads(data[starts[i] : ends[i]])
            if not isinstance(row, dict):
                bad.append(Bad(int(line[i]), f"found {type(row).__name__}, expected an object"))
                good[i] = False
                continue
            rows.append(row)
        except (ValueError, RecursionError) as error:
            bad.append(Bad(int(line[i]), f"is no JSON ({error})"))
            good[i] = False
    names = list(dict.fromkeys(itertools.chain.from_iterable(rows)))
    table = pa.table({name: pa.array([_as_text(row.get(name)) for row in rows], pa.string()) for name in names})
    return Rows(table, line[good], bad)


def _json_at_once(data: bytes) -> pa.Table:
    if not data.strip():
        return pa.table({})
    options = pc_json.ReadOptions(use_threads=False, block_size=max(len(data), 1 << 16))
    table = pc_json.read_json(io.BytesIO(data), read_options=options)
    moments = [field.name for field in table.schema if pa.types.is_timestamp(field.type)]
    if moments:  # a text that looks like a moment stays the text it was
        wanted = pc_json.ParseOptions(explicit_schema=pa.schema([(name, pa.string()) for name in moments]))
        table = pc_json.read_json(io.BytesIO(data), read_options=options, parse_options=wanted)
    return _texts(table)


def _as_text(value: object) -> str | None:
    if value is None or isinstance(value, dict | list):
        return None
    return value if isinstance(value, str) else json.dumps(value)


def _lines(chunk: Chunk, data: bytes) -> Rows:
    starts, ends, line, good = _rows_of(chunk, data, quoted=False)
    strange = _not_utf8(data, starts, ends, good)
    good[strange] = False
    texts = [data[a:b].decode() for a, b in zip(starts[good].tolist(), ends[good].tolist(), strict=True)]
    bad = [Bad(int(line[i]), "is not UTF-8") for i in strange]
    return Rows(pa.table({"line": pa.array(texts, pa.string())}), line[good], bad)
