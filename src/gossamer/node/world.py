"""Many machines in memory, on a heap of what happens when: the third mailbox, without sockets, tasks or a clock.

Births, deaths, changed subscriptions, latency, loss and partitions come from the scenario, as they do for the simulator, and
in the same order: what is dated a cycle happens at its start; then, tick by tick, all mail of a tick is given to each
machine together, and after it the timers. A frame for a node that has crashed comes back to its sender in the tick in which
it would have arrived; one for a node that fell silent is never heard of again.

The surprising thing: it is here to agree. Nothing in it looks at how rows are numbered but to read the population's columns;
machines know each other by address and descriptor. That the outcome is the simulator's, to the last bit, is tests/parity.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from heapq import heappop, heappush

import numpy as np

from gossamer.arrays import NONE, Rows
from gossamer.node.door import (
    Action,
    Address,
    Box,
    Change,
    Command,
    Deliver,
    Descriptor,
    Drop,
    Due,
    Event,
    Frame,
    Mail,
    Meet,
    Publish,
    Record,
    Send,
    Subscribe,
    Timer,
    Wake,
)
from gossamer.node.machine import Machine
from gossamer.node.wired import benches
from gossamer.protocol.view import BOUNCE
from gossamer.scenario.laws import threshold
from gossamer.scenario.network import delay, lost, separated
from gossamer.scenario.population import Population
from gossamer.scenario.scenario import Scenario
from gossamer.system.plan import Plan

__all__ = ["World"]


class World:
    """One run of many machines."""

    def __init__(self, scenario: Scenario, plan: Plan, people: Population, seed: int) -> None:
        self.scenario, self.plan, self.people, self.seed = scenario, plan, people, seed
        self.tick = 0
        self.period = scenario.timers.ticks
        self.machines: dict[Address, Machine] = {}
        """The living."""
        self.sent = {layer.name: {"messages": 0, "entries": 0, "local": 0, "failed": 0} for layer in plan.layers}
        """What was written, by layer; of which so many to a row of the same node, which takes no wire, and to the dead."""
        self.records: list[Record] = []
        self.delivered: list[tuple[Address, Deliver]] = []
        self._shared = benches(plan, people.boxes.shape[2])
        self._number = {layer.name: number for number, layer in enumerate(plan.layers)}
        self._seed = np.uint64(seed)
        self._heap: list[tuple[int, int, Send | Timer, Address]] = []
        self._order = 0
        self._rows = _grouped(people.node)
        self._current = [self._descriptor(row) for row in range(people.key.shape[0])]
        self._silent: set[Address] = set()
        self._published: list[tuple[int, Event]] = []

    @property
    def cycle(self) -> int:
        """The cycle the next tick belongs to."""
        return self.tick // self.period

    def fingerprint(self) -> int:
        """The fingerprint of all living rows together."""
        return sum(machine.fingerprint() for machine in self.machines.values()) % (1 << 64)

    def publish(self, row: int, event: Event) -> None:
        """Hand an event to a row of the population in the next tick."""
        self._published.append((row, event))

    def run_cycle(self) -> None:
        """Go on to the start of the next cycle."""
        for _ in range(self.period):
            self.run_tick()

    def run_tick(self) -> None:
        """Let one tick happen."""
        if self.tick % self.period == 0:
            self._begin()
        for row, event in self._published:
            self._command(row, Publish(int(self.people.key[row]), event))
        self._published.clear()
        inbox, due = self._arrivals()
        for address in list(inbox) + [address for address in due if address not in inbox]:
            machine = self.machines[address]
            if address in inbox:
                self._carry_out(address, machine.handle(Mail(tuple(inbox[address])), self.tick))
            for timer in due.get(address, ()):
                self._carry_out(address, machine.handle(Due(timer), self.tick))
        self.tick += 1

    # ---------------------------------------------------------------------------------------------- lives

    def _begin(self) -> None:
        """Begin a cycle: who dies, who is born, who changes its mind."""
        cycle, people = self.cycle, self.people
        for node in np.unique(people.node[people.leaves == cycle]).tolist():
            if self.machines.pop(_address(node), None) and people.silent[self._rows[node][0]]:
                self._silent.add(_address(node))
        born = np.unique(people.node[people.joins == cycle]).tolist()
        for node in born:
            self._birth(node)
        for node in born:
            for row in self._rows[node]:
                if people.contact[row] != NONE:
                    self._command(row, Meet(int(people.key[row]), self._current[people.contact[row]]))
        for n in np.flatnonzero(people.change_cycle == cycle).tolist():
            row, handle = int(people.change_row[n]), int(people.change_handle[n])
            self._current[row] = self._descriptor(handle)
            self._command(row, Change(int(people.key[row]), self._current[row].box))

    def _birth(self, node: int) -> None:
        scale = tuple(self.people.scale.tolist())
        self.machines[_address(node)] = Machine(
            self.plan, address=_address(node), scale=scale, seed=self.seed, ticks=self.period, shared=self._shared
        )
        for row in self._rows[node]:
            it = self._current[row]
            self._command(row, Subscribe(it.key, it.box, int(self.people.phase[row])))

    def _command(self, row: int, command: Command) -> None:
        address = self._current[row].owner
        self._carry_out(address, self.machines[address].handle(command, self.tick))

    def _descriptor(self, handle: int) -> Descriptor:
        people, row = self.people, int(self.people.owner[handle])
        low, high = people.boxes[handle].tolist()
        box: Box = (tuple(low), tuple(high))
        return Descriptor(int(people.key[row]), int(people.version[handle]), box, _address(int(people.node[row])))

    # ---------------------------------------------------------------------------------------------- mail

    def _arrivals(self) -> tuple[dict[Address, list[Frame]], dict[Address, list[Timer]]]:
        """The frames and timers of this tick, by machine, in the order they were written."""
        inbox: dict[Address, list[Frame]] = defaultdict(list)
        due: dict[Address, list[Timer]] = defaultdict(list)
        while self._heap and self._heap[0][0] == self.tick:
            _, _, what, sender = heappop(self._heap)
            if isinstance(what, Timer):
                if sender in self.machines:
                    due[sender].append(what)
            elif what.to.owner in self.machines:
                inbox[what.to.owner].append(what.frame)
            else:
                self.sent[what.frame.layer]["failed"] += 1
                if what.to.owner not in self._silent and sender in self.machines:
                    inbox[sender].append(replace(what.frame, asks=BOUNCE, sender=what.to, to=what.frame.sender.key))
        return inbox, due

    def _carry_out(self, address: Address, actions: list[Action]) -> None:
        """Do what a machine has answered, in order."""
        for action in actions:
            match action:
                case Send():
                    self._post(address, action)
                case Wake(timer):
                    self._push(timer.at, timer, address)
                case Record():
                    self.records.append(action)
                case Deliver():
                    self.delivered.append((address, action))
                case Drop():
                    pass

    def _push(self, tick: int, what: Send | Timer, address: Address) -> None:
        heappush(self._heap, (tick, self._order, what, address))
        self._order += 1

    def _post(self, address: Address, what: Send) -> None:
        """Put a frame on its way, unless it is lost or a wall stands in it."""
        frame, sent, latency = what.frame, self.sent[what.frame.layer], self.scenario.latency
        sent["messages"] += 1
        sent["entries"] += len(frame.who) + len(frame.events)
        sent["local"] += what.to.owner == address
        sender, receiver = np.uint64(frame.sender.key), np.uint64(what.to.key)
        loss = self.scenario.loss.probability
        if loss:
            kind = 4 * self._number[frame.layer] + frame.asks
            if lost(self._seed, sender, receiver, self.tick, kind, 0, threshold(loss)):
                return
        for which, wall in enumerate(self.scenario.partitions):
            if wall.from_cycle <= self.cycle < wall.to_cycle:
                one, other = _node(address), _node(what.to.owner)
                if separated(self._seed, one, other, which, threshold(wall.share)):
                    return
        self._push(self.tick + delay(self._seed, sender, receiver, latency.low, latency.high), what, address)


def _address(node: int) -> Address:
    return f"node-{node}"


def _node(address: Address) -> np.uint64:
    return np.uint64(int(address.removeprefix("node-")))


def _grouped(node: Rows) -> dict[int, list[int]]:
    """The rows of each node, rising."""
    order = np.argsort(node, kind="stable")
    cuts = np.flatnonzero(np.diff(node[order])) + 1
    return {int(node[rows[0]]): rows.tolist() for rows in np.split(order, cuts)}
