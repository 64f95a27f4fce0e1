"""Many runs at once: one whole simulation a task, the longest first, each on one thread.

    done = sweep(spark, tasks, out)      # those that stand there already are not run again

Each task writes its run's folder itself, under another name, and renames it: so what is done stays, whatever becomes of the
others, and a task that is tried twice, or in two places, changes nothing. The folders are those of ``gossamer simulate``, byte
for byte. Workers on other machines have to see the same folder; the first thing they do is to look.

What came out is then one row a run, as Parquet partitioned by run; those of other runs are left alone.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
from pyspark.sql import SparkSession

from gossamer.errors import DataError
from gossamer.pipeline.failures import told
from gossamer.scenario import given
from gossamer.scenario.scenario import Scenario
from gossamer.scenario.toml import leaves, loads, to_dict, to_toml
from gossamer.sim.run import made_before, needs, run, save
from gossamer.trace.folder import Run, read_run

__all__ = ["RESULTS", "Task", "cost", "results", "sweep", "variants", "watched"]

RESULTS: Final = (
    "name string, seed long, config string, state string, gossamer string, settings map<string,string>, "
    "metrics map<string,double>, run string"
)
"""One row a run: what it was, every setting, every number that came out."""
_TOLD: Final = "number int, problem string"
_OF_LAYERS: Final = {"sub2sub": 1.0, "gossamer": 1.6}
"""How much longer a cycle of a system takes; of one that is not known yet, as long as the longest."""
_EVENT: Final = 0.02
"""What an event costs, in rows of a cycle for each row there is."""
_LOOK_EVERY_S: Final = 0.5
_SHOWN: Final = 5

Tell = Callable[[int, int, str], None]
"""Told how many units of work are done, of how many, and what the last one was."""


class Task(NamedTuple):
    """One run to make."""

    name: str
    scenario: Scenario
    seed: int
    folder: Path
    world: Path | None = None
    """Interests and events that were given (``scenario.given.save``), in the place of drawn ones."""


def cost(scenario: Scenario) -> float:
    """About how long a run takes, in units that only compare: rows, cycles, attributes, layers, events, dates."""
    people = scenario.population
    alive = people.nodes + sum(wave.count for wave in scenario.joins)
    rows = alive * people.subscriptions * (1 + scenario.churn.rate * scenario.cycles)
    dates = max(len(scenario.events.at), 1)
    layers = _OF_LAYERS.get(scenario.system, max(_OF_LAYERS.values()))
    wide = 1 + 10 * (people.wildcards + people.wide)
    return rows * people.attributes * wide * (scenario.cycles * layers + _EVENT * scenario.events.count * dates / 100)


def variants(settings: Sequence[str]) -> list[list[str]]:
    """All combinations of settings given as ``key=a,b,c``, as lists of ``key=value``; the last key varies fastest."""
    found: list[list[str]] = [[]]
    for setting in settings:
        path, sign, text = setting.partition("=")
        values = [f"{path}={value}" for value in _split(text)] if sign else [setting]
        found = [[*before, value] for before in found for value in values]
    return found


def _split(text: str) -> list[str]:
    """Cut at commas, but not inside brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        else:
            depth += (sign in "[{") - (sign in "]}")
        if sign == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


def sweep(spark: SparkSession, tasks: Sequence[Task], *, tell: Tell | None = None) -> list[Run]:
    """Make every run that does not stand in its folder yet; what stands in all of them, in the order of the tasks.

    A DataError when some failed: it says which and why, and the others stay.
    """
    todo = sorted((it for it in tasks if made_before(it.folder, it.scenario, it.seed) is None), key=_longest)
    if todo:
        for it in todo:
            needs(it.scenario)
            _make_place(it.folder)
        watching = watched(len(tasks), lambda: _finished(tasks), tell)
        with _shared(todo[0].folder.parent) as sign, told("the sweep"), watching:
            failed = _carried_out(spark, todo, sign)
        if failed:
            raise DataError(_complaint(failed, len(tasks)))
    return [read_run(it.folder) for it in tasks]


def _longest(task: Task) -> float:
    return -cost(task.scenario)


