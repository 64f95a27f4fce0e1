"""The papers at full size: run both forms, and keep in ``docs/papers/`` what its pages show; and the worlds beyond them.

    python3 run.py papers                                   # 10,000 nodes, seeds 1 to 3: some twenty minutes on two cores
    python3 run.py papers --nodes 500 --keep out/small      # to see that it works

Kept are the figures of ``gossamer reproduce`` as they are, and ``numbers.md``, written from its tables: what was run and
when, every world by every seed, every verdict. What is said about them stands in the pages themselves, by hand.

A verdict that fails is kept as it is; the exit code is 1 then, as that of ``gossamer reproduce``.
"""

from __future__ import annotations

import argparse
import datetime as dt
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from gossamer import __version__
from gossamer.measure.delivery import hops_by_length
from gossamer.measure.summary import spread_at
from gossamer.trace.folder import Run, column, read_run, read_table

__all__ = ["main", "numbers"]

ROOT = Path(__file__).resolve().parent.parent
FORMS = ("faithful", "better")
PICTURES = ("rings.png", "dissemination.png")
"""Kept beside the SVGs, for slides."""
BEYOND_NODES = 1_000
JUDGED_AT = 40
"""The paper's cycle."""


def command(form: str, nodes: int | None, seeds: Sequence[int], out: Path | None) -> list[str]:
    """The words after ``gossamer`` that make one form."""
    sized = [] if nodes is None else ["--nodes", str(nodes)]
    where = [] if out is None else ["--out", str(out)]
    return ["reproduce", "sub2sub", "--form", form, *sized, "--seeds", *map(str, seeds), *where]


def worlds(folder: Path) -> Iterator[tuple[str, dict[int, Path]]]:
    """The folders of a reproduction's runs: world by world, seed by seed."""
    for case in sorted(path for path in (folder / "runs").iterdir() if path.is_dir()):
        found = {read_run(path).seed: path for path in case.iterdir() if (path / "run.json").exists()}
        yield case.name, dict(sorted(found.items()))


def numbers(folders: dict[str, Path], nodes: int | None, seeds: Sequence[int], day: str) -> str:
    """The page of numbers, from the folders of the forms."""
    lines = ["# Sub-2-Sub in numbers", "", f"Written by `python3 run.py papers` on {day}, gossamer {__version__}, from", ""]
    lines += [f"    gossamer {' '.join(command(form, nodes, seeds, Path(form)))}" for form in folders]
    for form, folder in folders.items():
        found = [(name, {seed: (read_run(path), path) for seed, path in runs.items()}) for name, runs in worlds(folder)]
        lines += ["", f"## The {form} form, world by world", "", "What differs from seed to seed is told seed by seed.", ""]
        lines += _table(_WORLD, [[name, *_of_world(runs)] for name, runs in found])
        lines += ["", f"## The {form} form, joins", ""]
        lines += _table(_JOIN, [row for name, runs in found for row in _of_joins(name, [run for run, _ in runs.values()])])
        lines += ["", f"## The {form} form, hops by ring length", ""]
        lines += _table(_HOPS, _of_hops([path for name, runs in found if name == "3-power" for _, path in runs.values()]))
        lines += ["", f"## The {form} form, claim by claim", ""]
        lines += _of_verdicts(pq.read_table(folder / "verdicts.parquet").to_pylist())
    return "\n".join([*lines, ""])


_WORLD = (
    "world",
    f"rings complete at {JUDGED_AT}",
    "links 0.999 at cycle",
    "rings 0.999 at cycle",
    "all rings at cycle",
    "hit ratio at the end",
    "spam",
    "ring lengths",
    "2 or 3",
    "copies per delivery",
)
_JOIN = ("world", "who", "tried", "done", "p50", "p90", "p99", "most")
_HOPS = ("ring length", "events", "to the last, mean", "to the last, most", "to any, mean")
_VERDICT = ("world", "ours", "verdict")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def _of_world(runs: dict[int, tuple[Run, Path]]) -> list[str]:
    of = [run.metrics for run, _ in runs.values()]
    lengths = [f"{it['ring_length']['min']}-{it['ring_length']['max']}" for it in of]
    return [
        _each(_rings_at(path, JUDGED_AT) for _, path in runs.values()),
        *(_each(it[name] for it in of) for name in ("links_0.999_at", "rings_0.999_at", "complete_at")),
        _each(it["hit_ratio"] for it in of),
        _each(it["spam"] for it in of),
        _each(lengths),
        f"{np.mean([it['ring_length']['share_of_2_and_3'] for it in of]):.1%}",
        f"{np.mean([it['copies_per_delivery'] for it in of]):.2f}",
    ]


def _rings_at(run: Path, cycle: int) -> float | None:
    table = read_table(run, "links")
    here = column(table, "cycle") == cycle
    if not here.any():
        return None
    return float(column(table, "rings_complete")[here][0] / column(table, "rings_wanted")[here][0])


