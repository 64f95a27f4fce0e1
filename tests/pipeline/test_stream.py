"""Streams against batches: the same traces end in the same numbers, however they come."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from gossamer.cli import main as command
from gossamer.errors import DataError
from gossamer.measure.delivery import Spread
from gossamer.measure.summary import dissemination
from gossamer.pipeline import session as sessions
from gossamer.pipeline.measure import summed
from gossamer.pipeline.stream import Streamed, Streaming, stream
from gossamer.trace.folder import column
from gossamer.trace.rolled import BEAT, END, happenings, mark, numbered, roll, write_rolled
from tests.pipeline.traced import HOW, Traced, small, traced


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Traced:
    """A run in its folder."""
    return traced(tmp_path_factory.mktemp("stream") / "run")


def _spreads(out: Path) -> dict[int, dict[str, Any]]:
    rows = pq.read_table(out / "spreads", partitioning=None).to_pylist()
    found = {row["event"]: row for row in rows}
    assert len(found) == len(rows)
    return found


def _same(out: Path, expected: Spread, only: Any = None) -> None:  # noqa: ANN401
    """What stands in the folder is what the small definition says of all events, or some."""
    found = _spreads(out)
    events = range(expected.wanted.shape[0]) if only is None else only
    assert set(found) == set(events)
    for event in events:
        for name in Spread._fields:
            assert found[event][name] == getattr(expected, name)[event], (event, name)


def _told(expected: Spread, found: Streamed) -> None:
    whole = dissemination(expected)
    assert set(found.metrics) == set(whole)
    for name, value in whole.items():
        assert found.metrics[name] == pytest.approx(value, abs=1e-12), name


class Writer:
    """Puts files into a folder one after the other, each later than the one before."""

    def __init__(self, folder: Path, form: str = "parquet") -> None:
        self.folder, self.form, self.number = folder, form, 0
        folder.mkdir()

    def write(self, table: pa.Table) -> None:
        """Write the next file."""
        path = write_rolled(self.folder, self.number, "test", table, self.form)
        self.number += 1
        os.utime(path, ns=(self.number * 10**9, self.number * 10**9))


def _shuffled(made: Traced) -> Iterator[pa.Table]:
    """A run's rows out of order by up to 30 ticks, one in five written twice, the second time some rows later."""
    rows = numbered(happenings(made.tables), "sim", 0)
    rng, tick = random.Random(5), column(rows, "tick")  # noqa: S311
    turn = [(int(tick[n]) + rng.uniform(0, 30), n) for n in range(rows.num_rows)]
    turn += [(when + rng.uniform(0, 5), n) for when, n in turn if rng.random() < 0.2]
    order = np.array([n for _, n in sorted(turn)])
    for part in np.array_split(order, 4):
        yield rows.take(pa.array(part))


