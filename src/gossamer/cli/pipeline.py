"""``gossamer pipeline``: the whole way on Spark, or one part of it: a sweep, the measuring of traces, a stream of them."""

from __future__ import annotations

import argparse
import difflib
import json
import shlex
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gossamer import __version__
from gossamer.cli import overlay, running, streaming
from gossamer.cli.progress import Progress, spoken
from gossamer.errors import CallerError, MissingExtraError
from gossamer.report.measured import Measured, table, write
from gossamer.scenario.toml import leaves, load, to_dict

if TYPE_CHECKING:
    from gossamer.pipeline.flow import Told
    from gossamer.pipeline.sweep import Task

__all__ = ["configure", "on_spark", "require_extra", "run"]

_DESCRIPTION: Final = "Run scenarios on Spark and measure what came out; on this machine, or on a cluster."
_RUN: Final = """\
The whole way: who wants what and what is published, who should receive what, what
happens, what it amounts to, and a page of figures. Each case is run with each seed.

  gossamer pipeline run rings --out rings --set population.nodes=2000
  gossamer pipeline run mine.toml --out mine --master spark://host:7077

DIR/manifest.json says of each table how many rows it has and their hash: the same
scenario, seeds and version give the same ones anywhere. The same command again goes
on where the last one was stopped.
"""
_SWEEP: Final = """\
Every combination of the settings given, with every seed: one whole run a task, the
longest first. Runs that are done are skipped when the command is given again.

  gossamer pipeline sweep rings --set population.nodes=500,1000,2000 --seeds 1 2 3 --out sweep
  gossamer pipeline measure sweep --by population.nodes
"""
_MEASURE: Final = """\
The metrics of all runs in DIR and below it: of gossamer simulate, of a sweep, or of
a live swarm. With --by they are meant over the runs that share a setting.

  gossamer pipeline measure rings --json
  gossamer pipeline measure sweep --by population.nodes --by form --out metrics
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of the verb, and of its parts."""
    parser.description = _DESCRIPTION
    parts = parser.add_subparsers(dest="part", metavar="PART", title="parts", required=True)
    for name, description, arguments in (
        ("run", _RUN, _of_run),
        ("sweep", _SWEEP, _of_sweep),
        ("measure", _MEASURE, _of_measure),
        ("simulate", overlay.DESCRIPTION, overlay.configure),
        *((name, description, arguments) for name, (description, arguments, _) in streaming.PARTS.items()),
    ):
        first = description.split("\n\n", maxsplit=1)[0].replace("\n", " ")
        kind = argparse.RawDescriptionHelpFormatter
        part = parts.add_parser(name, help=first, description=description, formatter_class=kind)
        arguments(part)
        part.add_argument("--json", action="store_true", help="print one object, and no progress")
        on_spark(part)


def on_spark(parser: argparse.ArgumentParser) -> None:
    """The arguments on where Spark runs."""
    parser.add_argument("--master", metavar="URL", help="where: local[2], spark://host:7077, sc://host:15002 (local[*])")
    parser.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark's")


def _of_run(parser: argparse.ArgumentParser) -> None:
    _what(parser)
    parser.add_argument("--replace", action="store_true", help="put new runs in the place of others that are there")


def _of_sweep(parser: argparse.ArgumentParser) -> None:
    _what(parser)
    parser.add_argument("--replace", action="store_true", help="put new runs in the place of others that are there")


def _what(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scenario", metavar="SCENARIO", help="a TOML file, or the name of a preset")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="where everything goes")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE[,VALUE...]",
        help="put a setting over each case, or each of some",
    )
    parser.add_argument("--seeds", type=running.seed, nargs="+", default=[], metavar="N", help="instead of the scenario's")


def _of_measure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="runs, or folders that hold runs")
    parser.add_argument("--by", action="append", default=[], metavar="KEY", help="mean over runs that share this setting")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where the metrics go, as Parquet; a new folder")


def run(args: argparse.Namespace) -> int:
    """Do one of the parts."""
    require_extra()
    parts = {"run": _run, "sweep": _sweep, "measure": _measure, "simulate": overlay.run}
    parts |= {name: do for name, (_, _, do) in streaming.PARTS.items()}
    return parts[args.part](args)


