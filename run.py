#!/usr/bin/env python3
"""Everything one does with a checkout, in one file that needs nothing but Python: ``python3 run.py`` lists it.

It makes ``.venv``, installs into it what ``requirements/dev.txt`` names (every file checked by its hash), then this
project, compiles the kernels, and runs what was asked for. What is done already is not done again: stamps in ``.venv``
hold hashes of the files it depends on.

The surprising thing: this file has to be *read* by Pythons too old to run the project, or they could not say so. So
annotations they lack stand in quotes.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

__all__ = ["main"]

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = str(BIN / ("python.exe" if os.name == "nt" else "python"))
REQUIREMENTS = ROOT / "requirements"
OLDEST = (3, 11)
CACHES = ("GOSSAMER_CACHE", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "LOCALAPPDATA")
KNOWN = ("python3.13", "python3.12", "python3.11")

PIP = [PYTHON, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
LOCKED = [*PIP, "--require-hashes", "--only-binary", ":all:", "--no-binary", "pyspark", "--no-build-isolation"]
"""Nothing is built here but pyspark, which comes as sources alone; with what requirements/build.txt names."""
PYTEST = [PYTHON, "-m", "pytest", "-n", "2", "--dist", "loadfile"]
STEPS = {
    "lint": [PYTHON, "-m", "ruff", "check", "."],
    "format": [PYTHON, "-m", "ruff", "format", "--check", "."],
    "types": [PYTHON, "-m", "mypy"],
    "contracts": [str(BIN / "lint-imports"), "--no-cache", "--no-logo"],
    "docs": [PYTHON, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", "docs/_build/html"],
}
"""The steps of the gate before the tests, by the name one may ask for alone."""

USAGE = """\
usage: python3 run.py RECIPE [ARGUMENTS]

to see it work
  demo          reproduce the Sub-2-Sub paper at a small size and print its figures (about a minute)
  test          run the tests; arguments go to pytest, such as: test -k rings

