"""``gossamer simulate`` as a shell sees it: what is refused, what is written, what stopping and going on leave behind."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gossamer.cli import main as command
from gossamer.trace.folder import read_run, read_table

WORLD = "cycles = 14\n[population]\nnodes = 80\n[events]\ncount = 20\n"
LONG = "cycles = 80\n[population]\nnodes = 120\n[events]\ncount = 20\n"
GOSSAMER = [sys.executable, "-m", "gossamer"]

compiled = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="whole runs, too long for plain Python")
linux = pytest.mark.skipif(sys.platform != "linux", reason="asks the system for what other systems lack")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder of our own, with two scenarios in it."""
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(WORLD, encoding="utf-8")
    Path("long.toml").write_text(LONG, encoding="utf-8")
    return tmp_path


def told(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    capsys.readouterr()
    code = command.main(words)
    out, err = capsys.readouterr()
    return code, out, err


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"x = = 1", "bad.toml: not TOML"),
        (b"[population]\nnodez = 3", "population.nodez: no such setting\nHint: did you mean 'population.nodes'?"),
        (b"nodes = 3", "nodes: no such setting\nHint: did you mean 'population.nodes'?"),
        (b'[population]\nnodes = "a"', "population.nodes: found 'a', expected a whole number"),
        (b"[population]\nnodes = 1", "population.nodes: found 1, expected 2"),
        (b"[population]\nnodes = 268435456", "of memory, this machine has"),
        (b"cycles = 10\ncrashes = [{ share = 0.1, cycle = 99 }]", "found cycle 99, after the last one"),
        (b"cycles = 10\n[events]\nat = [11]", "events.at: found cycle 11, after the last one"),
        (b"cycles = 10\n[rejoins]\ncount = 1\nfrom_cycle = 11", "rejoins.from_cycle: found cycle 11, after the last one"),
        (b"\xff\xfe", "bad.toml: cannot be read"),
        (b" " * ((1 << 20) + 1), "bad.toml: more than 1048576 bytes"),
    ],
)
def test_a_bad_scenario_is_one_error_and_nothing_is_written(text: bytes, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.toml").write_bytes(text)
    code, out, err = told(["simulate", "bad.toml", "--out", "runs"], capsys)
    assert (code, out) == (2, "")
    assert said in err
    assert err.startswith("gossamer: ")
    assert "Traceback" not in err
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["missing.toml"], "cannot be read (No such file or directory)"),
        (["ringz"], "did you mean the preset 'rings'?"),
        (["."], "cannot be read (Is a directory)"),
        (["mine.toml", "--set", "population"], "population: not a setting\nHint: --set"),
        (["mine.toml", "--set", "=3"], "not a setting"),
        (["mine.toml", "--set", "population.nodes.x=3"], "'population.nodes' is 80, not a table"),
        (["mine.toml", "--set", "crashes.0.share=0.5"], "crashes: found"),
        (["mine.toml", "--set", "form=best"], "expected one of faithful, better"),
        (["mine.toml", "--seed", "x"], "found 'x', expected a whole number"),
        (["mine.toml", "--seed", "-1"], "expected a whole number, 0 to"),
        (["mine.toml", "--seed", str(1 << 63)], "expected a whole number, 0 to"),
        (["mine.toml", "--seed", "3", "--seed", "3"], "seed 3 is given twice"),
        (["mine.toml", "--threads", "0"], "found '0', expected a whole number, 1 to 256"),
        (["mine.toml", "--resume"], "no run of this scenario was begun here"),
        (["mine.toml", "--resume", "--replace"], "not allowed with"),
        ([], "SCENARIO"),
    ],
)
def test_wrong_words_are_one_error_and_nothing_is_written(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = told(["simulate", *words, "--out", "runs"], capsys)
    assert (code, out) == (2, "")
    assert said in err
    assert not Path("runs").exists()
    code, out, err = told(["simulate", *words, "--out", "runs", "--json"], capsys)
    assert code == 2
    assert said in json.loads(out)["error"]["message"]


def test_a_folder_that_takes_no_files_is_refused_before_the_work(capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("", encoding="utf-8")
    Path("runs").mkdir()
    Path("runs/seed-1").write_text("mine", encoding="utf-8")
    for out in ["file", "file/under", "runs", *(["/proc"] if sys.platform == "linux" else [])]:
        code, _, err = told(["simulate", "mine.toml", "--out", out], capsys)
        assert code == 2
        assert "cannot be written" in err
        assert "Hint: choose another --out" in err
    assert Path("file").read_text(encoding="utf-8") == ""
    assert files(Path("runs")) == {"seed-1": b"mine"}


@compiled
def test_a_run_is_written_whole_and_told_in_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = told(["simulate", "mine.toml", "--out", "runs", "--seed", "1", "--seed", "2", "--json"], capsys)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert [run["seed"] for run in found["runs"]] == [1, 2]
    for run in found["runs"]:
        folder = Path(run["folder"])
        kept = read_run(folder)
        assert (kept.state, kept.config, kept.metrics) == (run["state"], run["config"], run["metrics"])
        assert {path.name for path in folder.iterdir()} == {f"{name}.parquet" for name in kept.rows} | {
            "run.json",
            "scenario.toml",
        }
        assert read_table(folder, "links").num_rows == 15
        assert run["metrics"]["hit_ratio"] > 0
    again = told(["simulate", found["runs"][0]["folder"] + "/scenario.toml", "--out", "again", "--json"], capsys)
    assert json.loads(again[1])["runs"][0]["state"] == found["runs"][0]["state"]


@compiled
def test_a_table_fits_a_terminal_and_says_what_each_date_brought(capsys: pytest.CaptureFixture[str]) -> None:
    Path("cases.toml").write_text(WORLD + "at = [5, 14]\n[[case]]\nname = 'a'\n[[case]]\nname = 'b'\n", encoding="utf-8")
    code, out, err = told(["simulate", "cases.toml", "--out", "runs", "--set", "name=two"], capsys)
    assert code == 0
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines if line.startswith("two/")] == ["two/a/1", "two/b/1"]
    assert sum(line.startswith("    cycle    5: hit ratio") for line in lines) == 2
    assert err.startswith("-- 2 runs, up to ")
    assert Path("runs/a/seed-1/run.json").exists()


@compiled
def test_another_run_is_not_overwritten_unless_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(["simulate", "mine.toml", "--out", "runs"], capsys)[0] == 0
    before = files(Path("runs"))
    wider = ["simulate", "mine.toml", "--out", "runs", "--set", "population.nodes=90"]
    code, out, err = told(wider, capsys)
    assert (code, out) == (2, "")
    assert "runs/seed-1: holds another run: its population.nodes is 80, not 90" in err
    assert "--replace" in err
    assert files(Path("runs")) == before
    assert told([*wider, "--replace"], capsys)[0] == 0
    assert read_run(Path("runs/seed-1")).metrics["rows"] == 90
    assert told(["simulate", "mine.toml", "--out", "runs", "--replace"], capsys)[0] == 0
    assert files(Path("runs")) == before


@compiled
def test_the_same_run_again_gives_the_same_bytes_and_resuming_skips_it(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "mine.toml", "--out", "runs", "--json"]
    first = json.loads(told(words, capsys)[1])
    before = files(Path("runs"))
    Path("runs/seed-1/links.parquet.123.partial").write_text("left by a killed run", encoding="utf-8")
    assert json.loads(told(words, capsys)[1]) == first
    assert files(Path("runs")) == before
    stamp = Path("runs/seed-1/run.json").stat().st_mtime_ns
    assert json.loads(told([*words, "--resume"], capsys)[1]) == first
    assert Path("runs/seed-1/run.json").stat().st_mtime_ns == stamp


def begun(words: list[str], after: Path) -> subprocess.Popen[str]:
    """A command under way, which has left its first checkpoint."""
    child = subprocess.Popen([*GOSSAMER, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 120
    while not after.exists():
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < until
        time.sleep(0.005)
    return child


@compiled
@linux
@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGKILL])
def test_a_run_ended_midway_goes_on_to_the_same_bytes(ended_by: signal.Signals, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(["simulate", "long.toml", "--out", "whole"], capsys)[0] == 0
    words = ["simulate", "long.toml", "--out", "runs", "--checkpoint", "1"]
    with begun(words, Path("runs/seed-1/checkpoint.npz")) as child:
        child.send_signal(ended_by)
        out, err = child.communicate(timeout=120)
    assert out == ""
    if ended_by == signal.SIGINT:
        assert child.returncode == 130
        assert "gossamer simulate long.toml --out runs --checkpoint 1 --resume" in err
        assert "Traceback" not in err
    assert {path.name for path in Path("runs/seed-1").iterdir() if path.suffix != ".partial"} == {
        "checkpoint.npz",
        "scenario.toml",
    }
    code, out, _ = told([*words, "--resume", "--json"], capsys)
    assert code == 0
    assert json.loads(out)["runs"][0]["state"] == read_run(Path("whole/seed-1")).state
    assert files(Path("runs")) == files(Path("whole"))


def test_a_checkpoint_that_is_broken_is_one_error(capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path("runs/seed-1")
    folder.mkdir(parents=True)
    (folder / "checkpoint.npz").write_bytes(b"PK\x03\x04 and no more")
    code, _, err = told(["simulate", "mine.toml", "--out", "runs", "--resume"], capsys)
    assert code == 2
    assert "checkpoint.npz: cannot be read" in err


@compiled
@linux
@pytest.mark.parametrize(("checkpoint", "file"), [("5", "checkpoint.npz"), ("0", ".parquet")])
def test_a_disk_that_fills_up_is_one_error_and_no_run(checkpoint: str, file: str) -> None:
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)); from gossamer.cli.main import main"
    )
    words = ["simulate", "mine.toml", "--out", "runs", "--checkpoint", checkpoint, "--json"]
    asked = [sys.executable, "-c", f"{limited}; sys.exit(main(sys.argv[1:]))", *words]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    error = json.loads(done.stdout)["error"]
    assert error["kind"] == "DataError"
    assert f"{file}: cannot be written (" in error["message"]
    assert "Traceback" not in done.stderr
    left = {path.name for path in Path("runs/seed-1").iterdir()}
    assert "run.json" not in left
    assert not any(name.endswith(".partial") for name in left)


@compiled
@linux
def test_an_output_that_takes_nothing_is_one_error() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        words = [*GOSSAMER, "simulate", "mine.toml", "--out", "runs"]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert "No space left on device: 'standard output'" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    assert Path("runs/seed-1/run.json").exists()


@compiled
@linux
def test_the_bar_is_drawn_on_a_terminal_and_gone_at_the_end() -> None:
    ours, theirs = pty.openpty()
    words = [*GOSSAMER, "simulate", "long.toml", "--out", "runs"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "60"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=theirs, env=environment) as child:
        os.close(theirs)
        drawn = b"".join(iter(lambda: _read(ours), b""))
        assert child.wait() == 0
    os.close(ours)
    bars = [line for line in drawn.decode().split("\r\x1b[K") if "%" in line]
    assert bars
    assert all(len(line) < 60 for line in bars)
    assert any("cycle" in line for line in bars)
    assert drawn.endswith(b"\r\x1b[K")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other side was closed
        return b""


def test_the_help_names_the_presets_and_fits_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = told(["simulate", "--help"], capsys)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 82
    assert "dissemination" in out
    assert "--resume" in out
