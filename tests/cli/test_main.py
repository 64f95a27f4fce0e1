"""The command as a shell sees it: text, JSON and exit codes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import pytest

import gossamer
from gossamer.cli import main as command
from gossamer.cli.progress import Progress, spoken

PROBE = (command.Verb("probe", "do what is said", "tests.cli.probe", "gossamer probe 0"),)


@pytest.fixture(autouse=True)
def probe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have one verb, ours."""
    monkeypatch.setattr(command, "VERBS", PROBE)


@pytest.mark.parametrize(
    ("what", "code", "said"),
    [
        ("0", 0, ""),
        ("1", 1, ""),
        ("interest", 2, "no such column"),
        ("scenario", 2, "cases.0.nodes: expected a positive number, found -1\nHint: try 100"),
        ("peer", 2, "a peer sent nonsense"),
        ("file", 2, "missing.toml"),
        ("bug", 3, "ZeroDivisionError: division by zero"),
        ("bug-of-the-system", 3, "no name in it"),
        ("ctrl-c", 130, "stopped"),
    ],
)
def test_an_exit_code_means_one_thing(what: str, code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["probe", what]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err


def test_a_refusal_is_an_object_where_json_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["probe", "interest", "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["kind"] == "InterestError"
    assert error["problem"] == "no such column"
    assert (error["text"], error["start"], error["stop"]) == ("a > 1", 0, 1)
    assert error["hint"] == "the columns are: b"


@pytest.mark.parametrize("words", [["probe"], ["probe", "0", "--nonsense"], ["nonsense"], ["--nonsense"]])
def test_wrong_arguments_are_refused_like_all_else(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([*words, "--json"]) == 2
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["kind"] == "CallerError"
    assert "--help" in err


def test_without_a_verb_the_help_is_shown_and_nothing_was_done(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([]) == 2
    assert "gossamer probe 0" in capsys.readouterr().err


def test_the_help_of_a_verb_tells_its_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["probe", "--help"]) == 0
    assert "what" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--version"]) == 0
    assert capsys.readouterr().out == f"gossamer {gossamer.__version__}\n"


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end otherwise there")
def test_a_reader_that_goes_away_gets_no_traceback() -> None:
    talk = "import sys; from gossamer.cli import main as it; it._run = lambda _: print('hello'); sys.exit(it.main([]))"
    with subprocess.Popen([sys.executable, "-c", talk], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        said = child.stderr.read()
    assert child.returncode == command.UNHEARD
    assert said == b""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["prob"], "no verb 'prob'\nHint: did you mean 'probe'? See gossamer --help"),
        (["nonsense"], "no verb 'nonsense'\nHint: there are probe. See gossamer --help"),
    ],
)
def test_an_unknown_verb_is_told_the_nearest(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(words) == 2
    assert said in capsys.readouterr().err


def test_signs_a_terminal_lacks_end_no_command() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    words = [sys.executable, "-m", "gossamer", "simulate", "bäd.toml", "--out", "x", "--json"]
    done = subprocess.run(words, capture_output=True, env=environment, check=False)
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["path"] == "bäd.toml"
    assert b"b\\xe4d.toml: cannot be read" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there is no shell to close it")
def test_a_closed_output_ends_no_command() -> None:
    done = subprocess.run(["/bin/sh", "-c", '"$0" -m gossamer --version >&-', sys.executable], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_progress_whose_reader_went_away_is_quiet() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError(text)

    progress = Progress(stream=Gone())
    progress.say("once")
    assert progress.quiet
    progress.say("and no more")


def test_progress_tells_the_time_left() -> None:
    assert [spoken(seconds) for seconds in (0.4, 42, 99.4, 100, 3_600, 80 * 60, 90 * 60)] == [
        "0 s", "42 s", "99 s", "2 min", "60 min", "80 min", "1 h 30 min",
    ]  # fmt: skip