def _carried_out(spark: SparkSession, todo: Sequence[Task], sign: Path) -> list[tuple[str, str]]:
    """Run them; the names of those that failed, and why. What comes back here is a short row a run."""
    told_of = [(to_toml(it.scenario), it.seed, str(it.folder), str(it.world or ""), str(sign)) for it in todo]

    def made(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                problem = _attempt(*told_of[number])
                yield pa.RecordBatch.from_pydict({"number": pa.array([number], pa.int32()), "problem": [problem]})

    # A partition a run: Spark hands them out in order, so the longest begin first.
    rows = spark.range(0, len(todo), 1, len(todo)).mapInArrow(made, _TOLD).collect()
    return [(todo[row.number].name, row.problem) for row in rows if row.problem]


def _attempt(text: str, seed: int, folder: str, world: str, sign: str) -> str:
    """Make one run in a worker; why it failed, or nothing."""
    try:
        if not Path(sign).exists():
            return f"{sign}: not to be seen from a worker; --out has to be a folder that all machines share"
        _run(loads(text, "scenario")[0], seed, Path(folder), Path(world) if world else None)
    except Exception as error:  # noqa: BLE001  (whatever it is, the other runs go on and this one is told of)
        return f"{type(error).__name__}: {error}"
    return ""


def _run(scenario: Scenario, seed: int, folder: Path, world: Path | None) -> None:
    if made_before(folder, scenario, seed) is not None:
        return  # a task tried again after it was done
    people = None if world is None else given.settled(scenario, seed, *given.load(world))
    partial = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    try:
        save(run(scenario, seed, None, people), partial)
        try:
            partial.rename(folder)
        except OSError:
            if made_before(folder, scenario, seed) is None:  # else another attempt was faster, with the same bytes
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _make_place(folder: Path) -> None:
    """Let nothing stand where a run is about to be: what a killed one left, or one of another version."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise DataError(f"{folder}: cannot be written ({error.strerror or error})\nHint: choose another --out") from error


@contextmanager
def _shared(folder: Path) -> Iterator[Path]:
    """A file by which workers see that they look at the same folder."""
    sign = folder / f".sweep.{os.getpid()}.{time.time_ns():x}"
    try:
        sign.touch()
        yield sign
    except OSError as error:
        raise DataError(f"{folder}: cannot be written ({error.strerror or error})\nHint: choose another --out") from error
    finally:
        sign.unlink(missing_ok=True)


def _finished(tasks: Sequence[Task]) -> tuple[int, str]:
    done = [it.name for it in tasks if (it.folder / "run.json").exists()]
    return len(done), done[-1] if done else ""


@contextmanager
def watched(total: int, look: Callable[[], tuple[int, str]], tell: Tell | None) -> Iterator[None]:
    """Tell how far the work has come while Spark does it: what is finished can be seen in the folder."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_LOOK_EVERY_S):
            done, what = look()
            assert tell is not None  # noqa: S101
            tell(done, total, what)

    watcher = threading.Thread(target=watch, daemon=True) if tell is not None else None
    if watcher is not None:
        watcher.start()
    try:
        yield
    finally:
        over.set()
        if watcher is not None:
            watcher.join()


def _complaint(failed: Sequence[tuple[str, str]], runs: int) -> str:
    lines = [f"{len(failed)} of {runs} runs failed; the others stand"]
    lines += [f"  {name}: {problem}" for name, problem in failed[:_SHOWN]]
    lines += ["  ..."] if len(failed) > _SHOWN else []
    return "\n".join([*lines, "Hint: the same command again makes those that are missing"])


def results(spark: SparkSession, tasks: Sequence[Task], folder: Path) -> None:
    """Write what came out, partitioned by run: those of other runs that stand there are left alone."""
    rows = []
    for task in tasks:
        it = read_run(task.folder)
        settings = {path: str(value) for path, value in leaves(to_dict(task.scenario)).items()}
        numbers = {name: None if value is None else float(value) for name, value in leaves(it.metrics).items()}
        rows.append((task.scenario.name, it.seed, it.config, it.state, it.gossamer, settings, numbers, task.name))
    with told(f"{folder}: writing what came out"):
        made = spark.createDataFrame(rows, RESULTS).coalesce(1)
        whole = made.write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
        whole.partitionBy("run").parquet(str(folder))