def _each(values: Iterator[Any] | list[str]) -> str:
    """One value a seed, or the one they share."""
    told = [_said(value) for value in values]
    return told[0] if len(set(told)) == 1 else ", ".join(told)


def _said(value: object) -> str:
    if isinstance(value, float):
        return "1" if value == 1.0 else f"{value:.6g}"
    return "-" if value is None else str(value)


def _of_joins(name: str, runs: list[Run]) -> list[list[str]]:
    rows = []
    for path in (("subscriber", "links_from"), ("subscriber", "links_to"), ("subscriber", "both"), ("publisher",)):
        found = [_inner(run.metrics.get("joins", {}), path) for run in runs]
        if all(found):
            cells = (_each(it[key] for it in found) for key in ("tried", "done", "p50", "p90", "p99", "max"))
            rows.append([name, " ".join(path).replace("_", " "), *cells])
    return rows


def _inner(table: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    for key in path:
        table = table.get(key, {})
    return table


def _of_hops(runs: list[Path]) -> list[list[str]]:
    """Bin by bin, over all seeds: the mean of means weighed by events, the most of the most."""
    bins: dict[int, list[tuple[int, float, int, float]]] = {}
    for run in runs:
        table = read_table(run, "spreads")
        found = hops_by_length(spread_at(table, int(column(table, "cycle").max())))
        for length, *cells in zip(*(found[key] for key in ("length", "events", "last_mean", "last_max", "mean")), strict=True):
            events, last, most, mean = cells
            bins.setdefault(int(length), []).append((int(events), float(last), int(most), float(mean)))
    rows = []
    for length, parts in sorted(bins.items()):
        weights = [events for events, _, _, _ in parts]
        last, mean = (float(np.average([part[k] for part in parts], weights=weights)) for k in (1, 3))
        most = max(part[2] for part in parts)
        rows.append([f"{length}-{2 * length - 1}", f"{sum(weights):,}", f"{last:.2f}", str(most), f"{mean:.2f}"])
    return rows


def _of_verdicts(found: list[dict[str, Any]]) -> list[str]:
    """A table for each claim: its worlds, and the worst of the seeds."""
    lines: list[str] = []
    for statement in dict.fromkeys(it["statement"] for it in found):
        mine = [it for it in found if it["statement"] == statement]
        lines += ["", f"“{statement}” (section {mine[0]['section']}; here: {mine[0]['expected']})", ""]
        judged = {True: "holds", False: "**fails**", None: "-"}
        lines += _table(_VERDICT, [[it["case"], it["ours"], judged[it["holds"]]] for it in mine])
    return lines[1:]


def beyond(out: Path, keep: Path, nodes: int, day: str) -> int:
    """Run the worlds that no paper looks at, and keep their tables."""
    words = ["beyond", "--nodes", str(nodes), "--seeds", "1"]
    done = subprocess.run([sys.executable, "-m", "gossamer.cli.main", *words, "--out", str(out), "--replace"], check=False)
    if done.returncode == 0:
        keep.mkdir(parents=True, exist_ok=True)
        tables = (out / "beyond.md").read_text(encoding="utf-8").partition("\n")[2]
        head = f"# Beyond the papers, in numbers\n\nWritten by `python3 run.py papers` on {day}, gossamer {__version__}, from"
        (keep / "numbers.md").write_text(f"{head}\n\n    gossamer {' '.join(words)}\n{tables}", encoding="utf-8")
    return done.returncode


def main(argv: Sequence[str] | None = None) -> int:
    """Run both forms, and keep what comes out."""
    parser = argparse.ArgumentParser(prog="run.py papers", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--nodes", type=int, help="a smaller world")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "papers" / "sub2sub", help="where runs and pages go")
    parser.add_argument("--keep", type=Path, default=ROOT / "docs" / "papers" / "sub2sub", help="where figures and numbers go")
    parser.add_argument("--resume", action="store_true", help="go on where it was stopped, with the same sources")
    args = parser.parse_args(argv)
    failed, folders = False, {form: args.out / form for form in FORMS}
    for form, folder in folders.items():
        words = [*command(form, args.nodes, args.seeds, folder), "--resume" if args.resume else "--replace"]
        done = subprocess.run([sys.executable, "-m", "gossamer.cli.main", *words], check=False)
        if done.returncode not in {0, 1}:
            return done.returncode
        failed |= done.returncode == 1
    for form, folder in folders.items():
        (args.keep / form).mkdir(parents=True, exist_ok=True)
        for figure in sorted((folder / "figures").iterdir()):
            if figure.suffix == ".svg" or figure.name in PICTURES:
                shutil.copyfile(figure, args.keep / form / figure.name)
    day = dt.datetime.now(tz=dt.UTC).date().isoformat()
    (args.keep / "numbers.md").write_text(numbers(folders, args.nodes, args.seeds, day), encoding="utf-8")
    if (code := beyond(args.out.parent / "beyond", args.keep.parent / "beyond", args.nodes or BEYOND_NODES, day)) != 0:
        return code
    print(f"kept in {args.keep}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
