"""What the verbs that run simulations share: how many threads, where each run's folder is, how Ctrl-C is heard."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

import pyarrow as pa

from gossamer import __version__
from gossamer.cli.progress import Progress
from gossamer.errors import CallerError, DataError, ScenarioError
from gossamer.scenario import given
from gossamer.scenario.scenario import Scenario
from gossamer.scenario.toml import digest, leaves, loads, to_dict, to_toml
from gossamer.sim.run import CHECKPOINT, Options, Report, made_before, run, save
from gossamer.trace.folder import Run, begin_run, read_scenario, read_table

__all__ = [
    "CHECKPOINT_EVERY",
    "INTERRUPTED",
    "Job",
    "again",
    "carry_out",
    "done_before",
    "going_on",
    "jobs",
    "make_room",
    "seed",
    "stoppable",
    "threading",
    "whole",
]

INTERRUPTED: Final = 130
CHECKPOINT_EVERY: Final = 10

_MOST_THREADS: Final = 8
_GOSSIP_SHARE: Final = 0.4
"""Of a run in which rows join again, how much of the time is gone when they begin."""


class Job(NamedTuple):
    """One run to make."""

    scenario: Scenario
    seed: int
    folder: Path | None
    """Where its tables go; None when nobody wants them."""
    world: Path | None = None
    """Interests and events that were given (``scenario.given.save``), in the place of drawn ones."""

    @property
    def name(self) -> str:
        """What it is called: scenario, case and seed."""
        return f"{self.scenario.name}/{self.seed}"


def jobs(scenarios: Sequence[Scenario], seeds: Sequence[int], out: Path | None) -> list[Job]:
    """A run for each scenario and seed, in a folder by its case and seed."""
    twice = {number for number in seeds if list(seeds).count(number) > 1}
    if twice:
        raise CallerError(f"seed {min(twice)} is given twice")
    found = []
    for scenario in scenarios:
        case = scenario.name.split("/")[1:]
        for number in seeds or scenario.seeds:
            folder = None if out is None else out.joinpath(*(_plain(part) for part in case), f"seed-{number}")
            found.append(Job(scenario, number, folder))
    taken = [job.folder for job in found if job.folder is not None]
    if len(set(taken)) < len(taken):
        raise CallerError("two runs would share a folder\nHint: give each case a name of its own, and each seed once")
    return found


def _plain(part: str) -> str:
    """A name as a folder: no separators, no way up."""
    safe = "".join(sign if sign.isalnum() or sign in "._- " else "-" for sign in part).strip(". ")
    return safe or "case"


def make_room(out: Path, todo: Sequence[Job], *, replace: bool) -> None:
    """Find out before any work is done whether its outcome can be written, and would not take another run's place."""
    for job in todo:
        other = None if job.folder is None or replace else _other(job.folder, job.scenario)
        if other is not None:
            raise DataError(f"{job.folder}: holds another run: {other}\nHint: choose another --out, or --replace what is there")
    try:
        out.mkdir(parents=True, exist_ok=True)
        for folder in (out, *(job.folder for job in todo if job.folder is not None)):
            # The nearest folder that there is has to take files.
            place = next(it for it in (folder, *folder.parents) if os.path.lexists(it))
            with tempfile.TemporaryFile(dir=place):
                pass
    except OSError as error:
        raise DataError(f"{out}: cannot be written ({error.strerror or error})\nHint: choose another --out") from error


def _other(folder: Path, scenario: Scenario) -> str | None:
    """How the run in a folder, finished or begun, differs from this one; None where it does not, or none is there."""
    try:
        found = loads(read_scenario(folder), folder.name)[0]
    except (DataError, ScenarioError):
        return None
    there, here = leaves(to_dict(found)), leaves(to_dict(scenario))
    differ = (path for path in [*here, *there] if there.get(path) != here.get(path))
    path = next((path for path in differ if path.split(".")[0] not in {"name", "seeds"}), None)
    return None if path is None else f"its {path} is {there.get(path, 'not set')}, not {here.get(path, 'set')}"


def done_before(job: Job) -> Run | None:
    """What stands in a job's folder, when it is a finished run of just this."""
    return None if job.folder is None else made_before(job.folder, job.scenario, job.seed)


