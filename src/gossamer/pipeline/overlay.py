"""One overlay over many machines: the simulator's own blocks as tasks, tick by tick.

    done = simulate(spark, scenario, seed, Path("out"), blocks=8)      # files in a folder that all workers see
    done = simulate(spark, scenario, seed, Path("out"), exchange="shuffle", spool="hdfs:///tmp/overlay")

A superstep is a job with a task a block: it takes the block up as it was, hands it its mail, lets one tick happen and lays it
aside. In lockstep a cycle is two; ticks in which nothing arrives and no timer fires are left out. The outcome is that of
``gossamer simulate``, to the last byte, and so is the folder.

After each cycle a small file says how far the run has come; a driver that was killed goes on from there. Frozen events spread
in one task, which puts the blocks together. Rejoins, publishers and events that travel with the gossip are refused.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from pyspark.sql import SparkSession

from gossamer import __version__
from gossamer.arrays import NONE
from gossamer.errors import CallerError, DataError, ScenarioError
from gossamer.measure.ring import Judged
from gossamer.measure.summary import summary
from gossamer.pipeline.blocks import Job, Step
from gossamer.pipeline.carriers import Carrier, Files, Shuffle
from gossamer.pipeline.exchange import Pack, write
from gossamer.pipeline.failures import told
from gossamer.scenario.scenario import Scenario
from gossamer.scenario.toml import digest, to_toml
from gossamer.sim.checkpoint import packed, unpacked
from gossamer.sim.run import Outcome, Report, made_before, save
from gossamer.sim.watch import write_exchanges, write_links
from gossamer.trace.columns import Trace
from gossamer.trace.folder import begin_run, read_run, read_table

__all__ = ["EXCHANGES", "WORK", "Cost", "Simulated", "simulate"]

EXCHANGES: Final = ("files", "shuffle")
WORK: Final = ".overlay"
"""The folder in a run's folder in which blocks and mail lie while it goes on."""
_FORMAT: Final = 1
_MARK: Final = "finished"


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What carrying an overlay about took, so far."""

    supersteps: int = 0
    left_out: int = 0
    """Ticks in which nothing would have happened."""
    mail_bytes: int = 0
    """Of mail between blocks, a block's own included."""
    state_bytes: int = 0
    """Of blocks laid aside."""

    def per_row_and_cycle(self, rows: int, cycles: int) -> dict[str, float]:
        """Bytes of mail and of states for a row and a cycle."""
        return {"mail_bytes": self.mail_bytes / (rows * cycles), "state_bytes": self.state_bytes / (rows * cycles)}


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """What came out, and what it took."""

    outcome: Outcome
    cost: Cost
    rows: int


def simulate(
    spark: SparkSession,
    scenario: Scenario,
    seed: int,
    folder: Path,
    *,
    blocks: int = 8,
    exchange: str = "files",
    spool: str | None = None,
    layers: tuple[str, ...] = (),
    tell: Callable[[Report], None] | None = None,
) -> Simulated:
    """Run a scenario in blocks; its folder is then as ``gossamer simulate`` would have made it.

    folder : where the outcome goes; with ``files`` all workers have to see it. What stands of this run is gone on with
    spool  : with ``shuffle``, the address where rows lie between ticks; in the folder, if none is given
    layers : some of the system's layers, to run without the others; then nothing is saved
    """
    _refuse(scenario, exchange)
    saved, work = not layers, folder / WORK
    if saved and (found := made_before(folder, scenario, seed)) is not None:
        tables = {name: read_table(folder, name) for name in found.rows}
        outcome = Outcome(scenario=scenario, seed=seed, tables=tables, metrics=found.metrics, state=found.state)
        return Simulated(outcome=outcome, cost=Cost(), rows=0)
    stamp = {
        "format": _FORMAT, "config": digest(scenario), "seed": seed, "gossamer": __version__, "blocks": blocks,
        "exchange": exchange, "layers": list(layers),
    }  # fmt: skip
    trace = Trace()
    mark = _find_mark(work, stamp, trace)
    _make_room(folder, scenario, saved=saved)
    job = Job(to_toml(scenario), seed, layers, blocks, str(work.resolve()) if exchange == "files" else "")
    carrier: Carrier = Files(spark, job)
    if exchange == "shuffle":
        carrier = Shuffle(spark, job, spool or str((work / "spool").resolve()), mark.since, mark.names)
    walk = _Walk(scenario, stamp, carrier, work, mark, trace, tell or (lambda _: None))
    with told(f"{folder}: the overlay"):
        state = walk.go()
    metrics = {**summary(trace.tables(), walk.rows), **mark.metrics}
    outcome = Outcome(scenario=scenario, seed=seed, tables=trace.tables(), metrics=metrics, state=state)
    if saved:
        save(outcome, folder)
    shutil.rmtree(work, ignore_errors=True)
    return Simulated(outcome=outcome, cost=mark.cost, rows=walk.rows)


