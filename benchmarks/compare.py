"""What a change does: the same scenarios simulated with the sources of a git commit and with those of the checkout.

    python3 run.py compare HEAD~1
    python3 run.py compare main --scenario rings --set population.nodes=2000 --all

Every metric of ``gossamer simulate --json`` stands beside its other self, and so do the CPU seconds: speed is read beside hit
ratio, never alone. The trees take turns, so that a busy machine slows both; the least of the repeats counts. Kernels are
compiled before.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["main", "metrics", "table"]

ROOT = Path(__file__).resolve().parent.parent
SCENARIOS = ("rings", "crash", "loss")
SMALL = ("population.nodes=1000", "events.count=1000")
CPU = "cpu_s"


def metrics(found: object, name: str = "") -> Iterator[tuple[str, float]]:
    """Every number in a JSON value, by its dotted path; parts of a list go by their name where they have one."""
    if isinstance(found, bool | int | float):
        yield name, float(found)
    elif isinstance(found, dict):
        for key, value in found.items():
            yield from metrics(value, f"{name}.{key}" if name else str(key))
    elif isinstance(found, list):
        for i, value in enumerate(found):
            own = value.get("name", i) if isinstance(value, dict) else i
            yield from metrics(value, f"{name}.{own}" if name else str(own))


def table(base: dict[str, float], here: dict[str, float], *, everything: bool) -> list[str]:
    """Lines of metric, base, here, change; metrics that are equal are left out unless everything is asked for."""
    lines = []
    for name in [*base, *(name for name in here if name not in base)]:
        one, other = base.get(name), here.get(name)
        if one == other and not everything and not name.endswith(CPU):
            continue
        change = f"{(other - one) / abs(one):+9.1%}" if one and other is not None else "         "
        shown = [f"{'-' if value is None else format(value, '.6g'):>12}" for value in (one, other)]
        lines.append(f"{name:<48} {shown[0]} {shown[1]} {change}".rstrip())
    return lines


def unpack(commit: str, folder: Path) -> Path:
    """The sources of a commit, laid into a folder."""
    packed = subprocess.run(["git", "archive", "--format=zip", commit, "src"], cwd=ROOT, capture_output=True, check=False)
    if packed.returncode != 0:
        raise SystemExit(f"compare: git knows no sources of '{commit}': {packed.stderr.decode().strip()}")
    with zipfile.ZipFile(io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder)
    return folder / "src"


def python(source: Path, *words: str) -> tuple[str, float]:
    """What Python printed with these sources first on its path, and the CPU seconds it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    settings = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run([sys.executable, *words], env=settings, stdout=subprocess.PIPE, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(f"compare: exit code {done.returncode} from {source}: {' '.join(words)}")
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def simulate(source: Path, scenario: str, sets: list[str], out: Path) -> dict[str, float]:
    """The metrics of one scenario with one tree."""
    settings = [word for setting in sets for word in ("--set", setting)]
    asked = ["-m", "gossamer.cli.main", "simulate", scenario, "--out", str(out), "--json", *settings]
    printed, cpu_s = python(source, *asked)
    return {**dict(metrics(json.loads(printed), scenario)), f"{scenario}.{CPU}": cpu_s}


def best(trees: tuple[Path, Path], scenario: str, sets: list[str], repeats: int) -> list[dict[str, float]]:
    """The metrics of a scenario with each tree, of the run that took the least CPU time."""
    runs: list[list[dict[str, float]]] = [[], []]
    for _ in range(repeats):
        for which, tree in enumerate(trees):
            with tempfile.TemporaryDirectory() as folder:
                runs[which].append(simulate(tree, scenario, sets, Path(folder) / "out"))
    return [min(of_tree, key=lambda found: found[f"{scenario}.{CPU}"]) for of_tree in runs]


def main(argv: list[str]) -> int:
    """Simulate with both trees and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", help="a git commit to compare with")
    parser.add_argument("--scenario", action="append", help=f"a preset or a file, or several ({', '.join(SCENARIOS)})")
    parser.add_argument("--set", action="append", default=[], help=f"key=value, put over these: {' '.join(SMALL)}")
    parser.add_argument("--repeats", type=int, default=2, help="runs of each; the least CPU time counts (2)")
    parser.add_argument("--all", action="store_true", help="show metrics that are equal, too")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        trees = (unpack(args.base, Path(folder)), ROOT / "src")
        for tree in trees:
            python(tree, "-m", "gossamer.jit")
        print(f"{'':<48} {args.base[:12]:>12} {'here':>12} {'change':>9}")
        for scenario in args.scenario or SCENARIOS:
            base, here = best(trees, scenario, [*SMALL, *args.set], args.repeats)
            print("\n".join(table(base, here, everything=args.all)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
