"""Every block in the README and the docs is run: Python as it stands, ``$ gossamer`` as a shell would.

The blocks of a page share their names and a folder, in order; a TOML block that begins with ``# name.toml`` is that file. What
a page shows of a command's output must be there, with ``...`` for what it leaves out. Blocks marked ``text`` are not run: they
are other people's commands, or take too long.
"""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
FENCE = re.compile(r"^```(?P<kind>[\w{}-]*)[^\n]*\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
KINDS = {"python", "console", "text", "toml", "sql", "{toctree}", "{eval-rst}"}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[tuple[str, str, int]]:
    """Kind, body and line of each fenced block."""
    text = page.read_text(encoding="utf-8")
    return [(found["kind"], found["body"], text.count("\n", 0, found.start()) + 1) for found in FENCE.finditer(text)]


def commands(body: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output that is shown of it."""
    parts = re.split(r"^\$ ", body, flags=re.MULTILINE)
    assert not parts[0], "a console block begins with a command"
    return [(command, shown) for command, _, shown in (part.partition("\n") for part in parts[1:])]


def run_command(command: str, shown: str) -> None:
    program, *words = shlex.split(command)
    assert program == "gossamer", f"only gossamer is run in a console block; mark as text: {command}"
    asked = [sys.executable, "-m", "gossamer.cli.main", *words]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert not shown.strip() or doctest.OutputChecker().check_output(shown, done.stdout, flags), done.stdout


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=named)
def test_every_block_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for kind, body, line in blocks(page):
        assert kind in KINDS, f"{named(page)}:{line}: say what kind of block this is"
        if kind == "python":
            # The line numbers of a traceback are those of the page.
            exec(compile("\n" * line + body, str(page), "exec"), names)  # noqa: S102  (it is our own page)
        elif kind == "toml" and (named_file := re.match(r"# ([\w-]+\.toml)\n", body)):
            Path(named_file[1]).write_text(body, encoding="utf-8")
        elif kind == "console":
            for command, shown in commands(body):
                run_command(command, shown)


def test_a_page_links_only_to_what_is_there() -> None:
    broken = []
    for page in [*PAGES, *ROOT.glob("*.md"), ROOT / "changes" / "README.md"]:
        links = re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text(encoding="utf-8"))
        broken += [f"{named(page)}: {link}" for link in links if not (page.parent / link).exists()]
    assert broken == []