def _refuse(scenario: Scenario, exchange: str) -> None:
    """What this way of running cannot do."""
    if exchange not in EXCHANGES:
        raise CallerError(f"exchange {exchange!r}: expected one of {', '.join(EXCHANGES)}")
    asked = (
        ("rejoins.count", scenario.rejoins.count or scenario.rejoins.everybody, "rejoins.count=0"),
        ("publishers.count", scenario.publishers.count, "publishers.count=0"),
        ("publishers.nobody", scenario.publishers.nobody, "publishers.nobody=0"),
        ("events.frozen", scenario.events.count and not scenario.events.frozen, "events.frozen=true"),
    )
    for path, wanted, instead in asked:
        if wanted:
            problem = "not while one overlay is spread over many machines"
            raise ScenarioError(path, problem, hint=f"--set {instead}, or gossamer simulate")


def _make_room(folder: Path, scenario: Scenario, *, saved: bool) -> None:
    if saved and (folder / "run.json").exists():
        found = read_run(folder)
        problem = f"{folder}: holds another run: seed {found.seed}, configuration {found.config}"
        raise DataError(f"{problem}\nHint: choose another --out")
    if saved:
        begin_run(folder, to_toml(scenario))
    try:
        (folder / WORK).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be written ({error.strerror or error})\nHint: choose another --out") from error


# ---------------------------------------------------------------------------------------------------- how far it is


@dataclass
class _Mark:
    """How far a run has come: all that its driver has to know beside the trace."""

    cycle: int = 0
    """The next one."""
    since: int = NONE
    """The tick after which blocks were laid aside last."""
    pending: dict[int, list[int]] = field(default_factory=dict)
    """For each tick to come, the ticks in which mail was written that arrives then."""
    names: dict[int, str] = field(default_factory=dict)
    """Shuffled: where the rows of a tick are."""
    spread: int = NONE
    """The last cycle in which events have spread."""
    metrics: dict[str, Any] = field(default_factory=dict)
    """Those that no table holds."""
    cost: Cost = field(default_factory=Cost)


def _leave_mark(work: Path, stamp: Mapping[str, Any], mark: _Mark, trace: Trace) -> None:
    """Say how far the run has come, in the place of what was said before."""
    tables = {name: np.frombuffer(packed(table), np.uint8) for name, table in trace.tables().items()}
    write(work / _MARK, tables, {"stamp": stamp, "mark": asdict(mark)})


def _find_mark(work: Path, stamp: Mapping[str, Any], trace: Trace) -> _Mark:
    """How far a run has come that was begun here, and its trace; a DataError when it was another one."""
    path = work / _MARK
    if not path.exists():
        return _Mark()
    try:
        with Pack(path) as pack:
            found, tables, mark = pack.more["stamp"], pack.whole(), dict(pack.more["mark"])
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{path}: cannot be read ({error})\nHint: remove {work}, and the run begins anew") from error
    if found != stamp:
        name = next((name for name in stamp if found.get(name) != stamp[name]), "format")
        problem = f"{work}: another run was begun here: its {name} is {found.get(name)}, this one's {stamp.get(name)}"
        raise DataError(f"{problem}\nHint: choose another --out, or remove it")
    for name, data in tables.items():
        table = unpacked(data)
        trace[name].append(**{column: table.column(column).to_numpy() for column in table.column_names})
    for name in ("pending", "names"):
        mark[name] = {int(tick): value for tick, value in mark[name].items()}
    return _Mark(**{**mark, "cost": Cost(**mark["cost"])})


# ---------------------------------------------------------------------------------------------------- the walk


