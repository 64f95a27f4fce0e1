"""The user's own data: DuckDB's answers on the same texts, and nothing dropped in silence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from gossamer.cli.main import main
from tests.pipeline.people import DATA, FLIGHTS, QUAKES, WEEK, duck_pairs, flight_filters, quake_filters, week_filters

real = pytest.mark.skipif(not DATA.is_dir(), reason="needs the folder of real data beside the repository")
TEXTS = """
mag = "float"
depth_km = "float"
time = "datetime"
sig = "int"
nst = "int"
dmin = "float"
gap = "float"
net = "string"
type = "string"
"""


@pytest.fixture(autouse=True)
def shared(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command uses the session of the tests."""

    @contextmanager
    def handed(**_: object) -> Iterator[SparkSession]:
        yield spark

    monkeypatch.setattr("gossamer.cli.truth.session", handed)


def asked(folder: Path, events: object, filters: list[str], *more: str) -> int:
    """Run the command on these filters."""
    (folder / "filters.txt").write_text("".join(f"{it}\n" for it in filters))
    return main(["truth", "--events", str(events), "--interests", str(folder / "filters.txt"), *more])


def found_pairs(out: Path) -> list[tuple[int, int]]:
    table = pq.read_table(out / "pairs")
    return sorted(zip(table.column("line").to_pylist(), map(int, table.column("id").to_pylist()), strict=True))


@real
@pytest.mark.parametrize(
    ("path", "made", "more"),
    [
        (QUAKES, quake_filters, ["--plan", "tiles", "--tasks", "3"]),
        (WEEK, week_filters, ["--schema"]),
        (FLIGHTS, flight_filters, []),
    ],
    ids=["quakes", "week", "flights"],
)
def test_real_events_match_the_filters_that_duckdb_says(tmp_path: Path, path: Path, made, more: list[str]) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    filters = made(120, 3)
    if more == ["--schema"]:
        (tmp_path / "schema.toml").write_text(TEXTS)
        more = ["--schema", str(tmp_path / "schema.toml")]
    assert asked(tmp_path, path, filters, "--out", str(tmp_path / "out"), "--pairs", "--on-error", "skip", *more) == 0
    told = json.loads((tmp_path / "out" / "truth.json").read_text())
    wanted = duck_pairs(path, filters)
    assert found_pairs(tmp_path / "out") == wanted
    matches = pq.read_table(tmp_path / "out" / "matches")
    assert sum(matches.column("matches").to_pylist()) == len(wanted) == told["matches"] == told["pairs"]
    assert (told["in_box"] > told["matches"]) == (path is WEEK)
    assert told["filters"] + told["filters_bad"] == 120


def test_a_bad_row_and_a_bad_filter_are_named_and_skipped_only_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["price,venue,at", *(f"{n}.5,X,2026-01-0{n % 9 + 1}" for n in range(98)), "dear,Y,2026-01-02", "7,Y"]
    (tmp_path / "log.csv").write_text("\n".join(rows) + "\n")
    filters = ["# comment", "cheap\tprice < 3", "", "odd\tprise > 3", "cheap\tprice < 2", "price >= 90 AND venue = 'X'"]
    assert asked(tmp_path, tmp_path / "log.csv", filters, "--json") == 2
    told = capsys.readouterr()
    for part in ("log.csv:100: price: found 'dear', expected a number", "log.csv:101: found 2 cells, expected 3", "prise"):
        assert part in told.err
    assert "line 5: the id cheap stands in line 2" in told.err
    assert "error" in json.loads(told.out)
    assert asked(tmp_path, tmp_path / "log.csv", filters, "--json", "--on-error", "skip") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["events"], told["events_bad"], told["filters"], told["filters_bad"]) == (98, 2, 2, 2)
    assert told["matches"] == 3 + 8


def test_an_answer_does_not_depend_on_the_kind_of_file_or_on_the_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows: list[dict[str, Any]] = [
        {"price": n / 4, "name": None if n % 7 == 0 else f"instrument {n % 5}", "ok": n % 3 == 0} for n in range(60)
    ]
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, tmp_path / "log.parquet", row_group_size=13)
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    cells = [[str(row["price"]), row["name"] or "", str(row["ok"]).lower()] for row in rows]
    (tmp_path / "log.csv").write_text("price,name,ok\n" + "".join(",".join(it) + "\n" for it in cells))
    (tmp_path / "schema.toml").write_text('price = "float"\nname = "string"\nok = "bool"\n')
    filters = ["name = 'instrument 1'", "price > 3 OR ok", "NOT name LIKE 'instrument 2%'", "name IS NULL AND price < 9"]
    found = []
    for kind, plan in (("parquet", "one"), ("jsonl", "events"), ("csv", "tiles")):
        more = ["--schema", str(tmp_path / "schema.toml"), "--plan", plan, "--tasks", "2", "--json", "--explain"]
        assert asked(tmp_path, tmp_path / f"log.{kind}", filters, *more) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["plan"]["way"] == plan
        assert sum(task["events"] for task in told["plan"]["tasks"]) == 60
        found.append((told["matches"], told["in_box"], told["nobody"]))
    wanted = sum(
        (row["name"] == "instrument 1")
        + (row["price"] > 3 or row["ok"])
        + (row["name"] is not None and not row["name"].startswith("instrument 2"))
        + (row["name"] is None and row["price"] < 9)
        for row in rows
    )
    assert found == [(wanted, found[0][1], found[0][2])] * 3
    assert found[0][1] > wanted


def test_what_was_there_before_stays_unless_it_may_give_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log.csv").write_text("price\n1\n2\n3\n")
    out = tmp_path / "out"
    assert asked(tmp_path, tmp_path / "log.csv", ["price > 1"], "--out", str(out)) == 0
    before = (out / "truth.json").read_text()
    assert asked(tmp_path, tmp_path / "log.csv", ["price > 2"], "--out", str(out)) == 2
    assert "--replace" in capsys.readouterr().err
    assert asked(tmp_path, tmp_path / "log.csv", ["prise > 2"], "--out", str(out), "--replace") == 2
    assert (out / "truth.json").read_text() == before
    assert asked(tmp_path, tmp_path / "log.csv", ["price > 2"], "--out", str(out), "--replace") == 0
    assert json.loads((out / "truth.json").read_text())["matches"] == 1
    assert sorted(it.name for it in tmp_path.iterdir()) == ["filters.txt", "log.csv", "out"]


def test_a_file_that_breaks_off_within_is_refused_in_a_few_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table({"price": [n * 0.37 for n in range(5000)]}), path, compression="none", use_dictionary=False)
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * 64 + whole[68:])
    (tmp_path / "schema.toml").write_text('price = "float"\n')
    assert asked(tmp_path, path, ["price > 1"], "--schema", str(tmp_path / "schema.toml"), "--out", str(tmp_path / "out")) == 2
    told = capsys.readouterr().err
    assert "log.parquet: cannot be read; truncated or not Parquet" in told
    assert len(told.splitlines()) < 20
    assert not (tmp_path / "out").exists()
