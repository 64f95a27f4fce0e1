"""``gossamer pipeline simulate``: one overlay too big for a machine, cut into blocks that Spark's workers take in turn."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gossamer.cli import running
from gossamer.cli.progress import Progress
from gossamer.errors import CallerError
from gossamer.scenario.toml import load

if TYPE_CHECKING:
    from gossamer.pipeline.overlay import Simulated
    from gossamer.sim.run import Report

__all__ = ["DESCRIPTION", "configure", "run"]

DESCRIPTION: Final = """\
Run a scenario as gossamer simulate does, to the same last byte, but cut into blocks:
a task a block and a tick. Rows and messages lie in DIR between the ticks, which all
machines have to see; or, with --exchange shuffle, in what Spark can write to.

The same command again goes on after the last finished cycle, whoever was killed, and
skips runs that are done. Rejoins, publishers and events that travel together with the
gossip are refused; events that wait for it (events.frozen) spread in one task.

  gossamer pipeline simulate rings --out rings --set population.nodes=2000 --seed 1
  gossamer pipeline simulate big.toml --out /shared/big --blocks 64 --master spark://host:7077
  gossamer pipeline simulate big.toml --out big --exchange shuffle --spool hdfs:///tmp/big
"""
_BLOCKS: Final = 8
_EXCHANGES: Final = ("files", "shuffle")


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of this part; those on Spark and --json are added for all parts alike."""
    parser.add_argument("scenario", metavar="SCENARIO", help="a TOML file, or the name of a preset")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="where the runs' folders go")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="put a setting over each case")
    parser.add_argument("--seed", action="append", type=running.seed, default=[], metavar="N", help="instead of the scenario's")
    parser.add_argument(
        "--blocks", type=running.whole(1, 4096), default=_BLOCKS, metavar="B", help=f"parts to cut the rows into ({_BLOCKS})"
    )
    parser.add_argument("--exchange", choices=_EXCHANGES, default=_EXCHANGES[0], help="who carries messages (files)")
    parser.add_argument("--spool", metavar="URL", help="shuffled: where rows lie between ticks (in DIR)")


def run(args: argparse.Namespace) -> int:
    """Make every run that is asked for, one after the other."""
    from gossamer.pipeline.overlay import simulate  # noqa: PLC0415  (an extra)
    from gossamer.pipeline.session import parsed, session  # noqa: PLC0415

    if args.spool is not None and args.exchange != "shuffle":
        raise CallerError("--spool: only where messages are shuffled\nHint: --exchange shuffle")
    todo, conf = running.jobs(load(args.scenario, args.set), args.seed, args.out), parsed(args.conf)
    running.make_room(args.out, todo, replace=False)
    found: list[tuple[running.Job, Simulated]] = []
    with Progress(quiet=args.json) as progress, session(master=args.master, conf=conf) as spark:
        for n, job in enumerate(todo):
            assert job.folder is not None  # noqa: S101  (--out is required)
            # Each run has a place of its own in what is shuffled, or two would write over one another.
            spool = args.spool if args.spool is None else f"{args.spool}/{n}"
            tell = _Telling(progress, job.name, n, len(todo))
            done = simulate(
                spark, job.scenario, job.seed, job.folder, blocks=args.blocks, exchange=args.exchange, spool=spool, tell=tell
            )
            found.append((job, done))
    if args.json:
        print(json.dumps({"scenario": args.scenario, "runs": [_told(job, done) for job, done in found]}))
    else:
        print("\n".join(_line(job, done) for job, done in found))
    return 0


class _Telling:
    """Shows each report of a run as a part of all runs."""

    def __init__(self, progress: Progress, name: str, number: int, total: int) -> None:
        self.progress, self.name, self.number, self.total = progress, name, number, total

    def __call__(self, report: Report) -> None:
        """Show it."""
        words = [self.name, f"cycle {report.cycle}/{report.cycles}"]
        if report.doing != "gossip":
            words.append(report.doing)
        elif report.rings_complete is not None:
            words.append(f"rings {report.rings_complete:.1%}")
        self.progress.show((self.number + report.cycle / report.cycles) / self.total, "  ".join(words))


def _told(job: running.Job, done: Simulated) -> dict[str, Any]:
    """A run for programs."""
    cost = done.cost
    return {
        "name": job.name,
        "seed": job.seed,
        "folder": str(job.folder),
        "state": done.outcome.state,
        "metrics": done.outcome.metrics,
        "supersteps": cost.supersteps,
        "supersteps_left_out": cost.left_out,
        "mail_bytes": cost.mail_bytes,
        "state_bytes": cost.state_bytes,
    }


def _line(job: running.Job, done: Simulated) -> str:
    """A run for people."""
    words = [job.name]
    for title, name in (("links", "links_in_place"), ("rings", "rings_complete"), ("hit ratio", "hit_ratio")):
        if (value := done.outcome.metrics.get(name)) is not None:
            words.append(f"{title} {value:.4f}")
    if done.cost.supersteps:
        of_each = done.cost.per_row_and_cycle(done.rows, job.scenario.cycles)
        words.append(f"{of_each['mail_bytes']:.0f} bytes of mail a row and cycle in {done.cost.supersteps} supersteps")
    return "  ".join([*words, f"state {done.outcome.state}"])