class _Walk:
    """A run under way."""

    def __init__(
        self,
        scenario: Scenario,
        stamp: Mapping[str, Any],
        carrier: Carrier,
        work: Path,
        mark: _Mark,
        trace: Trace,
        tell: Callable[[Report], None],
    ) -> None:
        self.scenario, self.stamp, self.carrier, self.work, self.mark, self.trace = scenario, stamp, carrier, work, mark, trace
        self.tell = tell
        self.period = scenario.timers.ticks
        self.dates = scenario.events.at or (scenario.cycles,)
        self.rows, self.phases, self.lanes = 0, {0}, {""}
        self.seen: tuple[float, float] | tuple[None, None] = (None, None)

    def go(self) -> str:
        """Walk on to the end; the fingerprint of the final state."""
        known = self.carrier.prepare()
        self.rows, self.phases, self.lanes = known["rows"], set(known["phases"]), set(known["lanes"])
        cycles = self.scenario.cycles
        while self.mark.cycle < cycles:
            cycle = self.mark.cycle
            self._let_spread(cycle)
            sent = self._gossip(cycle)
            messages = write_exchanges(self.trace, cycle, sent, self.scenario.population.attributes)
            self.mark.cycle += 1
            _leave_mark(self.work, self.stamp, self.mark, self.trace)
            self.carrier.forget(self.mark.since, {tick for written in self.mark.pending.values() for tick in written})
            self.tell(
                Report(
                    cycle=cycle + 1, cycles=cycles, links_in_place=self.seen[0], rings_complete=self.seen[1], messages=messages
                )
            )
        self._let_spread(cycles)
        step = Step(cycles * self.period, cycles - 1, self.mark.since, look=self._judged, last=True)
        done = self.carrier.tick(step)
        self._write_links(cycles, done)
        return f"{sum(int(pack.more['print']) for pack in done) & (1 << 64) - 1:016x}"

    @property
    def _judged(self) -> bool:
        return "rings" in self.lanes and self.scenario.events.count > 0

    def _gossip(self, cycle: int) -> dict[str, dict[str, int]]:
        """All ticks of a cycle in which anything happens; what was sent, by layer."""
        sent: dict[str, dict[str, int]] = {}
        looked = not self._judged
        for tick in range(cycle * self.period, (cycle + 1) * self.period):
            arriving = self.mark.pending.pop(tick, [])
            if not arriving and tick % self.period not in self.phases:
                self.mark.cost = replace(self.mark.cost, left_out=self.mark.cost.left_out + 1)
                continue
            begun = self.mark.since // self.period if self.mark.since != NONE else NONE
            done = self.carrier.tick(Step(tick, begun, self.mark.since, tuple(arriving), look=not looked))
            if not looked:
                self._write_links(cycle, done)
                looked = True
            self._add_up(tick, done, sent)
        return sent

    def _add_up(self, tick: int, done: Sequence[Pack], sent: dict[str, dict[str, int]]) -> None:
        """Note what a superstep came to."""
        self.mark.since = tick
        cost = self.mark.cost
        for pack in done:
            for lane, counts in pack.more["sent"].items():
                of_lane = sent.setdefault(lane, dict.fromkeys(counts, 0))
                for what, count in counts.items():
                    of_lane[what] += count
            for when, _ in pack.more["arriving"]:
                written = self.mark.pending.setdefault(when, [])
                if tick not in written:
                    written.append(tick)
            cost = replace(
                cost,
                mail_bytes=cost.mail_bytes + pack.more["mail_bytes"],
                state_bytes=cost.state_bytes + pack.more["state_bytes"],
            )
        self.mark.cost = replace(cost, supersteps=cost.supersteps + 1)
        if isinstance(self.carrier, Shuffle):
            self.mark.names = self.carrier.names

    def _write_links(self, cycle: int, done: Sequence[Pack]) -> None:
        if self._judged:
            right = np.sum([pack.rows("right") for pack in done], axis=0)
            judged = Judged(right, done[0].rows("wanted").astype(np.int32), np.empty(0, np.uint8))
            self.seen = write_links(self.trace, cycle, judged)

    def _let_spread(self, cycle: int) -> None:
        """All events, gossip standing still; and at the end what only the whole world can tell."""
        due = cycle in self.dates and self.scenario.events.count > 0 and "spread" in self.lanes
        last = cycle == self.scenario.cycles and "rings" in self.lanes
        if not (due or last) or cycle <= self.mark.spread:
            return
        self.tell(Report(cycle=cycle, cycles=self.scenario.cycles, doing="events"))
        found = self.carrier.spread(cycle, self.mark.since, burden_too=cycle == max(self.dates))
        for name, data in found.whole().items():
            table = unpacked(data)
            self.trace[name].append(**{column: table.column(column).to_numpy() for column in table.column_names})
        self.mark.spread = cycle
        self.mark.metrics = found.more if last else {}
