"""One scenario and one seed: from nothing to tables and metrics, cycle by cycle.

Each cycle begins with what it is dated to bring, in the order that ``scenario`` gives: births and deaths, changed
subscriptions, partitions, events, and only then gossip. Before the gossip the world is looked at and, at its dates, events
spread, rows join again and publishers search.

A run can be stopped between any two cycles and gone on with later, by the checkpoint it leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np
import pyarrow as pa

from gossamer import __version__
from gossamer.arrays import NONE
from gossamer.errors import DataError, ScenarioError
from gossamer.measure.load import load
from gossamer.measure.summary import asdict_of, summary
from gossamer.protocol import search
from gossamer.scenario.given import Drawn, drawn
from gossamer.scenario.population import rejoining
from gossamer.scenario.scenario import Scenario
from gossamer.scenario.toml import digest, to_toml
from gossamer.scenario.workload import Events, nobody, publishers
from gossamer.sim import checkpoint
from gossamer.sim.memory import Memory, require
from gossamer.sim.prints import fingerprint
from gossamer.sim.rejoin import rejoin
from gossamer.sim.riding import Ride
from gossamer.sim.searching import searched
from gossamer.sim.spreading import spread_frozen
from gossamer.sim.watch import Watch
from gossamer.sim.world import World
from gossamer.system.catalogue import plan
from gossamer.trace.columns import Trace
from gossamer.trace.folder import Run, read_run, write_run
from gossamer.truth.judge import by_node, rings

__all__ = [
    "CHECKPOINT",
    "Options",
    "Outcome",
    "Report",
    "StoppedError",
    "fingerprint",
    "made_before",
    "needs",
    "ring_links",
    "run",
    "save",
]

CHECKPOINT: Final = "checkpoint.npz"
"""The name of the checkpoint in a run's folder."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """How far a run has come: told once a cycle, and while something takes longer than a cycle."""

    cycle: int
    cycles: int
    doing: str = "gossip"
    """What is under way: gossip, events, rejoins, publishers."""
    part: float = 0.0
    """How much of it is done, where it is not gossip."""
    links_in_place: float | None = None
    rings_complete: float | None = None
    messages: int = 0


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a run is made; nothing here can be seen in its outcome."""

    blocks: int = 1
    threads: int = 1
    tell: Callable[[Report], None] = lambda _: None
    """Called with each report."""
    stop: Callable[[], bool] = lambda: False
    """Asked between cycles whether to stop there."""
    folder: Path | None = None
    """Where a checkpoint is left when stopped, and looked for when resumed."""
    every: int = 0
    """Leave a checkpoint after so many cycles, too; 0 for none."""
    resume: bool = False
    """Go on from the folder's checkpoint."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came out of a run."""

    scenario: Scenario
    seed: int
    tables: Mapping[str, pa.Table]
    metrics: Mapping[str, Any]
    state: str
    """Hash of the final state, in hexadecimal."""


class StoppedError(Exception):
    """A run was asked to stop and did, between two cycles; its checkpoint says from where to go on."""

    def __init__(self, cycle: int) -> None:
        super().__init__(f"stopped before the gossip of cycle {cycle}")
        self.cycle = cycle


def needs(scenario: Scenario) -> Memory:
    """What a run would take of memory. A ScenarioError when the scenario cannot be run, or not on this machine."""
    for path, count, cycle in (
        ("rejoins.from_cycle", scenario.rejoins.count + scenario.rejoins.everybody, scenario.rejoins.from_cycle),
        ("publishers.from_cycle", scenario.publishers.count + scenario.publishers.nobody, scenario.publishers.from_cycle),
    ):
        if count and cycle > scenario.cycles:
            raise ScenarioError(path, f"found cycle {cycle}, after the last one", hint=f"cycles = {scenario.cycles}")
    return require(scenario, plan(scenario.system, scenario.form, scenario.params))


