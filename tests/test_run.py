"""run.py: what it tells, what it refuses, and the exit codes it passes on."""

from __future__ import annotations

import signal
import sys

import pytest

import run


def test_without_a_recipe_it_lists_them(capfd: pytest.CaptureFixture[str]) -> None:
    assert run.main([]) == 0
    assert "demo" in capfd.readouterr().out


def test_an_unknown_recipe_is_refused_with_the_list(capfd: pytest.CaptureFixture[str]) -> None:
    assert run.main(["nonsense"]) == 2
    assert "no recipe 'nonsense'" in capfd.readouterr().err


def test_an_old_python_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 13))
    assert run.main(["test"]) == 2
    assert "needs 3.11 or newer" in capfd.readouterr().err


def test_it_passes_on_the_exit_code_of_what_it_ran() -> None:
    assert run.run([sys.executable, "-c", "raise SystemExit(7)"]) == 7


@pytest.mark.skipif(sys.platform == "win32", reason="no signals of this kind")
def test_an_end_by_signal_has_the_exit_code_of_a_shell() -> None:
    assert run.run([sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"]) == 128 + signal.SIGTERM


def test_a_quiet_command_is_heard_when_it_fails(capfd: pytest.CaptureFixture[str]) -> None:
    assert run.run([sys.executable, "-c", "print('all is well')"], quiet=True) == 0
    assert capfd.readouterr() == ("", "")
    assert run.run([sys.executable, "-c", "raise SystemExit('this is why')"], quiet=True) == 1
    assert "this is why" in capfd.readouterr().err


def test_ctrl_c_ends_it_without_a_traceback(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def interrupted(name: str, words: list[str]) -> int:
        raise KeyboardInterrupt(name, words)

    monkeypatch.setattr(run, "recipe", interrupted)
    assert run.main(["test"]) == 130
    assert "Traceback" not in capfd.readouterr().err


def test_a_stamp_changes_with_a_file_and_with_a_word() -> None:
    here = [run.ROOT / "run.py"]
    assert run.digest(here, "a") == run.digest(here, "a")
    assert run.digest(here, "a") != run.digest(here, "b")
    assert run.digest(here) != run.digest([run.ROOT / "LICENSE"])
