"""``gossamer compare``: every system there is, faithful and better, on one workload, in one table."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gossamer import __version__
from gossamer.cli import running
from gossamer.cli.pipeline import lined, on_spark, require_extra
from gossamer.cli.progress import Progress
from gossamer.errors import CallerError, DataError, ScenarioError
from gossamer.report.measured import Measured, write
from gossamer.scenario.given import save
from gossamer.scenario.scenario import Scenario
from gossamer.scenario.toml import leaves, load
from gossamer.sim.run import needs
from gossamer.system.catalogue import SYSTEMS

if TYPE_CHECKING:
    from gossamer.pipeline.ownworld import OwnWorld

__all__ = ["configure", "contestants", "run"]

_MOST: Final = 10_000
FORMS: Final = ("faithful", "better")
_DESCRIPTION: Final = """\
Run every system, faithful and better, on the workload of a scenario: the same nodes,
interests, events and mishaps. One line each: what it delivered, and what that cost.
With --master the runs are shared out by Spark; the figures are the same.

With --events and --interests the workload is your own: each filter is a node, its
boxes are its subscriptions, and the scenario says only what else happens and when.

  gossamer compare dissemination --set population.nodes=2000
  gossamer compare crash --out crash --seeds 1 2 3 --master local[2]
  gossamer compare dissemination --events quakes.csv --interests filters.txt
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of the verb."""
    parser.description = _DESCRIPTION
    parser.add_argument("scenario", metavar="SCENARIO", help="a TOML file, or the name of a preset")
    parser.add_argument("--systems", nargs="+", metavar="NAME", help="these alone: " + ", ".join(sorted(SYSTEMS)))
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="put a setting over each case")
    parser.add_argument("--seeds", type=running.seed, nargs="+", default=[], metavar="N", help="instead of the scenario's")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where runs, figures and the page go")
    parser.add_argument("--events", nargs="+", metavar="FILES", help="your own events: CSV, JSON lines, Parquet")
    parser.add_argument("--interests", type=Path, metavar="FILE", help="your own filters, one a line")
    parser.add_argument("--schema", type=Path, metavar="FILE", help="fields as TOML or JSON, instead of inferring them")
    parser.add_argument(
        "--most",
        type=running.whole(1, 1 << 24),
        default=_MOST,
        metavar="N",
        help=f"take so many events at most, evenly ({_MOST})",
    )
    parser.add_argument("--on-error", choices=("fail", "skip"), default="fail", help="what a bad row or filter does (fail)")
    running.threading(parser)
    running.going_on(parser)
    on_spark(parser)
    parser.add_argument("--json", action="store_true", help="print one object, and no progress")


def run(args: argparse.Namespace) -> int:
    """Run them all, and set them beside each other."""
    if args.out is None and (args.resume or args.replace):
        raise CallerError("nothing is kept without --out\nHint: --out DIR")
    if (args.events is None) != (args.interests is None):
        raise CallerError("your own world needs both events and interests\nHint: --events FILES --interests FILE")
    wanted = load(args.scenario, args.set)
    own = None if args.events is None else _own(args)
    if own is not None:
        wanted = [_inhabited(it, own) for it in wanted]
    scenarios = contestants(wanted, args.systems)
    with _place(args.out) as place, running.stoppable() as stop, Progress(quiet=args.json) as progress:
        runs = place / "runs" if own is None else place / "runs" / own.name
        todo = running.jobs(scenarios, args.seeds, runs)
        if own is not None:
            save(place / "world.npz", own.interests, own.published)
            todo = [job._replace(world=place / "world.npz") for job in todo]
            progress.say(
                f"-- your own: {own.interests.node[-1] + 1} filters, {own.published.points.shape[0]} of {own.events} events"
            )
            if own.only_in_box:
                progress.say(
                    f"-- {own.only_in_box} deliveries lie in a filter's boxes and do not match its text: refused at last"
                )
        for job in todo:
            needs(job.scenario)
        running.make_room(place, todo, replace=args.replace)
        progress.say(f"-- {len(todo)} runs, {len(scenarios)} systems and forms")
        found = _on_spark(todo, args, progress) if args.master or args.conf else _here(todo, args, progress, stop)
        if args.out is not None:
            seeds = ", ".join(str(it) for it in sorted({job.seed for job in todo}))
            note = f"{len(todo)} runs of {args.scenario}, seeds {seeds}, gossamer {__version__}"
            command = shlex.join(["gossamer", *args.words])
            for missing in write(args.out, found, f"Which system for {args.scenario}?", note, command):
                progress.say(f"-- {missing}; the page has its table alone")
            progress.say(f"-- {args.out / 'index.html'}")
        if args.json:
            apart = {} if own is None else {"only_in_box": own.only_in_box}
            print(json.dumps({"scenario": args.scenario, **apart, "runs": [_told(it) for it in found]}))
        else:
            print("\n".join(lined(found)))
    return 0


def _own(args: argparse.Namespace) -> OwnWorld:
    """The user's own world, from files."""
    from gossamer.pipeline.ownworld import read  # noqa: PLC0415  (only who has data of his own waits for its readers)

    found = read(args.events, args.interests, args.schema, args.most)
    if found.bad_count:
        lines = [f"{found.bad_count} rows and filters cannot be taken:", *(f"  {line}" for line in found.bad)]
        if args.on_error == "fail":
            raise DataError("\n".join([*lines, "Hint: mend them, or --on-error skip goes on without them"]))
        print("\n".join(["gossamer: skipped", *lines]), file=sys.stderr)
    return found