def carry_out(
    todo: Sequence[Job],
    args: argparse.Namespace,
    progress: Progress,
    stop: Callable[[], bool],
    *,
    resume: bool = False,
    every: int = 0,
    unfit: Callable[[Job, ScenarioError], None] | None = None,
) -> Iterator[tuple[Job, Run, Mapping[str, pa.Table]]]:
    """Make the runs one after the other, and hand out each as it is done, with its tables.

    A world may turn out to lack what its scenario asks for, as a sparse one lacks places that two subscribers want. That
    ends it all, unless ``unfit`` is there to be told.
    """
    for n, job in enumerate(todo):
        found = done_before(job) if resume else None
        if found is not None and job.folder is not None:
            progress.begin((n + 1) / len(todo))
            yield job, found, {name: read_table(job.folder, name) for name in found.rows}
        else:
            tell = _telling(progress, job, n, len(todo))
            try:
                made = _make(job, args, stop, resume=resume, every=every, tell=tell)
            except ScenarioError as error:
                if unfit is None:
                    raise
                unfit(job, error)
            else:
                yield job, *made


def _make(
    job: Job, args: argparse.Namespace, stop: Callable[[], bool], *, resume: bool, every: int, tell: Callable[[Report], None]
) -> tuple[Run, Mapping[str, pa.Table]]:
    begun = resume and job.folder is not None and (job.folder / CHECKPOINT).exists()
    if job.folder is not None:
        begin_run(job.folder, to_toml(job.scenario))
        if not begun:
            (job.folder / CHECKPOINT).unlink(missing_ok=True)
    how = Options(
        blocks=args.blocks or args.threads,
        threads=args.threads,
        tell=tell,
        stop=stop,
        folder=job.folder,
        every=every,
        resume=begun,
    )
    people = None if job.world is None else given.settled(job.scenario, job.seed, *given.load(job.world))
    outcome = run(job.scenario, job.seed, how, people)
    if job.folder is not None:
        return save(outcome, job.folder), outcome.tables
    config = digest(job.scenario)
    found = Run(seed=job.seed, config=config, state=outcome.state, gossamer=__version__, metrics=outcome.metrics)
    return found, outcome.tables


def _telling(progress: Progress, job: Job, n: int, total: int) -> Callable[[Report], None]:
    """Show each report of a run as a part of all runs."""
    gossip = _GOSSIP_SHARE if job.scenario.rejoins.count or job.scenario.rejoins.everybody else 1.0

    heard = False

    def tell(report: Report) -> None:
        nonlocal heard
        part = gossip * report.cycle / report.cycles
        if not heard and n == 0:  # before the first cycle kernels may have been compiled, which will not happen again
            progress.begin(part / total)
        heard = True
        if report.doing == "rejoins":
            part = gossip + (1 - gossip) * report.part
        words = [job.name, f"cycle {report.cycle}/{report.cycles}"]
        if report.doing != "gossip":
            words.append(report.doing)
        elif report.rings_complete is not None:
            words.append(f"rings {report.rings_complete:.1%}")
        progress.show((n + min(part, 1.0)) / total, "  ".join(words))

    return tell


@contextmanager
def stoppable() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed. The first is only noted, so that a run can end in order; the second ends at once."""
    pressed = False

    def note(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)


def again(words: Sequence[str]) -> str:
    """The command that goes on after one that was stopped."""
    new = [word for word in words if word != "--replace"]
    return shlex.join(["gossamer", *new, *([] if "--resume" in new else ["--resume"])])


def going_on(parser: argparse.ArgumentParser) -> None:
    """The arguments on what stands in the folder already."""
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--resume", action="store_true", help="go on where runs were stopped; skip those that are done")
    one.add_argument("--replace", action="store_true", help="put new runs in the place of other runs that are there")


def threading(parser: argparse.ArgumentParser) -> None:
    """The arguments that cannot be seen in what comes out."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = min(processors, _MOST_THREADS)
    parser.add_argument("--threads", type=whole(1, 256), default=threads, metavar="T", help=f"threads to use ({threads})")
    parser.add_argument("--blocks", type=whole(1, 4096), metavar="B", help="parts to cut the rows into (as many as threads)")


def whole(low: int, high: int) -> Callable[[str], int]:
    """A whole number between bounds, for argparse."""

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"found {text!r}, expected a whole number, {low} to {high}")
        return value

    return number


seed = whole(0, (1 << 63) - 1)
"""A seed, for argparse."""