def run(scenario: Scenario, seed: int, options: Options | None = None, given: Drawn | None = None) -> Outcome:
    """Run a scenario with one of its seeds; in a given world, or in the one it draws."""
    how = options or Options()
    needs(scenario)
    it = plan(scenario.system, scenario.form, scenario.params)
    found = None
    if how.resume and how.folder is not None:
        wanted = checkpoint.Stamp(config=digest(scenario), seed=seed, gossamer=__version__, blocks=how.blocks, cycle=0)
        found = checkpoint.read(how.folder / CHECKPOINT, wanted)
    people, published = given or drawn(scenario, seed)
    blocks = how.blocks if found is None else found.stamp.blocks
    world = World(scenario, it, people, seed, blocks=min(blocks, people.key.shape[0]), threads=how.threads)
    try:
        walk = _Walk(world, published, seed, how)
        walk.go(found)
        state = f"{fingerprint(world):016x}"
        links = ring_links(world)
    finally:
        world.close()
    tables = walk.trace.tables()
    metrics = summary(tables, world.rows) | links
    return Outcome(scenario=scenario, seed=seed, tables=tables, metrics=metrics, state=state)


def ring_links(world: World) -> dict[str, Any]:
    """How many ring neighbours a node keeps at the end: the one metric that no table holds."""
    if "rings" not in world.lanes:
        return {}
    sizes = np.concatenate([state.size for state in world.lanes["rings"].state])
    alive = world.alive != 0
    nodes, which = np.unique(world.people.node[alive], return_inverse=True)
    links = np.bincount(which, weights=sizes[alive], minlength=nodes.shape[0])
    return {"ring_links": asdict_of(load(links.astype(np.float64)))}


def made_before(folder: Path, scenario: Scenario, seed: int) -> Run | None:
    """What stands in a folder, when it is a finished run of just this."""
    try:
        found = read_run(folder)
    except DataError:
        return None
    return found if (found.config, found.seed, found.gossamer) == (digest(scenario), seed, __version__) else None


def save(outcome: Outcome, folder: Path) -> Run:
    """Write a run's folder; a checkpoint that led there is no longer needed and goes."""
    it = Run(
        seed=outcome.seed,
        config=digest(outcome.scenario),
        state=outcome.state,
        gossamer=__version__,
        metrics=outcome.metrics,
    )
    written = write_run(folder, it, to_toml(outcome.scenario), outcome.tables)
    (folder / CHECKPOINT).unlink(missing_ok=True)
    return written


