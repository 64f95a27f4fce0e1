"""The whole way, stage by stage: workload, truth, simulate, measure, report.

    flow(spark, tasks, Path("out"), tell=print)

Every table is written once, and its rows and a hash of them that knows no order are written down in ``manifest.json`` as soon
as it stands. A stage whose tables stand there, made of the same inputs, is not done again; the same scenario, seeds and
version give the same hashes on any machine, master and partitioning.

    manifest.json        versions, what was run, and for each table its rows and hash
    workload/  truth/    subscriptions, events, matches: Parquet, partitioned by run
    runs/<run>/          the folder of each run, as of ``gossamer simulate``
    results/  metrics/   what came out: a row a run; a row a metric
    index.html figures/  the page, and its figures
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everybody calls it)

from gossamer import __version__
from gossamer.errors import DataError
from gossamer.pipeline import truth, workload
from gossamer.pipeline.failures import told
from gossamer.pipeline.measure import metrics
from gossamer.pipeline.plan import planned
from gossamer.pipeline.schemas import EVENTS, MATCHES, SUBSCRIPTIONS
from gossamer.pipeline.sweep import Task, results, sweep
from gossamer.pipeline.traces import Found, opened, table
from gossamer.report.measured import Measured
from gossamer.scenario.scenario import Scenario
from gossamer.scenario.toml import digest, leaves
from gossamer.trace.folder import renamed
from gossamer.trace.tables import TABLES

__all__ = ["FORMAT", "MANIFEST", "STAGES", "Flow", "Told", "begun", "counted", "flow"]

MANIFEST: Final = "manifest.json"
FORMAT: Final = 1
"""Raised whenever what stands in a manifest changes its meaning."""
STAGES: Final = ("workload", "truth", "simulate", "measure")
"""What is done on Spark, in order; the report is made of what comes back."""
_WITH: Final = ("numba", "numpy", "pyarrow", "pyspark")


class Told(NamedTuple):
    """How far a stage has come."""

    stage: str
    done: int
    """Units: runs, or tables."""
    total: int
    rows: int
    """Rows written so far in this stage."""
    what: str
    over: bool = False
    skipped: bool = False
    """Whether it was done before, of the same inputs."""


class Flow(NamedTuple):
    """What came out of the whole way."""

    manifest: Mapping[str, Any]
    measured: Sequence[Measured]
    disagreements: int
    """Events for which the truth judged apart and the simulator differ on how many want them."""


def begun(folder: Path, tasks: Sequence[Task], scenario: str, *, replace: bool = False) -> dict[str, Any]:
    """The manifest of a folder, or a new one; a DataError when the folder is another's."""
    wanted = {
        "format": FORMAT,
        "gossamer": __version__,
        "scenario": scenario,
        "runs": {it.name: {"config": digest(it.scenario), "seed": it.seed} for it in tasks},
    }
    path = folder / MANIFEST
    if not path.exists():
        others = sorted(it.name for it in folder.iterdir()) if folder.is_dir() else []
        if others and not replace:
            raise DataError(f"{folder}: holds something else: {', '.join(others[:4])}\nHint: choose another --out")
        found: dict[str, Any] = {}
    else:
        found = _read(path)
    difference = next((name for name in wanted if found and found.get(name) != wanted[name]), None)
    if difference is not None and not replace:
        raise DataError(
            f"{folder}: {_differs(difference, found, wanted)}\nHint: choose another --out, or --replace what is there"
        )
    if difference is not None or (replace and not found):
        for name in ("workload", "truth", "runs", "results", "metrics", "figures"):
            shutil.rmtree(folder / name, ignore_errors=True)
        found = {}
    return {**wanted, "stages": found.get("stages", {}), "with": _versions()}


def _differs(name: str, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """How the manifest that is there is another one's."""
    if name != "runs":
        return f"holds another run: its {name} is {found.get(name)}, not {wanted[name]}"
    there, here = found.get("runs", {}), wanted["runs"]
    extra, missing = [it for it in there if it not in here], [it for it in here if it not in there]
    if extra or missing:
        return f"holds other runs: {', '.join((extra or missing)[:3])} {'is there' if extra else 'is not there'}"
    return f"holds another run: the settings of {next(it for it in here if here[it] != there[it])} are others"


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in _WITH}}


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error})\nHint: choose another --out, or --replace what is there") from error
    if not isinstance(found, dict) or not isinstance(found.get("runs"), dict) or not isinstance(found.get("stages"), dict):
        raise DataError(f"{path}: no manifest of a pipeline\nHint: choose another --out, or --replace what is there")
    return found


