"""``gossamer doctor``: what would be used on this machine, and what to do where something is missing."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, NamedTuple

from gossamer import __version__
from gossamer.jit import user_cache_folder
from gossamer.pipeline import java
from gossamer.pipeline.session import LOCAL, settings

__all__ = ["Finding", "configure", "findings", "run"]

_DESCRIPTION: Final = """\
Say which Java, Python, Spark, memory and folders would be used here, and what to do where something is missing. Nothing is
started but each Java, to ask its version. Exit code 1 when the data pipeline could not run.

  gossamer doctor
  gossamer doctor --json
"""
_LEAST_MEMORY: Final = 4 << 30
_LEAST_DISK: Final = 2 << 30
_PARTS: Final = (
    ("numba", ""),
    ("numpy", ""),
    ("pyarrow", ""),
    ("sqlglot", ""),
    ("matplotlib", "report"),
    ("pyspark", "pipeline"),
    ("pandas", "pipeline"),
    ("grpcio", "pipeline"),
)


class Finding(NamedTuple):
    """One line: what was looked for, what was found, and what to do about it if anything."""

    what: str
    found: str
    good: bool
    todo: str = ""


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of the verb."""
    parser.description = _DESCRIPTION
    parser.add_argument("--json", action="store_true", help="print one object")


def run(args: argparse.Namespace) -> int:
    """Look around, and say what was seen."""
    found = findings()
    if args.json:
        print(json.dumps({"good": all(it.good for it in found), "findings": [it._asdict() for it in found]}))
    else:
        width = max(len(it.what) for it in found)
        for it in found:
            print(
                f"{'ok ' if it.good else '-- '} {it.what:<{width}}  {it.found}"
                + (f"\n    {'':<{width}}  {it.todo}" * bool(it.todo))
            )
    return 0 if all(it.good for it in found) else 1


def findings() -> list[Finding]:
    """Everything there is to say."""
    return [
        Finding("gossamer", __version__, good=True),
        Finding("Python", f"{platform.python_version()} ({sys.executable})", good=True),
        *(_package(name, extra) for name, extra in _PARTS),
        *_java(),
        _spark(),
        _memory(),
        *(_folder(what, path) for what, path in _folders()),
    ]


def _package(name: str, extra: str) -> Finding:
    try:
        return Finding(name, version(name), good=True)
    except PackageNotFoundError:
        wanted = f"'gossamer[{extra}]'" if extra else "gossamer"
        return Finding(name, "not installed", good=extra == "report", todo=f"pip install {wanted}")


def _java() -> list[Finding]:
    """Each Java there is, the one that would be used marked so."""
    found, used = [], False
    for it in java.candidates():
        chosen = not it.problem and not used
        used |= chosen
        state = "used by Spark" if chosen else it.problem or "would do as well"
        found.append(Finding(f"Java ({it.origin})", f"{it.version or '?'} {it.home}: {state}", good=True))
    if not used:
        todo = f"pip install 'gossamer[pipeline]' brings one; or install Java {java.SUPPORTED[1]}"
        found.append(Finding("Java", "none that Spark runs on", good=False, todo=todo))
    return found


def _spark() -> Finding:
    conf = settings(LOCAL, {})
    told = f"{LOCAL}, {os.cpu_count() or 1} cores, {conf['spark.driver.memory']} for its JVM"
    if named := os.environ.get("SPARK_HOME"):
        return Finding("Spark", told, good=True, todo=f"SPARK_HOME is set: {named} is used, and should be of pyspark's version")
    return Finding("Spark", told, good=True)


def _memory() -> Finding:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = {line.split(":")[0]: int(line.split()[1]) << 10 for line in lines if line.endswith("kB")}
        total, available = free["MemTotal"], free["MemAvailable"]
    except (OSError, KeyError, ValueError, IndexError):
        return Finding("memory", "cannot be told here", good=True)
    todo = "" if available >= _LEAST_MEMORY else "--conf spark.driver.memory=1g, and one core: --master local[1]"
    return Finding("memory", f"{_said(available)} free of {_said(total)}", good=True, todo=todo)


def _folders() -> list[tuple[str, Path]]:
    local = os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).split(",")[0]
    return [("kernels are kept in", user_cache_folder()), ("Spark spills to", Path(local))]


def _folder(what: str, path: Path) -> Finding:
    """Whether something can be written there, and how much."""
    there = path
    while not there.exists():
        there = there.parent
    if not os.access(there, os.W_OK):
        name = "GOSSAMER_CACHE" if "kernels" in what else "SPARK_LOCAL_DIRS"
        return Finding(what, f"{path}: cannot be written", good=False, todo=f"let {name} name a folder that can")
    free = shutil.disk_usage(there).free
    todo = "" if free >= _LEAST_DISK else "little room: let SPARK_LOCAL_DIRS name a folder on a larger disk"
    return Finding(what, f"{path}, {_said(free)} free", good=True, todo=todo)


def _said(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB"
