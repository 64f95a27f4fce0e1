"""Run folders as tables: what simulators, sweeps and live swarms wrote down, each table with a column that says of which run.

    found = find([Path("rings")])            # every finished run below
    links = table(spark, found, "links")     # run, cycle, links_right, ...

Folders are looked through and every file's columns and rows are checked here, before Spark is given anything to do; so what
is wrong with them is said at once and in one screen. Row groups are then read by the workers, a task each.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from gossamer.errors import DataError, ScenarioError
from gossamer.scenario.scenario import Scenario
from gossamer.scenario.toml import leaves, loads, to_dict
from gossamer.trace.folder import Run, read_run, read_scenario
from gossamer.trace.tables import TABLES

__all__ = ["RUNS", "Found", "checked", "find", "opened", "runs", "table"]

RUNS: Final = "run string, seed long, rows long, settings map<string,string>"
"""One row a run: its name, its seed, how many rows lived in it, every setting of its scenario."""
_RUN: Final = pa.field("run", pa.string(), nullable=False)
_AT_ONCE: Final = 1 << 16
_SHOWN: Final = 4


class Found(NamedTuple):
    """One finished run."""

    name: str
    folder: Path
    it: Run
    scenario: Scenario


def find(places: Sequence[Path]) -> list[Found]:
    """Every finished run in these folders or below them, named by where it lies. A DataError when there is none."""
    found: dict[Path, str] = {}
    for place in places:
        here = sorted(path.parent for path in place.rglob("run.json") if not _hidden(path.relative_to(place)))
        if not here:
            raise DataError(_nothing(place))
        for folder in here:
            name = folder.relative_to(place).as_posix()
            parts = [place.resolve().name] * (len(places) > 1 or name == ".") + [name] * (name != ".")
            found.setdefault(folder, "/".join(parts))
    names = list(found.values())
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"two runs would be called {twice}\nHint: name the folder that holds both")
    return [opened(folder, name) for folder, name in found.items()]


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _nothing(place: Path) -> str:
    """What to say where no run is."""
    if not place.exists():
        return f"{place}: not there, expected the folder of a run, or one that holds such folders"
    begun = sum(1 for _ in place.rglob("scenario.toml"))
    what = f"{begun} begun and none finished" if begun else "no run in it" if place.is_dir() else "a file"
    return f"{place}: {what}, expected the folder of a run, with its run.json\nHint: gossamer simulate SCENARIO --out {place}"


def opened(folder: Path, name: str) -> Found:
    """The finished run in a folder, under a name."""
    it = read_run(folder)
    try:
        scenario = loads(read_scenario(folder), name)[0]
    except ScenarioError as error:
        raise DataError(f"{folder / 'scenario.toml'}: {error}") from error
    return Found(name, folder, it, scenario)


def runs(spark: SparkSession, found: Sequence[Found]) -> DataFrame:
    """What was run, as RUNS."""
    rows = [
        (it.name, it.it.seed, int(it.it.metrics.get("rows", 0)), {path: str(value) for path, value in _settings(it).items()})
        for it in found
    ]
    return spark.createDataFrame(rows, RUNS)


def _settings(it: Found) -> dict[str, object]:
    return {**leaves(to_dict(it.scenario)), "seed": it.it.seed, "run": it.name}


def table(spark: SparkSession, found: Sequence[Found], name: str) -> DataFrame:
    """One table of all runs, with the run as a column; empty when nothing of the kind happened in any."""
    schema = pa.schema([_RUN, *TABLES[name]])
    pieces = [(it.name, str(path), group) for it, path in _files(found, name) for group in range(_groups(path))]
    columns = schema.names[1:]

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                run, path, group = pieces[number]
                with pq.ParquetFile(path) as file:
                    for part in file.iter_batches(_AT_ONCE, [group], columns):
                        yield pa.RecordBatch.from_arrays([pa.array([run] * part.num_rows), *part.columns], schema=schema)

    return spark.range(0, len(pieces), 1, max(1, min(len(pieces), 64))).mapInArrow(read, _ddl(schema))


def _files(found: Sequence[Found], name: str) -> Iterator[tuple[Found, Path]]:
    """The files of one table, each checked."""
    for it in found:
        if name in it.it.rows:
            path = it.folder / f"{name}.parquet"
            rows = checked(path, TABLES[name])
            if rows != it.it.rows[name]:
                raise DataError(f"{path}: found {rows} rows, expected {it.it.rows[name]}: it belongs to another run")
            yield it, path


def checked(path: Path, wanted: pa.Schema) -> int:
    """Rows of a Parquet file that has these columns; a DataError that names what is missing or of another kind."""
    try:
        with pq.ParquetFile(path) as file:
            found, rows = file.schema_arrow, int(file.metadata.num_rows)
    except FileNotFoundError as error:
        raise DataError(f"{path}: not there, though its run says so") from error
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path}: cannot be read; truncated or not Parquet ({error})") from error
    problems = []
    for field in wanted:
        if field.name not in found.names:
            close = difflib.get_close_matches(field.name, [name for name in found.names if name not in wanted.names], 1, 0.4)
            there = f"there is '{close[0]}'" if close else f"there are {', '.join(found.names) or 'none'}"
            problems.append(f"no column '{field.name}'; {there}")
        elif (kind := found.field(field.name).type) != field.type:
            problems.append(f"column '{field.name}' is {kind}, expected {field.type}")
    if problems:
        lines = [f"{path}: not the columns that are expected", *(f"  {it}" for it in problems[:_SHOWN])]
        raise DataError("\n".join(lines + ["  ..."] * (len(problems) > _SHOWN)))
    return rows


def _groups(path: Path) -> int:
    with pq.ParquetFile(path) as file:
        return int(file.num_row_groups)


def _ddl(schema: pa.Schema) -> str:
    """An Arrow schema in Spark's words."""
    words = {pa.int32(): "int", pa.int64(): "long", pa.string(): "string", pa.bool_(): "boolean"}
    return ", ".join(f"{field.name} {words[field.type]}" for field in schema)