@pytest.mark.slow
@pytest.mark.parametrize(("form", "files"), [("parquet", 1), ("jsonl", 0)])
def test_streaming_equals_batch_with_duplicates_disorder_and_restarts(
    spark: SparkSession, made: Traced, tmp_path: Path, form: str, files: int
) -> None:
    how = Streaming(window_s=HOW.window_s, delay_s=HOW.delay_s, form=form)
    writer, out = Writer(tmp_path / "rolled", form), tmp_path / "out"
    parts = list(_shuffled(made))
    for part in parts[:3]:
        writer.write(part)
    first = stream(spark, writer.folder, made.folder, out, how, once=True, files=files)
    assert not first.ended
    assert first.late is None
    assert 0 < first.events < made.spread.wanted.shape[0]
    assert first.waiting > 0
    # As if it had been killed when all was written and nothing said to be: the last batch is done again.
    commits = sorted((out / "checkpoint" / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    commits[-1].unlink()
    commits[-1].with_name(f".{commits[-1].name}.crc").unlink(missing_ok=True)
    for part in parts[3:]:
        writer.write(part)
    end = int(column(made.tables["receipts"], "tick").max()) * 1_000_000
    writer.write(numbered(pa.concat_tables([mark(BEAT, end), mark(END, end)]), "test", 0))
    found = stream(spark, writer.folder, made.folder, out, how, files=files, every_s=0)
    rows = sum(part.num_rows for part in parts)
    unique = len(set(np.concatenate([column(part, "n") for part in parts]).tolist()))
    assert (found.ended, found.rows, found.twice, found.late, found.waiting) == (True, rows, rows - unique, 0, 0)
    assert found.events == made.spread.wanted.shape[0]
    _same(out, made.spread)
    _told(made.spread, found)
    assert stream(spark, writer.folder, made.folder, out, how) == found
    windows = pq.read_table(out / "windows", partitioning=None).to_pylist()
    assert sum(row["events"] for row in windows) == found.events
    assert sum(row["handed"] for row in windows) == made.tables["deliveries"].num_rows
    assert len({row["start"] for row in windows}) == len(windows) == found.windows
    with pytest.raises(DataError, match="was begun with window_s = 20, found 21"):
        stream(spark, writer.folder, made.folder, out, Streaming(window_s=21, delay_s=40, form=form))


def test_rolled_files_of_a_run_end_by_themselves_and_batch_on_spark_agrees(
    spark: SparkSession, made: Traced, tmp_path: Path
) -> None:
    assert roll(made.tables, tmp_path / "rolled", ticks=30) > 2
    heard: list[Streamed] = []
    found = stream(spark, tmp_path / "rolled", made.folder, tmp_path / "out", HOW, every_s=0, tell=heard.append)
    assert (found.ended, found.late, found.twice) == (True, 0, 0)
    assert heard
    pair = np.repeat(np.arange(made.offsets.shape[0] - 1), np.diff(made.offsets))
    wanting = pa.table({"event": pair, "node": made.wanting}).append_column("run", pa.array(["r"] * pair.shape[0]))
    wanting = wanting.append_column("staying", pa.array([True] * pair.shape[0]))
    # In one chunk: of a table whose columns are cut differently Spark takes some rows only.
    receipts = made.tables["receipts"].combine_chunks()
    receipts = receipts.append_column("run", pa.array(["r"] * receipts.num_rows))
    batch = {row.event: row for row in summed(spark.createDataFrame(receipts), spark.createDataFrame(wanting)).collect()}
    for event, row in _spreads(tmp_path / "out").items():
        for name in Spread._fields:
            assert row[name] == (batch[event][name] if event in batch else 0), (event, name)


def test_rows_later_than_the_watermark_are_counted_to_the_last_and_change_nothing(
    spark: SparkSession, made: Traced, tmp_path: Path
) -> None:
    rows = numbered(happenings(made.tables), "sim", 0)
    writer, out = Writer(tmp_path / "rolled"), tmp_path / "out"
    published = column(rows, "published_us")
    receipt = np.array(rows["what"].to_pylist()) == "receipts"
    early = np.flatnonzero(receipt & (published < 20_000_000))
    held, again = early[::7], early[1::7][:5]
    assert held.size
    writer.write(rows.filter(pa.array(~np.isin(np.arange(rows.num_rows), held))))
    writer.write(numbered(mark(BEAT, 10_000_000_000), "test", 0))
    writer.write(rows.take(pa.array(np.concatenate([held, again]))))
    writer.write(numbered(mark(END, 10_000_000_000), "test", 1))
    found = stream(spark, writer.folder, made.folder, out, HOW, files=1, every_s=0)
    assert (found.ended, found.late, found.twice) == (True, held.size + again.size, 0)
    gone = set(column(rows, "n")[held].tolist())
    kept = rows.filter(pa.array(receipt & ~np.isin(column(rows, "n"), list(gone))))
    _same(out, small(kept, made.offsets, made.wanting))


# ------------------------------------------------------------------------------------------------ what is refused


def test_what_cannot_be_streamed_is_told_and_nothing_is_made(spark: SparkSession, made: Traced, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not there, expected a folder of rolled files"):
        stream(spark, tmp_path / "nowhere", made.folder, tmp_path / "out")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "rolled").mkdir()
    with pytest.raises(DataError, match="holds something else, and was left alone"):
        stream(spark, tmp_path / "rolled", made.folder, tmp_path / "other")
    with pytest.raises(DataError, match="neither a run's folder nor one with Parquet files"):
        stream(spark, tmp_path / "rolled", tmp_path / "other", tmp_path / "out")
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("spoil", ["kind", "columns", "half"])
def test_a_file_that_is_no_rolled_one_is_told_by_name(spark: SparkSession, made: Traced, tmp_path: Path, spoil: str) -> None:
    (tmp_path / "rolled").mkdir()
    path = write_rolled(tmp_path / "rolled", 0, "test", numbered(mark(BEAT, 0), "test", 0))
    if spoil == "half":
        path.write_bytes(path.read_bytes()[:200])
    else:
        table = pq.read_table(path)
        place = table.schema.get_field_index("what")
        table = table.set_column(place, "what", pa.array(["gossip"])) if spoil == "kind" else table.drop_columns(["what"])
        pq.write_table(table, path)
    with pytest.raises(DataError, match=path.name):
        stream(spark, tmp_path / "rolled", made.folder, tmp_path / "out", HOW, once=True)


def test_a_truth_without_nodes_is_told(spark: SparkSession, made: Traced, tmp_path: Path) -> None:
    pq.write_table(pa.table({"event": [1], "nod": [2]}), tmp_path / "pairs.parquet")
    with pytest.raises(DataError, match="no column 'node'; there is 'nod'"):
        stream(spark, made.folder, tmp_path, tmp_path / "out", HOW, once=True)
    assert json.loads((tmp_path / "out" / "settings.json").read_text("utf-8"))["window_s"] == HOW.window_s


# ------------------------------------------------------------------------------------------------ rolled files


def test_rolled_files_hold_every_row_once_in_the_order_of_time(made: Traced, tmp_path: Path) -> None:
    roll(made.tables, tmp_path / "rolled", ticks=30)
    files = sorted((tmp_path / "rolled").iterdir())
    changed = [path.stat().st_mtime_ns for path in files]
    assert sorted(set(changed)) == changed
    rows = pa.concat_tables([pq.read_table(path) for path in files]).to_pylist()
    assert [row["n"] for row in rows] == list(range(len(rows)))
    assert [row["what"] for row in rows if row["what"] in {BEAT, END}] == [BEAT] * len(files) + [END]
    published = {row["event"]: row["tick"] for row in made.tables["publications"].to_pylist()}
    for name in ("publications", "receipts", "deliveries"):
        own = [row for row in rows if row["what"] == name]
        assert [row["tick"] for row in own] == sorted(row["tick"] for row in own)
        assert all(row["published_us"] == published[row["event"]] * 1_000_000 for row in own)
        kept = [{key: int(row[key]) for key in made.tables[name].column_names} for row in own]
        there = [{key: int(value) for key, value in row.items()} for row in made.tables[name].to_pylist()]
        assert sorted(kept, key=str) == sorted(there, key=str)


def test_what_cannot_be_rolled_is_told(made: Traced, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"Hint: events.frozen = false"):
        roll({"publications": made.tables["publications"]}, tmp_path / "rolled")
    with pytest.raises(DataError, match="receipts: an event that was never published"):
        roll({**made.tables, "publications": made.tables["publications"].slice(3)}, tmp_path / "rolled")
    assert not (tmp_path / "rolled").exists()
    with pytest.raises(DataError, match="holds something already"):
        roll(made.tables, made.folder)


# ------------------------------------------------------------------------------------------------ the command


def test_the_command_rolls_and_streams_and_prints_one_object(
    spark: SparkSession, made: Traced, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rolled, out = str(tmp_path / "rolled"), str(tmp_path / "out")
    assert command.main(["pipeline", "roll", str(made.folder), "--out", rolled, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == 2
    # A session of one's own would be stopped at the end, and with it the one that all tests share.
    monkeypatch.setattr(sessions, "_made", lambda *_: _Lasting(spark))
    words = ["pipeline", "stream", rolled, "--truth", str(made.folder), "--out", out, "--window", "20", "--delay", "40"]
    assert command.main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["ended"], told["late"], told["events"]) == (True, 0, made.spread.wanted.shape[0])
    assert told["metrics"]["hit_ratio"] == pytest.approx(dissemination(made.spread)["hit_ratio"], abs=1e-12)
    assert command.main(words) == 0
    assert "0 of them written twice, 0 late" in capsys.readouterr().out
    assert command.main([*words[:-1], "50"]) == 2
    assert "was begun with delay_s = 40, found 50" in capsys.readouterr().err


class _Lasting:
    """A session that does not stop."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def __getattr__(self, name: str) -> object:
        return getattr(self._spark, name)

    def stop(self) -> None:
        """Go on."""