def require_extra() -> None:
    """Refuse where there is no Spark, before anything imports it."""
    if find_spec("pyspark") is None:
        raise MissingExtraError("pipeline", "the data pipeline")


def _tasks(args: argparse.Namespace, place: Path) -> tuple[list[Task], list[running.Job]]:
    """A run for each case, each combination of settings and each seed."""
    from gossamer.pipeline.sweep import Task, variants  # noqa: PLC0415  (an extra, as everywhere below)

    several = {setting.partition("=")[0] for setting in args.set if len(variants([setting])) > 1}
    scenarios = []
    for chosen in variants(args.set):
        # What they differ in is a part of the name, and so of the folder.
        parts = [setting.replace("/", "-") for setting in chosen if setting.partition("=")[0] in several]
        scenarios += [replace(it, name="/".join([it.name, *parts])) for it in load(args.scenario, chosen)]
    todo = running.jobs(scenarios, args.seeds, place)
    tasks = [Task(it.name, it.scenario, it.seed, it.folder) for it in todo if it.folder is not None]
    return tasks, todo


def _run(args: argparse.Namespace) -> int:
    """The whole way."""
    from gossamer.pipeline.flow import begun, flow  # noqa: PLC0415
    from gossamer.pipeline.session import parsed, session  # noqa: PLC0415

    conf = parsed(args.conf)
    tasks, todo = _tasks(args, args.out / "runs")
    manifest = begun(args.out, tasks, Path(args.scenario).name, replace=args.replace)
    running.make_room(args.out, todo, replace=args.replace)
    begin = time.monotonic()
    with Progress(quiet=args.json) as progress:
        progress.say(f"-- {len(tasks)} run{'s' * (len(tasks) > 1)} on {args.master or 'local[*]'}")
        with session(master=args.master, conf=conf) as spark:
            found = flow(spark, tasks, args.out, manifest, tell=_Telling(progress))
        seeds = ", ".join(str(it) for it in sorted({it.seed for it in tasks}))
        note = f"{len(tasks)} runs of {args.scenario}, seeds {seeds}, gossamer {__version__}"
        agreed = "agree on how many want each event" if not found.disagreements else "DISAGREE on some events"
        also = [f"The truth, judged apart, and the simulator {agreed}."]
        command = shlex.join(["gossamer", *args.words])
        for missing in write(args.out, found.measured, _question(tasks), note, command, also=also):
            progress.say(f"-- {missing}; the page has its table alone")
        progress.say(f"-- report    {args.out / 'index.html'}, {spoken(time.monotonic() - begin)} in all")
    if args.json:
        runs = [{"run": it.name, "seed": it.seed, "metrics": it.metrics} for it in found.measured]
        print(json.dumps({**found.manifest, "disagreements": found.disagreements, "metrics": runs}))
    else:
        print("\n".join(lined(found.measured)))
    return 1 if found.disagreements else 0


def _question(tasks: Sequence[Task]) -> str:
    """What a page of these runs is about."""
    names = list(dict.fromkeys(it.scenario.name for it in tasks))
    title = names[0].split("/")[0]
    return title if len(names) == 1 else f"{title}: {', '.join(name.partition('/')[2] for name in names[:4])}"


