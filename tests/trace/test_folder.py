"""A run's folder is read back as it was written, or refused with one error."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gossamer.errors import DataError
from gossamer.trace.columns import Columns, Trace
from gossamer.trace.folder import Run, column, read_run, read_scenario, read_table, write_run
from gossamer.trace.tables import JOINS, LINKS, TABLES

RUN = Run(seed=3, config="abc", state="ff", gossamer="1.0", metrics={"hit_ratio": 1.0})


def written(folder: Path) -> Trace:
    trace = Trace()
    for cycle in range(5):
        trace["links"].append(cycle=cycle, links_right=[cycle * 10], links_wanted=50, rings_complete=cycle, rings_wanted=9)
    right = np.arange(4)
    trace["joins"].append(row=right, kind="subscriber", begun=np.full(4, 40), done_from=right + 41, done_to=[41, 42, -1, 44])
    write_run(folder, RUN, "name = 'x'\n", trace.tables())
    return trace


def test_a_run_is_read_back(tmp_path: Path) -> None:
    trace = written(tmp_path / "deep" / "run")
    folder = tmp_path / "deep" / "run"
    run = read_run(folder)
    assert (run.seed, run.config, run.rows, run.metrics) == (3, "abc", {"links": 5, "joins": 4}, {"hit_ratio": 1.0})
    assert read_scenario(folder) == "name = 'x'\n"
    assert read_table(folder, "links") == trace["links"].table()
    assert column(read_table(folder, "joins"), "done_to").tolist() == [41, 42, -1, 44]
    assert set(column(read_table(folder, "joins"), "kind")) == {"subscriber"}
    assert read_table(folder, "receipts").num_rows == 0
    assert sorted(path.name for path in folder.iterdir()) == ["joins.parquet", "links.parquet", "run.json", "scenario.toml"]


def test_an_older_run_gives_way(tmp_path: Path) -> None:
    written(tmp_path)
    columns = Columns(LINKS)
    columns.append(cycle=1, links_right=1, links_wanted=2, rings_complete=0, rings_wanted=1)
    write_run(tmp_path, RUN, "", {"links": columns.table()})
    assert read_run(tmp_path).rows == {"links": 1}
    assert read_table(tmp_path, "joins").num_rows == 0
    assert not (tmp_path / "joins.parquet").exists()


def test_a_run_that_fails_while_written_claims_nothing(tmp_path: Path) -> None:
    written(tmp_path)
    with pytest.raises(ValueError, match="schema"):
        write_run(tmp_path, RUN, "", {"links": pa.table({"x": [1]})})
    with pytest.raises(DataError, match="did not end"):
        read_run(tmp_path)
    assert not list(tmp_path.glob("*.partial"))
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        write_run(blocked / "run", RUN, "", {})


@pytest.mark.parametrize("kept", [0, 1, 4, 100, -1, -8])
def test_a_truncated_table_is_refused(tmp_path: Path, kept: int) -> None:
    written(tmp_path)
    path = tmp_path / "links.parquet"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DataError, match="truncated"):
        read_table(tmp_path, "links")


def test_a_table_of_another_run_shape_or_version_is_refused(tmp_path: Path) -> None:
    written(tmp_path)
    links = read_table(tmp_path, "links")
    pq.write_table(links.slice(1), tmp_path / "links.parquet")
    with pytest.raises(DataError, match="another run"):
        read_table(tmp_path, "links")
    pq.write_table(links.rename_columns(["a", "b", "c", "d", "e"]), tmp_path / "links.parquet")
    with pytest.raises(DataError, match="found columns"):
        read_table(tmp_path, "links")
    older = links.replace_schema_metadata({**(links.schema.metadata or {}), b"gossamer.trace": b"0"})
    pq.write_table(older, tmp_path / "links.parquet")
    with pytest.raises(DataError, match="found columns"):
        read_table(tmp_path, "links")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"trace": 99}, "version 99"),
        ({"seed": "x"}, "seed"),
        ({"rows": None}, "rows"),
        ({"more": 1}, "more"),
        (None, "cannot be read"),
    ],
)
def test_a_wrong_run_file_is_refused(tmp_path: Path, change: dict[str, object] | None, told: str) -> None:
    written(tmp_path)
    path = tmp_path / "run.json"
    path.write_text("{" if change is None else json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(DataError, match=told):
        read_run(tmp_path)


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    for ask in (read_run, read_scenario, lambda folder: read_table(folder, "links")):
        with pytest.raises(DataError):
            ask(tmp_path)


def test_columns_must_be_the_tables() -> None:
    columns = Columns(JOINS)
    with pytest.raises(ValueError, match="expected"):
        columns.append(row=1)
    with pytest.raises(ValueError, match="differ in length"):
        columns.append(row=[1, 2], kind="publisher", begun=[1], done_from=1, done_to=-1)
    assert len(columns) == 0
    columns.append(row=[1, 2], kind=["publisher", "subscriber"], begun=1, done_from=1, done_to=-1)
    columns.append(row=[], kind="publisher", begun=1, done_from=1, done_to=-1)
    assert columns.table().to_pylist()[1]["kind"] == "subscriber"
    assert len(columns) == columns.table().num_rows == 2


def test_what_is_written_later_does_not_change_what_was_written() -> None:
    columns, cycle = Columns(LINKS), np.array([1], dtype=np.int32)
    columns.append(cycle=cycle, links_right=1, links_wanted=1, rings_complete=1, rings_wanted=1)
    cycle[0] = 2
    assert column(columns.table(), "cycle").tolist() == [1]


@pytest.mark.parametrize("name", TABLES)
def test_every_table_can_be_empty(name: str) -> None:
    assert Columns(TABLES[name]).table().schema == TABLES[name]
