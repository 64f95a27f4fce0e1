"""What a worker does with one block of an overlay: take it up, let one tick happen, lay it aside.

A task knows its block's number, the run, and the tick: the rest follows. Population, events and who wants them are the same
for all, so they are drawn or mapped once in a worker and kept. With a shared folder they are files that all workers map and
nobody changes; without one each worker draws them.
"""

from __future__ import annotations

import shutil
import uuid
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from gossamer.arrays import NONE, Numbers
from gossamer.errors import DataError
from gossamer.measure import ring
from gossamer.pipeline.exchange import Pack
from gossamer.scenario.given import drawn
from gossamer.scenario.population import NEVER, Population
from gossamer.scenario.scenario import Scenario
from gossamer.scenario.toml import loads
from gossamer.scenario.workload import Events
from gossamer.sim.checkpoint import Arrays, packed, set_block_state
from gossamer.sim.memory import require
from gossamer.sim.part import Batch, Piece, hand_in, hand_out, lay_aside, part, take_up
from gossamer.sim.prints import fingerprint
from gossamer.sim.run import ring_links
from gossamer.sim.spreading import spread_frozen
from gossamer.sim.watch import views
from gossamer.sim.world import World
from gossamer.system.catalogue import plan
from gossamer.system.plan import Plan
from gossamer.trace.columns import Trace
from gossamer.truth import judge

__all__ = ["Done", "Job", "Step", "facts", "spread", "step"]

_MAPPED: Final = 1 << 20
"""Files of so many bytes are mapped, smaller ones read."""


class Job(NamedTuple):
    """A run cut into blocks: what every task is told."""

    text: str
    """The scenario, as TOML."""
    seed: int
    layers: tuple[str, ...]
    """The layers of the system that run; all, where there are none."""
    blocks: int
    place: str
    """The folder that all workers share; empty where they share none."""


class Step(NamedTuple):
    """A superstep: a tick of every block."""

    tick: int
    begun: int
    """The last cycle that has begun before it."""
    since: int
    """The tick after which blocks were laid aside last; NONE before the first."""
    arriving: tuple[int, ...] = ()
    """The ticks in which mail was written that arrives now."""
    look: bool = False
    """Whether to judge the rings before anything moves."""
    last: bool = False
    """Whether to look only, and take the fingerprint."""


class Done(NamedTuple):
    """What a step came to in one block."""

    state: Arrays
    batches: list[Batch]
    right: Numbers
    """(E,) int64: links in place of each event's ring, where they were judged."""
    wanted: Numbers
    """(E,) int64: links there should be, of all blocks."""
    more: dict[str, Any]
    """What was sent by each layer, how many messages arrive when, and the fingerprint."""


class _Settled(NamedTuple):
    """What is the same for all tasks of a run."""

    scenario: Scenario
    plan: Plan
    people: Population
    events: Events


# ---------------------------------------------------------------------------------------------------- what all share


def facts(job: Job) -> dict[str, Any]:
    """Lay the population down for all; how many rows there are, and at which ticks of a cycle timers fire."""
    scenario = loads(job.text, "scenario")[0]
    it = _plan(scenario, job.layers)
    if "rings" in it:
        require(scenario, it)  # events spread, and links are counted, where a whole world fits
    if job.place and not Path(job.place, "population").exists():
        _lay_down(Path(job.place), *drawn(scenario, job.seed))
    people = _settled(job).people
    return {
        "rows": people.key.shape[0],
        "phases": np.unique(people.phase).tolist(),
        "lanes": [layer.name for layer in it.layers],
    }


def _plan(scenario: Scenario, layers: tuple[str, ...]) -> Plan:
    whole = plan(scenario.system, scenario.form, scenario.params)
    return replace(whole, layers=tuple(it for it in whole.layers if not layers or it.name in layers))


def _lay_down(place: Path, people: Population, events: Events) -> None:
    partial = place / f"population.{uuid.uuid4().hex}.partial"
    partial.mkdir(parents=True)
    for name, columns in (("people", people), ("events", events)):
        for field, column in columns._asdict().items():
            np.save(partial / f"{name}-{field}.npy", column)
    with suppress(OSError):  # somebody was faster, with the same bytes
        partial.rename(place / "population")
    shutil.rmtree(partial, ignore_errors=True)


