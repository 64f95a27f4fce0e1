"""``gossamer simulate``: run a scenario, write its traces, print what came out."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from gossamer.cli import running
from gossamer.cli.progress import Progress
from gossamer.errors import DataError
from gossamer.scenario.toml import load, presets
from gossamer.sim.memory import said
from gossamer.sim.run import CHECKPOINT, StoppedError, needs
from gossamer.trace.folder import Run

__all__ = ["configure", "run"]

_MOST_DATES: Final = 15
"""Lines of dates in the table; more of them are for tables and figures."""
_DESCRIPTION: Final = """\
Run a scenario: a TOML file, or a preset by its name. Each case of it is run with
each of its seeds, and each run gets a folder in DIR: tables as Parquet,
scenario.toml, run.json.

Ctrl-C stops after the cycle under way and leaves a checkpoint; the same command
with --resume goes on from there and skips the runs that are done. One that was
killed goes on from its last checkpoint. The outcome is the same to the last byte.

  gossamer simulate rings --out rings --set population.nodes=1000 --seed 1
  gossamer simulate mine.toml --out mine --set crashes.0.share=0.5 --json
"""
_COLUMNS: Final = (
    ("links", "links_in_place", ".4f"),
    ("rings", "rings_complete", ".4f"),
    ("all at", "complete_at", "d"),
    ("hit ratio", "hit_ratio", ".4f"),
    ("spam", "spam", ".4f"),
    ("copies", "copies_per_delivery", ".2f"),
    ("control", "control_per_delivery", ".2f"),
    ("hops", "mean_hops", ".2f"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of the verb."""
    parser.description = _DESCRIPTION
    parser.epilog = "presets:\n" + textwrap.fill(" ".join(presets()), 80, initial_indent="  ", subsequent_indent="  ")
    parser.add_argument("scenario", metavar="SCENARIO", help="a TOML file, or the name of a preset")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="where the runs' folders go")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="put a setting over each case")
    parser.add_argument("--seed", action="append", type=running.seed, default=[], metavar="N", help="instead of the scenario's")
    running.threading(parser)
    running.going_on(parser)
    parser.add_argument(
        "--checkpoint", type=running.whole(0, 1 << 20), default=running.CHECKPOINT_EVERY, metavar="CYCLES",
        help=f"leave a checkpoint after so many cycles ({running.CHECKPOINT_EVERY}); 0: only when stopped",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one object, and no progress")


def run(args: argparse.Namespace) -> int:
    """Make every run that is asked for."""
    todo = running.jobs(load(args.scenario, args.set), args.seed, args.out)
    memory = max(needs(job.scenario).total for job in todo)
    if args.resume and not any(_begun(job) for job in todo):
        raise DataError(f"{args.out}: no run of this scenario was begun here\nHint: leave out --resume")
    running.make_room(args.out, todo, replace=args.replace)
    finished: list[tuple[running.Job, Run]] = []
    with running.stoppable() as stop, Progress(quiet=args.json) as progress:
        progress.say(f"-- {len(todo)} run{'s' if len(todo) > 1 else ''}, up to {said(memory)} of memory")
        try:
            made = running.carry_out(todo, args, progress, stop, resume=args.resume, every=args.checkpoint)
            finished.extend((job, found) for job, found, _ in made)
        except StoppedError as stopped:
            progress.wipe()
            print(f"gossamer: {stopped}; to go on from there:\n  {running.again(args.words)}", file=sys.stderr)
            return running.INTERRUPTED
    if args.json:
        print(json.dumps({"scenario": args.scenario, "memory_bytes": memory, "runs": [_told(*one) for one in finished]}))
    else:
        print("\n".join(_table(finished)))
    return 0


def _begun(job: running.Job) -> bool:
    return job.folder is not None and ((job.folder / CHECKPOINT).exists() or running.done_before(job) is not None)


def _told(job: running.Job, found: Run) -> Mapping[str, Any]:
    """A run for programs."""
    return {
        "name": job.name,
        "seed": job.seed,
        "folder": str(job.folder),
        "config": found.config,
        "state": found.state,
        "metrics": found.metrics,
    }


def _table(finished: Sequence[tuple[running.Job, Run]]) -> list[str]:
    """Runs for people: a line each, with the columns that some of them have."""
    columns = [it for it in _COLUMNS if any(found.metrics.get(it[1]) is not None for _, found in finished)]
    width = max((len(job.name) for job, _ in finished), default=0)
    lines = [" ".join([f"{'':<{width}}", *(f"{title:>{_wide(title)}}" for title, _, _ in columns)])]
    for job, found in finished:
        cells = [f"{job.name:<{width}}"]
        for title, name, form in columns:
            value = found.metrics.get(name)
            cells.append(f"{'-' if value is None else format(value, form):>{_wide(title)}}")
        lines.append(" ".join(cells))
        lines += [f"  {line}" for line in _more(found.metrics)]
    return lines


def _wide(title: str) -> int:
    """A column holds its title, and 1.0000."""
    return max(len(title), 6)


def _more(metrics: Mapping[str, Any]) -> list[str]:
    """Lines on what only some scenarios ask."""
    lines = []
    dates = metrics.get("dissemination", {})
    for date, it in dates.items() if len(dates) <= _MOST_DATES else ():
        lines.append(
            f"  cycle {date:>4}: hit ratio {it['hit_ratio']:.4f}, complete {it['complete']:.4f}, spam {it['spam']:.4f}"
        )
    joins = metrics.get("joins", {})
    for way, it in joins.get("subscriber", {}).items():
        lines.append(f"  rejoins, {way.replace('_', ' ')}: {it['done']} of {it['tried']}, cycles {_quantiles(it)}")
    if "publisher" in joins:
        it = joins["publisher"]
        lines.append(f"  publishers: {it['done']} of {it['tried']}, cycles {_quantiles(it)}, within 5: {it['within_5']:.4f}")
    for wanted, it in metrics.get("nobody", {}).items():
        lines.append(f"  wanted by {wanted}: {it['said_nobody']} of {it['asked']} publishers said that nobody wants it")
    return lines


def _quantiles(it: Mapping[str, Any]) -> str:
    named = ((name, it[name]) for name in ("p50", "p90", "p99", "max"))
    return ", ".join(f"{name} {'-' if value is None else format(value, 'g')}" for name, value in named)
