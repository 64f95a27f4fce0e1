"""One scenario on two drivers, step by step: the simulator's blocks, and machines in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from gossamer.arrays import NONE, Numbers, Rows
from gossamer.node import world as machines
from gossamer.node.door import Event
from gossamer.scenario.population import Population, population
from gossamer.scenario.scenario import Scenario
from gossamer.scenario.workload import Events, events
from gossamer.sim import world as blocks
from gossamer.sim.prints import prints
from gossamer.sim.spreading import SpreadLane
from gossamer.system.catalogue import plan
from gossamer.system.plan import Plan
from gossamer.truth.judge import rings

__all__ = ["Blocks", "Driver", "Machines", "Receipt", "Setting", "differences", "setting"]


class Setting(NamedTuple):
    """A scenario with all that follows from it."""

    scenario: Scenario
    plan: Plan
    people: Population
    events: Events
    seed: int


class Receipt(NamedTuple):
    """A message about an event, received."""

    tick: int
    event: int
    row: int
    """All peers by key."""
    sender: int
    """NONE for the publisher."""
    hop: int
    what: int
    new: int


def setting(scenario: Scenario, seed: int = 1, *, only: tuple[str, ...] = ()) -> Setting:
    """The scenario, ready to run; `only` leaves other layers of its system away."""
    it = plan(scenario.system, scenario.form, scenario.params)
    if only:
        it = Plan(name=it.name, form=it.form, layers=tuple(layer for layer in it.layers if layer.name in only))
    people = population(scenario, seed)
    return Setting(scenario, it, people, events(scenario, people, seed), seed)


@dataclass
class Driver:
    """What is asked of every driver."""

    it: Setting
    receipts: list[Receipt] = field(default_factory=list)
    delivered: list[tuple[int, int]] = field(default_factory=list)
    """Event by key, and node."""

    def run_cycle(self) -> None:
        """Publish what is dated this cycle, and go on to the next."""
        raise NotImplementedError

    def prints(self) -> Mapping[int, int]:
        """The fingerprint of each living row, by key."""
        raise NotImplementedError

    @property
    def sent(self) -> dict[str, tuple[int, int]]:
        """Messages by layer, and how many of them found nobody."""
        raise NotImplementedError

    @property
    def fingerprint(self) -> int:
        """That of all living rows."""
        return sum(self.prints().values()) % (1 << 64)

    def due(self, cycle: int) -> tuple[Numbers, Rows]:
        """The events of a cycle, and the row each is handed to: one that wants it, whoever its key points at."""
        which = np.flatnonzero(self.it.events.cycle == cycle)
        ring = rings(self.it.people, self.it.events.points[which], cycle)
        first = np.full(which.shape[0], NONE, np.int32)
        for n, event in enumerate(which.tolist()):
            those = ring.rows[ring.offsets[n] : ring.offsets[n + 1]]
            if those.size:
                first[n] = those[int(self.it.events.key[event]) % those.size]
        return which, first


class Blocks(Driver):
    """The simulator."""

    def __init__(self, it: Setting, *, count: int = 1, threads: int = 1) -> None:
        super().__init__(it)
        self.world = blocks.World(it.scenario, it.plan, it.people, it.seed, blocks=count, threads=threads)

    def run_cycle(self) -> None:
        """Publish what is dated this cycle, and go on to the next."""
        world = self.world
        world.begin()
        which, first = self.due(world.cycle)
        lane = world.lanes.get("spread")
        if isinstance(lane, SpreadLane):
            if which.size:
                lane.hand_over(self.it.events, which, first)
            world.run_cycle()
            self._write_down(lane)
        else:
            world.run_cycle()

    def _write_down(self, lane: SpreadLane) -> None:
        people, key, reached = self.it.people, self.it.people.key, set(self.delivered)
        for log in lane.log:
            used = int(log.used[0])
            log.used[0] = 0
            for r in np.argsort(log.tick[:used], kind="stable").tolist():
                event, row, sender = int(log.event[r]), int(log.row[r]), int(log.sender[r])
                name = int(self.it.events.key[event])
                by = NONE if sender == NONE else int(key[people.owner[sender]])
                hop, what, new = int(log.hop[r]), int(log.what[r]), int(log.new[r])
                self.receipts.append(Receipt(int(log.tick[r]), name, int(key[row]), by, hop, what, new))
                low, high = people.boxes[self.world.own[row]]
                point, pair = self.it.events.points[event], (name, int(people.node[row]))
                if new and ((low <= point) & (point <= high)).all() and pair not in reached:
                    reached.add(pair)
                    self.delivered.append(pair)

    def prints(self) -> Mapping[int, int]:
        """The fingerprint of each living row, by key."""
        told = prints(self.world)
        return {int(self.it.people.key[row]): int(told[row]) for row in np.flatnonzero(self.world.alive)}

    @property
    def sent(self) -> dict[str, tuple[int, int]]:
        """Messages by layer, and how many of them found nobody."""
        return {name: (lane.sent["messages"], lane.sent["failed"]) for name, lane in self.world.lanes.items()}


class Machines(Driver):
    """Machines in memory."""

    def __init__(self, it: Setting) -> None:
        super().__init__(it)
        self.world = machines.World(it.scenario, it.plan, it.people, it.seed)

    def run_cycle(self) -> None:
        """Publish what is dated this cycle, and go on to the next."""
        world, happening = self.world, self.it.events
        which, first = self.due(world.cycle)
        for event, row in zip(which.tolist(), first.tolist(), strict=True):
            if row != NONE:
                point = tuple(happening.points[event].tolist())
                world.publish(row, Event(int(happening.key[event]), point, b"payload %d" % event))
        world.run_cycle()
        for record in world.records:
            assert record.what == "receipt", record
            event_key, sender, hop, what, new = record.numbers
            self.receipts.append(Receipt(record.tick, event_key, record.row, sender, hop, what, new))
        for address, deliver in world.delivered:
            number = int(np.flatnonzero(happening.key == deliver.event.key)[0])
            assert deliver.event.payload == b"payload %d" % number
            self.delivered.append((deliver.event.key, int(address.removeprefix("node-"))))
        world.records.clear()
        world.delivered.clear()

    def prints(self) -> Mapping[int, int]:
        """The fingerprint of each living row, by key."""
        return {key: told for machine in self.world.machines.values() for key, told in machine.prints().items()}

    @property
    def sent(self) -> dict[str, tuple[int, int]]:
        """Messages by layer, and how many of them found nobody."""
        return {name: (sent["messages"], sent["failed"]) for name, sent in self.world.sent.items()}


def differences(one: Driver, other: Driver, cycles: int, *, every: int = 1) -> Iterator[str]:
    """Run both side by side; each difference in words, the first one first."""
    for cycle in range(cycles):
        one.run_cycle()
        other.run_cycle()
        if (cycle + 1) % every == 0 or cycle + 1 == cycles:
            yield from _between(cycle, one, other)


def _between(cycle: int, one: Driver, other: Driver) -> Iterator[str]:
    mine, theirs = one.prints(), other.prints()
    for key in sorted(mine.keys() | theirs.keys()):
        if mine.get(key) != theirs.get(key):
            yield f"after cycle {cycle}: row {key} is {mine.get(key)} here and {theirs.get(key)} there"
    told: tuple[tuple[str, Callable[[Driver], list[tuple[int, ...]]]], ...] = (
        ("receipt", lambda driver: [tuple(receipt) for receipt in driver.receipts]),
        ("delivery", lambda driver: [tuple(pair) for pair in driver.delivered]),
    )
    for what, of in told:
        left, right = sorted(of(one)), sorted(of(other))
        if left != right:
            first = next((a, b) for a, b in zip([*left, ()], [*right, ()], strict=False) if a != b)
            yield f"after cycle {cycle}: {what} {first[0]} here and {first[1]} there"
    if one.sent != other.sent:
        yield f"after cycle {cycle}: sent {one.sent} here and {other.sent} there"