to change it
  setup         make .venv and compile the kernels; the other recipes do so by themselves
  check         the whole gate, as CI runs it: lint, format, types, contracts, docs, tests
  lint          one step of the gate alone; the others by the names above
  tidy          format the code and mend what the linter can mend
  test-nojit    the tests that are not slow, with kernels as plain Python
  test-cluster  the tests that start Spark clusters of their own on this machine (about two minutes)
  parity        the tests that all drivers agree to the last byte
  papers        reproduce the papers at full size (some twenty minutes) and keep figures and numbers in docs/papers/
  picture       draw the picture in the README anew
  bench         the benchmarks, or one of them; arguments go to each, such as: bench cyclon --size large
  compare BASE  simulate the same scenarios with the sources of a git commit and with these, side by side
  changelog     show what changes/ makes of CHANGELOG.md; at a release: changelog --write
  lock          make requirements/*.txt anew from pyproject.toml
"""


class SetupError(Exception):
    """Something a person has to mend; the message says how."""


def main(argv: "list[str]") -> int:
    """Run one recipe and return its exit code."""
    if not argv or argv[0] in {"-h", "--help", "help"}:
        print(USAGE, end="")
        return 0
    try:
        return recipe(argv[0], argv[1:])
    except SetupError as problem:
        print(f"run.py: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nrun.py: stopped", file=sys.stderr)
        return 130


def recipe(name: str, words: "list[str]") -> int:
    """Do one of the recipes of USAGE."""
    if name in STEPS:
        install()
        return run([*STEPS[name], *words])
    recipes = {
        "demo": lambda: run([str(BIN / "gossamer"), "reproduce", "sub2sub", "--demo", *words]),
        "test": lambda: run([*PYTEST, *words]),
        "setup": lambda: say("ready; .venv/bin/gossamer --help"),
        "check": check,
        "tidy": lambda: run([PYTHON, "-m", "ruff", "check", "--fix", "."]) or run([PYTHON, "-m", "ruff", "format", "."]),
        "test-nojit": lambda: run([*PYTEST, "-m", "not slow", *words], NUMBA_DISABLE_JIT="1"),
        "test-cluster": lambda: run([PYTHON, "-m", "pytest", "-m", "cluster", "tests/pipeline", *words]),
        "parity": lambda: run([*PYTEST, "tests/parity", *words]),
        "papers": lambda: run([PYTHON, "benchmarks/papers.py", *words]),
        "picture": lambda: run([PYTHON, "docs/spread.py", *words]),
        "bench": lambda: bench(words),
        "compare": lambda: run([PYTHON, "benchmarks/compare.py", *words]),
        "changelog": lambda: run([PYTHON, "changes/gather.py", *words]),
        "lock": lock,
    }
    if name not in recipes:
        raise SetupError(f"no recipe '{name}'\n\n{USAGE}")
    install()
    if name not in {"tidy", "test-nojit", "changelog", "lock"}:
        warm()
    return recipes[name]()


def check() -> int:
    """Run the whole gate, every step even after a failure, and say at the end which ones failed."""
    failed = []
    for name, command in [*STEPS.items(), ("tests", PYTEST)]:
        say(f"check: {name}")
        if run(command) != 0:
            failed.append(name)
    if failed:
        print(f"run.py: failed: {', '.join(failed)}", file=sys.stderr)
        return 1
    return say("all checks passed")


def bench(words: "list[str]") -> int:
    """Run each benchmark in turn, or the one that is named; one that fails does not keep the others from running."""
    known = [path.stem for path in sorted((ROOT / "benchmarks").glob("bench_*.py"))]
    if words and not words[0].startswith("-"):
        if f"bench_{words[0]}" not in known:
            names = ", ".join(name.removeprefix("bench_") for name in known)
            raise SetupError(f"no benchmark '{words[0]}'; there are {names}")
        known, words = [f"bench_{words[0]}"], words[1:]
    return max([run([PYTHON, "-m", f"benchmarks.{name}", *words]) for name in known], default=0)


def lock() -> int:
    """Make the requirement files anew. They name no index, so anyone's own settings for pip and uv hold."""
    compiling = [PYTHON, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"]
    compiling += ["--generate-hashes", "--no-emit-index-url", "--no-emit-find-links", "--fork-strategy", "fewest", "--upgrade"]
    compiling += ["--custom-compile-command", "python3 run.py lock"]
    everything = ["pyproject.toml", "--all-extras", "--group", "dev", "-o", "requirements/dev.txt"]
    core = ["pyproject.toml", "-c", "requirements/dev.txt", "-o", "requirements/core.txt"]
    build = ["--group", "build", "-c", "requirements/dev.txt", "-o", "requirements/build.txt"]
    return run(compiling + everything) or run(compiling + core) or run(compiling + build)


def install() -> None:
    """Install the requirements and the project, unless the stamps say that just this was done."""
    if sys.version_info < OLDEST:
        newer = next((name for name in KNOWN if shutil.which(name)), None)
        hint = f"try: {newer} run.py {' '.join(sys.argv[1:])}" if newer else "install a newer Python and run this with it"
        raise SetupError(f"this is Python {sys.version.split()[0]}, and gossamer needs 3.11 or newer\n{hint}")
    require()
    stamp = VENV / "gossamer.stamp"
    wanted = digest([ROOT / "pyproject.toml"], str(ROOT))
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    say("installing gossamer itself")
    if run([*PIP, "--no-deps", "--no-build-isolation", "--no-index", "--editable", str(ROOT)], quiet=True) != 0:
        raise SetupError("gossamer itself could not be installed; pip's lines above say why")
    stamp.write_text(wanted)


def require() -> None:
    """Make .venv with just the requirements in it; whatever was there before goes, so that nothing else is relied upon."""
    stamp = VENV / "requirements.stamp"
    files = [REQUIREMENTS / "build.txt", REQUIREMENTS / "dev.txt"]
    wanted = digest(files, sys.version, str(VENV))
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    if find_spec("venv") is None or find_spec("ensurepip") is None:
        raise SetupError(
            "this Python cannot make virtual environments: its module venv or ensurepip is missing\n"
            "on Debian and Ubuntu: apt install python3-venv"
        )
    say(f"making .venv with Python {sys.version.split()[0]}")
    if run([sys.executable, "-m", "venv", "--clear", str(VENV)], quiet=True) != 0:
        raise SetupError("no virtual environment could be made; the lines above say why")
    say("installing what the project needs, each file checked by its hash (the first time takes some minutes)")
    for file in files:
        if run([*LOCKED, "-r", str(file)], quiet=True) != 0:
            raise SetupError(
                "the requirements could not be installed; pip's lines above say why\n"
                "pip uses your own settings (pip config list): check that they reach a package index, then run this again"
            )
    stamp.write_text(wanted)


def warm() -> None:
    """Compile every kernel once, unless it was done for just these sources."""
    stamp = VENV / "kernels.stamp"
    wanted = digest(sorted((ROOT / "src").rglob("*.py")), *(os.environ.get(place, "") for place in CACHES))
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    say("compiling the kernels")
    if run([PYTHON, "-m", "gossamer.jit"]) != 0:
        raise SetupError("the kernels could not be compiled; the lines above say why")
    stamp.write_text(wanted)


def digest(paths: "list[Path]", *words: str) -> str:
    """A hash of the names and contents of some files, and of some words."""
    known = hashlib.sha256()
    for path in paths:
        known.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    known.update("\0".join(words).encode())
    return known.hexdigest()


def run(command: "list[str]", *, quiet: bool = False, **settings: str) -> int:
    """Run a command in the checkout and return its exit code as a shell would; a quiet one is heard only if it fails.

    Ctrl-C reaches the command too. It is waited for, so that it can end in order and nothing of it is left behind.
    """
    environment = {**os.environ, **settings}
    environment.pop("PYTHONHOME", None)
    out, err = (subprocess.PIPE, subprocess.STDOUT) if quiet else (None, None)
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=err) as child:
        try:
            output, _ = child.communicate()
        except KeyboardInterrupt:
            child.communicate()
            raise
    if child.returncode != 0 and output:
        sys.stderr.write(output.decode(errors="replace"))
    code = int(child.returncode)
    return code if code >= 0 else 128 - code


def say(what: str) -> int:
    """Print one line of progress, before whatever the next command prints."""
    print(f"-- {what}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