def flow(
    spark: SparkSession, tasks: Sequence[Task], folder: Path, manifest: dict[str, Any], *, tell: Callable[[Told], None]
) -> Flow:
    """Do what is not done yet; ``manifest`` is that of ``begun``."""
    it = _Walk(spark, tasks, folder, manifest, tell)
    it.write_down()  # whose folder this is, whatever becomes of it
    it.stage("workload", it.workload, f"{SUBSCRIPTIONS} {EVENTS}")
    it.stage("truth", it.truth, MATCHES)
    it.stage("simulate", it.simulate, "")
    it.stage("measure", it.measure, "")
    return Flow(manifest, it.measured(), int(manifest["stages"]["measure"]["disagreements"]))


class _Walk:
    """The way under way."""

    def __init__(
        self, spark: SparkSession, tasks: Sequence[Task], folder: Path, manifest: dict[str, Any], tell: Callable[[Told], None]
    ) -> None:
        self.spark, self.tasks, self.folder, self.manifest, self._tell = spark, tasks, folder, manifest, tell
        self.now, self.rows, self.inputs = "", 0, ""

    def stage(self, name: str, work: Callable[[], Mapping[str, Any]], schema: str) -> None:
        """Do a stage, unless it was done with these inputs; what comes out is an input of the next."""
        self.now, self.rows = name, 0
        before = self.manifest["stages"].get(name)
        told_of = json.dumps([self.manifest["runs"], __version__, schema, self.inputs], sort_keys=True)
        inputs = hashlib.blake2b(told_of.encode(), digest_size=8).hexdigest()
        if before is not None and before.get("inputs") == inputs and self._stands(before):
            self.rows = sum(of["rows"] for them in before["tables"].values() for of in them.values())
            self._tell(Told(name, 1, 1, self.rows, "", over=True, skipped=True))
        else:
            self.tell(0, 1, "")
            with told(f"the stage {name}"):
                made = dict(work())
            self.manifest["stages"][name] = {"inputs": inputs, **made}
            self.write_down()
            self._tell(Told(name, 1, 1, self.rows, "", over=True))
        self.inputs = json.dumps(self.manifest["stages"][name], sort_keys=True)

    def write_down(self) -> None:
        """Keep the manifest as it is now."""
        with renamed(self.folder / MANIFEST) as path:
            path.write_text(json.dumps(self.manifest, indent=1, sort_keys=True) + "\n", encoding="utf-8")

    def _stands(self, before: Mapping[str, Any]) -> bool:
        return all((self.folder / place).exists() for place in before.get("places", []))

    def tell(self, done: int, total: int, what: str) -> None:
        """Say how far the stage is."""
        self._tell(Told(self.now, done, total, self.rows, what))

    # ------------------------------------------------------------------------------------------------ the stages

    def workload(self) -> Mapping[str, Any]:
        """Who wants what, and what is published."""
        places = {"subscriptions": self.folder / "workload/subscriptions", "events": self.folder / "workload/events"}
        for n, it in enumerate(self.tasks):
            self.tell(2 * n, 2 * len(self.tasks), it.name)
            self._write(workload.subscriptions(self.spark, it.scenario, it.seed), it, places["subscriptions"])
            self.tell(2 * n + 1, 2 * len(self.tasks), it.name)
            self._write(workload.events(self.spark, it.scenario, it.seed), it, places["events"])
        return self._kept(places)

    def truth(self) -> Mapping[str, Any]:
        """Who should receive what."""
        place = self.folder / "truth/matches"
        for n, it in enumerate(self.tasks):
            self.tell(n, len(self.tasks), it.name)
            rows = self._of(it, "workload/subscriptions"), self._of(it, "workload/events")
            self._write(truth.matches(*rows, planned(*rows, moment=_moment(it.scenario))), it, place)
        return self._kept({"matches": place})

    def simulate(self) -> Mapping[str, Any]:
        """What happens."""
        sweep(self.spark, self.tasks, tell=self.tell)
        found = self._found()
        tables = {}
        for name in TABLES:
            if any(name in it.it.rows for it in found):
                tables[name] = counted(table(self.spark, found, name))
                self.rows += sum(of["rows"] for of in tables[name].values())
        states = {it.name: it.it.state for it in found}
        places = [(it.folder / "run.json").relative_to(self.folder).as_posix() for it in found]
        return {"tables": tables, "states": states, "places": places}

    def measure(self) -> Mapping[str, Any]:
        """What it amounts to."""
        found = self._found()
        self.tell(0, 3, "metrics")
        place = self.folder / "metrics"
        metrics(self.spark, found).coalesce(1).sort("run", "metric").write.mode("overwrite").parquet(str(place))
        self.tell(1, 3, "results")
        results(self.spark, self.tasks, self.folder / "results")
        self.tell(2, 3, "the truth beside the runs")
        different = self._disagreements(found)
        return {**self._kept({"metrics": place}), "disagreements": different}

    def _disagreements(self, found: Sequence[Found]) -> int:
        """Events of which the truth and a run say different numbers that want them.

        Looked at where a node has one subscription, and events spread while the world stands still.
        """
        still = (it for it in found if it.scenario.population.subscriptions == 1 and it.scenario.events.frozen)
        plain = [it for it in still if "spreads" in it.it.rows]
        if not plain:
            return 0
        moments = self.spark.createDataFrame([(it.name, _moment(it.scenario)) for it in plain], "run string, moment int")
        spreads = table(self.spark, plain, "spreads").join(moments, "run")
        last = spreads.where("cycle = moment").select("run", "event", "wanted")
        matches = self.spark.read.parquet(str(self.folder / "truth/matches"))
        return last.join(matches, ["run", "event"], "left").where("matches IS DISTINCT FROM wanted").count()

    def measured(self) -> list[Measured]:
        """Every metric of every run, for the report: some dozens a run."""
        found = {it.name: it for it in self._found()}
        rows = self.spark.read.parquet(str(self.folder / "metrics")).collect()
        # What no table holds stands in the run's own folder.
        values: dict[str, dict[str, float | None]] = {name: leaves(it.it.metrics) for name, it in found.items()}
        for row in rows:
            values[row.run][row.metric] = row.value
        return [Measured(it.name, it.scenario, it.seed, found[it.name].folder, values[it.name]) for it in self.tasks]

    # ------------------------------------------------------------------------------------------------ tables

    def _found(self) -> list[Found]:
        return [opened(it.folder, it.name) for it in self.tasks]

    def _write(self, rows: DataFrame, task: Task, place: Path) -> None:
        """Write the rows of a run; those of other runs that stand there are left alone."""
        named = rows.withColumn("run", F.lit(task.name))
        whole = named.write.mode("overwrite").option("partitionOverwriteMode", "dynamic").partitionBy("run")
        whole.parquet(str(place))

    def _of(self, task: Task, place: str) -> DataFrame:
        return self.spark.read.parquet(str(self.folder / place)).where(F.col("run") == task.name).drop("run")

    def _kept(self, places: Mapping[str, Path]) -> dict[str, Any]:
        """Rows and hash of what stands in some places, by table and run."""
        tables = {name: counted(self.spark.read.parquet(str(place))) for name, place in places.items()}
        self.rows = sum(of["rows"] for them in tables.values() for of in them.values())
        return {"tables": tables, "places": [place.relative_to(self.folder).as_posix() for place in places.values()]}


def _moment(scenario: Scenario) -> int:
    """The cycle in which events without a moment of their own are judged: the last at which they spread."""
    return max(scenario.events.at or (scenario.cycles,))


def counted(rows: DataFrame) -> dict[str, dict[str, Any]]:
    """Rows of each run, and a hash of them that knows no order: a row a run comes back."""
    columns = sorted(name for name in rows.columns if name != "run")
    # Sums of longs would overflow, which Spark takes for an error: so the sum is taken in 38 digits and cut afterwards.
    hashed = F.sum(F.xxhash64(*columns).cast("decimal(20,0)"))
    found = rows.groupBy("run").agg(F.count("*").alias("rows"), hashed.alias("hash")).collect()
    return {row.run: {"rows": row.rows, "hash": f"{int(row.hash) & (1 << 64) - 1:016x}"} for row in _sorted(found)}


def _sorted(rows: Sequence[Any]) -> Iterator[Any]:
    yield from sorted(rows, key=lambda row: str(row.run))