class _Walk:
    """A run under way."""

    def __init__(self, world: World, published: Events, seed: int, how: Options) -> None:
        self.world, self.how, self.events, self.seed = world, how, published, seed
        self.scenario = world.scenario
        self.trace = Trace()
        self.watch = Watch(world, published, threads=how.threads)
        self.stamp: dict[str, Any] = {
            "config": digest(world.scenario),
            "seed": seed,
            "gossamer": __version__,
            "blocks": len(world.blocks),
        }
        self.dates = self.scenario.events.at or (self.scenario.cycles,)
        riding = not self.scenario.events.frozen and published.key.shape[0] > 0
        self.ride = Ride(world, published, self.trace) if riding else None

    def go(self, found: checkpoint.Checkpoint | None) -> None:
        """Walk from the first cycle, or from the checkpoint, to the last."""
        first = 0
        if found is not None:
            checkpoint.resumed(found, self.world, self.trace)
            self.watch.start_counting()
            first = found.stamp.cycle
            if self.ride is not None:
                self.ride.control, self.ride.control_of = found.arrays["ride/control"], found.arrays["ride/control_of"]
        for cycle in range(first, self.scenario.cycles + 1):
            turn = self.world.begin()
            if cycle == first or not turn.quiet:
                self.watch.learn()
            if self.how.stop():
                self._stop(cycle)
            if self.how.every and cycle > first and cycle % self.how.every == 0:
                self._leave_checkpoint(cycle)
            self._let_join(cycle)
            self._let_search(cycle)
            seen = self.watch.links(self.trace) or (None, None)
            self._let_spread(cycle)
            if cycle < self.scenario.cycles:
                if self.ride is not None:
                    self.ride.publish()
                self.world.run_cycle()
                if self.ride is not None:
                    self.ride.write_down(cycle)
                messages = self.watch.exchanges(self.trace, cycle)
                self._tell(cycle + 1, links_in_place=seen[0], rings_complete=seen[1], messages=messages)

        if self.ride is not None:
            self.ride.finish()

    def _tell(self, cycle: int, **more: Any) -> None:  # noqa: ANN401  (fields of a Report)
        self.how.tell(Report(cycle=cycle, cycles=self.scenario.cycles, **more))

    # ------------------------------------------------------------------------------------------------ what is dated

    def _let_join(self, cycle: int) -> None:
        """Subscribers join again. It leaves no mark on the world, so a stop in between only loses their work."""
        wanted = self.scenario.rejoins
        if not (wanted.count or wanted.everybody) or cycle != wanted.from_cycle:
            return

        def go_on(part: float) -> bool:
            self._tell(cycle, doing="rejoins", part=part)
            return not self.how.stop()

        rows = rejoining(self.scenario, self.world.people, self.seed)
        done = rejoin(self.world, rows, self.events, wanted.limit_cycles, threads=self.how.threads, go_on=go_on)
        if done is None:
            self._stop(cycle)
        self.trace["joins"].append(
            row=done.rows, kind="subscriber", begun=done.begun, done_from=done.done_from, done_to=done.done_to
        )

    def _let_search(self, cycle: int) -> None:
        """Publishers look for a first subscriber."""
        wanted, people = self.scenario.publishers, self.world.people
        if cycle != wanted.from_cycle:
            return
        params = search.Params(limit_cycles=wanted.limit_cycles)
        for base, count, those in ((1 << 40, wanted.count, publishers), (2 << 40, wanted.nobody, nobody)):
            if not count:
                continue
            self._tell(cycle, doing="publishers")
            seeking = those(self.scenario, people, self.seed)
            done = searched(self.world, seeking, params)
            first = np.where(done.found == NONE, NONE, self.world.book.owner[done.found])
            ring = by_node(people, rings(people, seeking.points, cycle, threads=self.how.threads))
            self.trace["publications"].append(
                event=base + np.arange(first.shape[0]),
                cycle=cycle,
                tick=self.world.tick,
                first=first,
                tries=np.where(done.cycles == NONE, wanted.limit_cycles, done.cycles),
                wanted=np.diff(ring.offsets),
            )
            if those is publishers:
                ended = np.where(done.cycles == NONE, NONE, cycle + done.cycles)
                self.trace["joins"].append(row=seeking.publisher, kind="publisher", begun=cycle, done_from=ended, done_to=NONE)

    def _let_spread(self, cycle: int) -> None:
        """All events, gossip standing still."""
        if not self.scenario.events.frozen or cycle not in self.dates or not self.events.key.shape[0]:
            return
        self._tell(cycle, doing="events")
        spread, burden = spread_frozen(self.world, self.events, ring=self.watch.rings)
        self.trace["spreads"].append(event=np.arange(spread.wanted.shape[0]), cycle=cycle, **spread._asdict())
        if cycle == max(self.dates):
            self.trace["nodes"].append(node=np.arange(burden.wanted.shape[0]), **burden._asdict())

    # ------------------------------------------------------------------------------------------------ stopping

    def _leave_checkpoint(self, cycle: int) -> None:
        if self.how.folder is not None:
            stamp = checkpoint.Stamp(cycle=cycle, **self.stamp)
            more = {} if self.ride is None else {"ride/control": self.ride.control, "ride/control_of": self.ride.control_of}
            checkpoint.write(self.how.folder / CHECKPOINT, stamp, self.world, self.trace, more)

    def _stop(self, cycle: int) -> NoReturn:
        self._leave_checkpoint(cycle)
        raise StoppedError(cycle)