class _Telling:
    """A bar a stage, and a line that stays when it is over."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.stage, self.begun = progress, "", time.monotonic()
        self.last: Told | None = None

    def __call__(self, told: Told) -> None:
        if told.stage != self.stage:
            self.stage, self.begun = told.stage, time.monotonic()
            self.progress.begin()
        words = f"{told.stage}  {told.done}/{told.total}  {told.rows:,} rows  {told.what}"
        self.progress.show(told.done / max(told.total, 1), words)
        if told.over:
            took = "done before" if told.skipped else spoken(time.monotonic() - self.begun)
            self.progress.say(f"-- {told.stage:<9} {told.rows:,} rows, {took}")


def lined(runs: Sequence[Measured], width: int | None = None) -> list[str]:
    """The table in lines: a block for each case, its scenarios side by side, as many as fit the terminal."""
    room = (width or shutil.get_terminal_size().columns) - 1
    cases: dict[str, list[Measured]] = {}
    for it in runs:
        cases.setdefault(it.scenario.name.rpartition("/")[0], []).append(it)
    found: list[str] = []
    for case, them in cases.items():
        titles, lines = table(them)
        columns = [["", *titles[1:]], *([line[0].rpartition("/")[2], *line[1:]] for line in lines)]
        wide = [max(map(len, column)) + 1 for column in columns]
        found += [case] * bool(case)
        first = 1
        while first < len(columns):
            last = first + 1
            while last < len(columns) and wide[0] + sum(wide[first : last + 1]) <= room:
                last += 1
            for n, title in enumerate(columns[0]):
                cells = (f"{column[n]:>{wide[first + k]}}" for k, column in enumerate(columns[first:last]))
                found.append(f"{title:<{wide[0]}}{''.join(cells)}".rstrip())
            first = last
    return found


def _sweep(args: argparse.Namespace) -> int:
    """Many runs."""
    from gossamer.pipeline.session import parsed, session  # noqa: PLC0415
    from gossamer.pipeline.sweep import results, sweep  # noqa: PLC0415

    conf = parsed(args.conf)
    tasks, todo = _tasks(args, args.out / "runs")
    running.make_room(args.out, todo, replace=args.replace)
    with Progress(quiet=args.json) as progress:
        progress.say(f"-- {len(tasks)} run{'s' * (len(tasks) > 1)} on {args.master or 'local[*]'}")
        progress.begin()

        def tell(done: int, total: int, what: str) -> None:
            progress.show(done / total, f"{done}/{total} runs  {what}")

        with session(master=args.master, conf=conf) as spark:
            found = sweep(spark, tasks, tell=tell)
            results(spark, tasks, args.out / "results")
    runs = [Measured(it.name, it.scenario, it.seed, it.folder, leaves(of.metrics)) for it, of in zip(tasks, found, strict=True)]
    if args.json:
        told = [{"run": it.name, "seed": it.seed, "folder": str(it.folder), "metrics": it.metrics} for it in runs]
        print(json.dumps({"runs": told}))
    else:
        print("\n".join(lined(runs)))
    return 0


def _near(name: str, known: set[str]) -> str:
    close = difflib.get_close_matches(name, known, 1, 0.4)
    return f"did you mean '{close[0]}'?" if close else "population.nodes, system, seed and all else in a scenario.toml"


def _measure(args: argparse.Namespace) -> int:
    """The metrics of runs that are there."""
    from gossamer.pipeline.failures import told  # noqa: PLC0415
    from gossamer.pipeline.measure import grouped, metrics  # noqa: PLC0415
    from gossamer.pipeline.session import parsed, session  # noqa: PLC0415
    from gossamer.pipeline.traces import find, runs  # noqa: PLC0415

    conf, found = parsed(args.conf), find(args.folders)
    known = {"seed", "run"}.union(*(leaves(to_dict(it.scenario)) for it in found))
    for name in args.by:
        if name not in known:
            raise CallerError(f"--by {name}: no such setting in these runs\nHint: {_near(name, known)}")
    if args.out is not None and args.out.exists():
        raise CallerError(f"{args.out}: is there already\nHint: choose another --out")
    with Progress(quiet=args.json) as progress, session(master=args.master, conf=conf) as spark, told("measuring"):
        progress.say(f"-- {len(found)} run{'s' * (len(found) > 1)}")
        rows = metrics(spark, found)
        rows = grouped(rows, runs(spark, found), args.by) if args.by else rows
        order = [*args.by, "metric"] if args.by else ["run", "metric"]
        ordered = rows.sort(*(f"`{name}`" for name in order))
        # Some dozens of numbers a run, or a group of runs.
        lines = [row.asDict() for row in ordered.collect()]
        if args.out is not None:
            partial = args.out.with_name(f".{args.out.name}.partial")
            spark.createDataFrame(lines, rows.schema).coalesce(1).write.mode("overwrite").parquet(str(partial))
            partial.rename(args.out)
    if args.json:
        print(json.dumps({"metrics": lines}))
    else:
        for line in lines:
            head = "  ".join(str(line[name]) for name in order)
            value = line["mean"] if args.by else line["value"]
            more = f"  ({line['least']:g}-{line['most']:g}, {line['runs']} runs)" if args.by else ""
            print(f"{head}  {'-' if value is None else format(value, '.6g')}{more}")
        sys.stdout.flush()
    return 0
