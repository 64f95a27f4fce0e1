"""A run's folder: its tables as Parquet, what was run, and what came out.

    scenario.toml    the scenario with every setting, as text the reader of ``scenario`` takes back
    run.json         versions, seed, hash of the configuration, hash of the final state, rows of each table
    <table>.parquet  one a table in which something stands

Files are written under another name and renamed, ``scenario.toml`` first and ``run.json`` last: a folder without it is a run
that did not end. Reading
checks all of it, and a file that is truncated, of another version or of another shape ends in one DataError.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from gossamer.errors import DataError
from gossamer.trace.tables import TABLES, VERSION

__all__ = ["Run", "begin_run", "column", "read_run", "read_scenario", "read_table", "renamed", "write_run"]

_RUN, _SCENARIO = "run.json", "scenario.toml"


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """What a run's folder says of it."""

    seed: int
    """The run's."""
    config: str
    """``scenario.toml.digest`` of what was run."""
    state: str
    """Hash of the final state, in hexadecimal; empty when it was not taken."""
    gossamer: str
    """Version of the package that ran it."""
    trace: int = VERSION
    """Version of the tables."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """Rows of each table."""
    metrics: Mapping[str, Any] = field(default_factory=dict)
    """What came out, where it was asked for."""


def begin_run(folder: Path, scenario: str) -> None:
    """Make the folder of a run about to be made: it says what is run, and holds nothing of another run any longer.

    What a killed run left half-written goes, too. A finished run of the same text stays until the new one takes its place.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.glob("*.partial"):
            path.unlink()
        path = folder / _SCENARIO
        if not path.exists() or path.read_bytes() != scenario.encode():
            (folder / _RUN).unlink(missing_ok=True)
            for name in TABLES:
                (folder / f"{name}.parquet").unlink(missing_ok=True)
            with renamed(path) as partial:
                partial.write_text(scenario, encoding="utf-8")
    except OSError as error:
        problem = f"{folder}: cannot be written ({error.strerror or error})"
        raise DataError(problem) from error


def write_run(folder: Path, run: Run, scenario: str, tables: Mapping[str, pa.Table]) -> Run:
    """Write a run; the folder is made, and an older run in it gives way. Returns the run with its counts of rows.

    The old ``run.json`` is removed first and the new one written last, so at no moment does a folder claim what it has not.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _RUN).unlink(missing_ok=True)
        for name in TABLES:
            if name not in tables:
                (folder / f"{name}.parquet").unlink(missing_ok=True)
        for name, table in tables.items():
            with renamed(folder / f"{name}.parquet") as path:
                pq.write_table(table.cast(TABLES[name]), path, compression="zstd")
        with renamed(folder / _SCENARIO) as path:
            path.write_text(scenario, encoding="utf-8")
        counted = {**asdict(run), "rows": {name: table.num_rows for name, table in tables.items()}}
        with renamed(folder / _RUN) as path:
            path.write_text(json.dumps(counted, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    except OSError as error:
        problem = f"{folder}: cannot be written ({error.strerror or error})"
        raise DataError(problem) from error
    return Run(**counted)


def read_run(folder: Path) -> Run:
    """What a folder says of its run."""
    path = folder / _RUN
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        problem = f"{path}: not there. Either this is no run's folder, or the run did not end"
        raise DataError(problem) from error
    except (OSError, ValueError, RecursionError) as error:
        problem = f"{path}: cannot be read ({error})"
        raise DataError(problem) from error
    if not isinstance(found, dict) or found.get("trace") != VERSION:
        version = found.get("trace") if isinstance(found, dict) else None
        problem = f"{path}: found version {version!r} of the tables, expected {VERSION}. Run the scenario again"
        raise DataError(problem)
    kinds = {"seed": int, "config": str, "state": str, "gossamer": str, "rows": dict, "metrics": dict, "trace": int}
    wrong = [name for name, kind in kinds.items() if not isinstance(found.get(name), kind)]
    if wrong or set(found) != set(kinds):
        problem = f"{path}: expected {', '.join(kinds)}; wrong or missing: {', '.join(wrong) or 'none'}; found {sorted(found)}"
        raise DataError(problem)
    return Run(**found)


def read_scenario(folder: Path) -> str:
    """The text of what was run."""
    try:
        return (folder / _SCENARIO).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem = f"{folder / _SCENARIO}: cannot be read ({error})"
        raise DataError(problem) from error


def read_table(folder: Path, name: str) -> pa.Table:
    """One table of a run; empty when nothing of the kind happened."""
    run, path, wanted = read_run(folder), folder / f"{name}.parquet", TABLES[name]
    if name not in run.rows:
        return wanted.empty_table()
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        problem = f"{path}: cannot be read; truncated or not Parquet ({error})"
        raise DataError(problem) from error
    if not table.schema.equals(wanted, check_metadata=True):
        problem = f"{path}: found columns\n{table.schema}\nexpected\n{wanted}"
        raise DataError(problem)
    if table.num_rows != run.rows[name]:
        problem = f"{path}: found {table.num_rows} rows, expected {run.rows[name]}: it belongs to another run"
        raise DataError(problem)
    return table


def column(table: pa.Table, name: str) -> NDArray[Any]:
    """One column as an array."""
    found: NDArray[Any] = np.asarray(table.column(name).combine_chunks().to_numpy(zero_copy_only=False))
    return found


@contextmanager
def renamed(path: Path) -> Iterator[Path]:
    """Another name to write to, which becomes the file's own when all went well and is removed otherwise."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield partial
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        problem = f"{path}: cannot be written ({error.strerror or error})"
        raise DataError(problem) from error