def _inhabited(scenario: Scenario, own: OwnWorld) -> Scenario:
    """A scenario whose nodes and events are the given ones."""
    boxes, points = own.interests.boxes, own.published.points
    people = replace(scenario.population, nodes=int(own.interests.node[-1]) + 1, attributes=boxes.shape[2], centre=("power",))
    events = replace(scenario.events, count=points.shape[0])
    publishers = replace(scenario.publishers, count=0, nobody=0)
    return replace(scenario, population=people, events=events, publishers=publishers, changes=())


def contestants(scenarios: Sequence[Scenario], names: Sequence[str] | None = None) -> list[Scenario]:
    """Each scenario with every system in every form; settings of layers that a system lacks are left out for it."""
    for name in names or ():
        if name not in SYSTEMS:
            raise ScenarioError("system", f"found {name!r}", hint="expected one of " + ", ".join(sorted(SYSTEMS)))
    found = []
    for it in scenarios:
        for system in sorted(names or SYSTEMS):
            for form in FORMS:
                layers = SYSTEMS[system](form)
                params = {layer: table for layer, table in it.params.items() if layer in layers}
                found.append(replace(it, name=f"{it.name}/{system}-{form}", system=system, form=form, params=params))
    return found


@contextmanager
def _place(out: Path | None) -> Iterator[Path]:
    """The folder of the runs; one for the moment when none is asked for."""
    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="gossamer-") as folder:
        yield Path(folder)


def _here(todo: Sequence[running.Job], args: argparse.Namespace, progress: Progress, stop: Any) -> list[Measured]:  # noqa: ANN401
    """One after the other, in this process."""
    made = running.carry_out(todo, args, progress, stop, resume=args.resume)
    return [_measured(job, found.metrics) for job, found, _ in made]


def _on_spark(todo: Sequence[running.Job], args: argparse.Namespace, progress: Progress) -> list[Measured]:
    """A task each."""
    require_extra()
    from gossamer.pipeline.session import parsed, session  # noqa: PLC0415  (an extra)
    from gossamer.pipeline.sweep import Task, sweep  # noqa: PLC0415

    tasks = [Task(job.name, job.scenario, job.seed, job.folder, job.world) for job in todo if job.folder is not None]
    progress.begin()

    def tell(done: int, total: int, what: str) -> None:
        progress.show(done / total, f"{done}/{total} runs  {what}")

    with session(master=args.master, conf=parsed(args.conf)) as spark:
        found = sweep(spark, tasks, tell=tell)
    return [_measured(job, of.metrics) for job, of in zip(todo, found, strict=True)]


def _measured(job: running.Job, metrics: Any) -> Measured:  # noqa: ANN401  (a tree of numbers)
    assert job.folder is not None  # noqa: S101
    return Measured(job.name, job.scenario, job.seed, job.folder, leaves(metrics))


def _told(it: Measured) -> dict[str, Any]:
    return {"system": it.scenario.system, "form": it.scenario.form, "run": it.name, "seed": it.seed, "metrics": it.metrics}