@lru_cache(1)
def _settled(job: Job) -> _Settled:
    scenario = loads(job.text, "scenario")[0]
    if not job.place:
        return _Settled(scenario, _plan(scenario, job.layers), *drawn(scenario, job.seed))
    folder = Path(job.place, "population")
    if not folder.exists():
        raise DataError(
            f"{folder}: not to be seen from a worker\nHint: a folder that all machines share, or --exchange shuffle"
        )
    people = Population(*(_mapped(folder / f"people-{name}.npy") for name in Population._fields))
    return _Settled(
        scenario,
        _plan(scenario, job.layers),
        people,
        Events(*(_mapped(folder / f"events-{name}.npy") for name in Events._fields)),
    )


def _mapped(path: Path) -> Any:  # noqa: ANN401  (a column of whatever kind)
    """A column for reading. Mapped as if to be written, into memory alone: kernels are compiled for such, and nobody writes."""
    return np.asarray(np.load(path, mmap_mode="c" if path.stat().st_size > _MAPPED else None))


def _turn(people: Population, cycle: int) -> int:
    """The last cycle up to this one that changed who lives or wants what."""
    dated = (people.joins, people.leaves[people.leaves < NEVER], people.change_cycle)
    return max((int(when[when <= cycle].max(initial=0)) for when in dated), default=0)


@lru_cache(1)
def _rings(job: Job, cycle: int) -> tuple[judge.Rings, ring.Targets]:
    """The true rings from a cycle on that changed something, and the links they want of each row."""
    _, _, people, events = _settled(job)
    found = judge.rings(people, events.points, cycle)
    return found, ring.targets(found.offsets, found.rows, people.key.shape[0])


# ---------------------------------------------------------------------------------------------------- one block


def step(job: Job, now: Step, number: int, state: Arrays | None, pieces: Iterable[tuple[str, Piece]]) -> Done:
    """Let one tick happen in a block, given its state (none before the first tick) and its mail."""
    scenario, it, people, events = _settled(job)
    world = part(scenario, it, people, job.seed, job.blocks, number)
    if state is not None:
        take_up(world, number, state, now.tick, now.begun)
    else:
        world.set_clock(now.tick, now.begun)
    world.begin()
    right, wanted = _looked(job, world, events) if now.look else (np.empty(0, np.int64), np.empty(0, np.int64))
    if now.last:
        return Done({}, [], right, wanted, {"print": fingerprint(world)})
    mail: dict[str, list[Piece]] = defaultdict(list)
    for lane, piece in pieces:
        mail[lane].append(piece)
    for lane, those in mail.items():
        hand_in(world, lane, those)
    world.run_tick()
    batches = hand_out(world, job.blocks)
    arriving: dict[int, int] = defaultdict(int)
    for batch in batches:
        arriving[batch.tick] += int(batch.ends[-1])
    sent = {name: dict(lane.sent) for name, lane in world.lanes.items()}
    return Done(lay_aside(world, number), batches, right, wanted, {"sent": sent, "arriving": list(arriving.items())})


def _looked(job: Job, world: World, events: Events) -> tuple[Numbers, Numbers]:
    """How many links of each ring are in place in this block, and how many there should be in all."""
    _, targets = _rings(job, _turn(world.people, world.cycle))
    found = ring.judge(views(world), events.points, ring.targets_of(targets, *world.span))
    return found.right, found.wanted.astype(np.int64)


# ---------------------------------------------------------------------------------------------------- all of them


def spread(job: Job, cycle: int, states: Iterable[Pack], *, burden_too: bool) -> tuple[Arrays, dict[str, Any]]:
    """Put all blocks together as one world at the beginning of a cycle, and let events spread in it.

    Answers tables of the trace, packed, and metrics that no table holds. ``states`` holds those of all blocks or, before
    anything has happened, none.
    """
    scenario, it, people, events = _settled(job)
    world = World(scenario, it, people, job.seed, blocks=job.blocks)
    world.set_clock(cycle * world.period, cycle - 1 if cycle else NONE)
    for pack in states:
        number = int(pack.more["block"])
        set_block_state(world, number, pack.whole(), number)
    world.begin()
    trace = Trace()
    if events.key.shape[0] and "spread" in world.lanes and cycle in (scenario.events.at or (scenario.cycles,)):
        found, burden = spread_frozen(world, events, ring=_rings(job, _turn(people, cycle))[0])
        trace["spreads"].append(event=np.arange(found.wanted.shape[0]), cycle=cycle, **found._asdict())
        if burden_too:
            trace["nodes"].append(node=np.arange(burden.wanted.shape[0]), **burden._asdict())
    tables = {name: np.frombuffer(packed(table), np.uint8) for name, table in trace.tables().items()}
    return tables, ring_links(world)
