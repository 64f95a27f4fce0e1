"""Files are read row by row with their lines, however they are cut, and a broken one is named."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import DataError
from gossamer.pipeline import source
from gossamer.pipeline.source import chunks, files, lines_of, read
from tests.naive.pipeline import naive_csv

cell = st.text(st.sampled_from('ab ,é\n"'), max_size=6)
"""Cells with everything that CSV has to quote."""


def written(value: str) -> str:
    return '"' + value.replace('"', '""') + '"' if set(value) & set(',"\n') else value


@given(st.lists(st.lists(cell, min_size=1, max_size=4), max_size=12), st.integers(1, 40), st.sampled_from(["\n", "\r\n"]))
def test_rows_and_lines_of_csv_are_those_of_pythons_reader(rows: list[list[str]], size: int, ending: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "_CHUNK", size)
        text = ending.join(["x,y", *(",".join(map(written, row)) for row in rows), ""])
        with TemporaryDirectory() as folder:
            path = Path(folder) / "it.csv"
            path.write_bytes(text.encode())
            found = [read(part) for part in chunks([path])]
    good, bad = naive_csv(text[text.index("\n") + 1 :], 2)
    assert [line for it in found for line in it.line.tolist()] == [line + 1 for line, _ in good]
    assert [list(row.values()) for it in found for row in it.table.to_pylist()] == [row for _, row in good]
    assert [one.line for it in found for one in it.bad] == [line + 1 for line in bad]


def test_json_lines_are_read_at_once_or_line_by_line_alike(tmp_path: Path) -> None:
    rows = [{"n": n, "at": f"2026-01-0{n} 12:00:00", "ok": n % 2 == 0, "deep": {"x": 1}} for n in range(1, 5)]
    text = "".join(json.dumps(row) + "\n\n" for row in rows)
    (tmp_path / "good.jsonl").write_text(text)
    (tmp_path / "bad.jsonl").write_text(text + "[1]\n{broken\n")
    good, bad = (read(chunks([tmp_path / name])[0]) for name in ("good.jsonl", "bad.jsonl"))
    assert good.table.to_pylist() == bad.table.to_pylist()
    assert good.table.to_pylist()[0] == {"n": "1", "at": "2026-01-01 12:00:00", "ok": "false", "deep": None}
    assert good.line.tolist() == bad.line.tolist() == [1, 3, 5, 7]
    assert [one.line for one in bad.bad] == [9, 10]
    assert "expected an object" in bad.bad[0].reason


def test_numbers_are_the_same_from_any_kind_of_file(tmp_path: Path) -> None:
    values = [0.1, 1e-300, -2.5, 123456789.125, 3.0]
    table = pa.table({"x": values})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=2)
    (tmp_path / "x.jsonl").write_text("".join(json.dumps({"x": x}) + "\n" for x in values))
    (tmp_path / "x.csv").write_text("x\n" + "".join(f"{x!r}\n" for x in values))
    for name in ("x.parquet", "x.jsonl", "x.csv"):
        parts = chunks(files([str(tmp_path / name)]))
        cells = [float(it) for part in parts for it in read(part).table.column("x").to_pylist()]
        assert cells == values
    assert [part.line for part in chunks([tmp_path / "x.parquet"])] == [1, 3, 5]


def test_rows_are_numbered_on_through_all_files(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv"):
        (tmp_path / name).write_text("x\n1\n2\n")
    (tmp_path / "_hidden.csv").write_text("y\n")
    parts = chunks(files([str(tmp_path)]))
    assert [Path(part.path).name for part in parts] == ["a.csv", "b.csv"]
    numbers = [line + part.first for part in parts for line in read(part).line.tolist()]
    assert numbers == sorted(set(numbers))


def test_what_is_not_utf_8_or_not_closed_is_one_bad_row(tmp_path: Path) -> None:
    (tmp_path / "it.csv").write_bytes(b'\xef\xbb\xbfx;y\n1;2\n\xff;3\n4;5\n6;"7\n')
    rows = read(chunks([tmp_path / "it.csv"])[0])
    assert rows.table.to_pylist() == [{"x": "1", "y": "2"}, {"x": "4", "y": "5"}]
    assert [(one.line, one.reason.split(",")[0]) for one in rows.bad] == [(3, "is not UTF-8"), (5, "a quote is not closed")]


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda folder: [str(folder / "log.cvs")], "did you mean 'log.csv'"),
        (lambda folder: [str(folder / "empty")], "no file to read in this folder"),
        (lambda folder: [str(folder / "*.parquet")], "cut.parquet: cannot be read; truncated"),
        (lambda folder: [str(folder / "note.txt")], "files end in .csv"),
        (lambda folder: [str(folder / "log.csv"), str(folder / "other.csv")], "has the columns a, c"),
        (lambda folder: [str(folder / "twice.csv")], "two columns have one name"),
    ],
)
def test_files_that_cannot_be_read_are_refused_with_what_to_try(tmp_path: Path, make, told: str) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    (tmp_path / "log.csv").write_text("a,b\n1,2\n")
    (tmp_path / "other.csv").write_text("a,c\n1,2\n")
    (tmp_path / "twice.csv").write_text("a,A\n1,2\n")
    (tmp_path / "note.txt").write_text("hello")
    (tmp_path / "empty").mkdir()
    pq.write_table(pa.table({"x": list(range(1000))}), tmp_path / "cut.parquet")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "cut.parquet").read_bytes()[:-40])
    with pytest.raises(DataError, match=r"Hint|truncated") as refused:
        chunks(files(make(tmp_path)))
    assert told in str(refused.value)


def test_lines_are_cut_between_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_LINES_CHUNK", 10)
    lines = [f"line {n} " + "x" * n for n in range(20)]
    (tmp_path / "it.txt").write_text("\n".join(lines))
    parts = lines_of(tmp_path / "it.txt")
    assert len(parts) > 5
    found = [read(part) for part in parts]
    assert [it for one in found for it in one.table.column("line").to_pylist()] == lines
    assert [it for one in found for it in one.line.tolist()] == list(range(1, 21))
