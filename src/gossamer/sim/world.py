"""The simulator's world: all rows in blocks, a calendar of mailboxes, and the clock that walks it.

What is sent at t arrives at t + delay, at least one tick later. At each tick, layer by layer: the mail that has arrived is
applied, then due timers act, and what they wrote is filed. Every draw belongs to a row and a moment, so neither the number
of blocks nor of threads can be seen in the outcome.

A cycle has a beginning (``begin``: deaths, births, changed subscriptions) and then its ticks. Whoever wants to look at the
world, or let events spread while gossip stands still, does so in between.

A world may hold only a span of the rows, and leave the others to other worlds (``part.py``); population, book, and who is
alive and called what are then of all rows all the same. Most have them all.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from gossamer.arrays import NONE, Flags, Handles, Offsets, Rows
from gossamer.protocol.fingers import no_fingers
from gossamer.protocol.links import change
from gossamer.protocol.view import Mail, Now, Parcels
from gossamer.protocol.views import Views
from gossamer.scenario.laws import threshold
from gossamer.scenario.population import NEVER, Population, book
from gossamer.scenario.scenario import Scenario
from gossamer.sim import invariants, leave, post
from gossamer.sim.lanes import Lane, Post, joined, taken
from gossamer.sim.mending import AliveLane
from gossamer.sim.wired import LANES
from gossamer.system.plan import Plan

__all__ = ["Block", "Turn", "World", "cuts"]

Answer = TypeVar("Answer")


def cuts(rows: int, blocks: int) -> list[int]:
    """Where so many rows are cut into blocks, from 0 to their number."""
    return [int(cut) for cut in np.linspace(0, rows, blocks + 1)]


@dataclass
class Block:
    """A range of rows that one thread works on at a time."""

    number: int
    base: int
    """The number of its first row."""
    at: int
    """The place of that row among those that the world holds."""
    rows: int
    own: Handles
    """(n,) int32: what each row is called at present; a part of the world's column."""
    due: Flags
    """(n,) uint8: whose timers fire in this tick."""


class Turn(NamedTuple):
    """What the beginning of a cycle brought: rows, rising."""

    died: Rows
    born: Rows
    changed: Rows

    @property
    def quiet(self) -> bool:
        """Whether it brought nothing, so that who wants what is as before."""
        return not (self.died.size or self.born.size or self.changed.size)


class World:
    """One run: a population, a system, a clock."""

    def __init__(
        self,
        scenario: Scenario,
        plan: Plan,
        people: Population,
        seed: int,
        *,
        blocks: int = 1,
        threads: int = 1,
        span: tuple[int, int] | None = None,
    ) -> None:
        self.scenario, self.plan, self.people, self.seed = scenario, plan, people, np.uint64(seed)
        everybody = people.key.shape[0]
        self.span = span or (0, everybody)
        """The rows this world holds: from the first, to before the second."""
        self.rows = self.span[1] - self.span[0]
        self.book = book(people)
        self.own = np.arange(everybody, dtype=np.int32)
        self.alive = np.zeros(everybody, np.uint8)
        self.due = np.zeros(self.rows, np.uint8)
        self.tick = 0
        self.period = scenario.timers.ticks
        base = self.span[0]
        self.blocks = [
            Block(b, base + low, low, high - low, self.own[base + low : base + high], self.due[low:high])
            for b, (low, high) in enumerate(itertools.pairwise(cuts(self.rows, blocks)))
        ]
        self._pool = ThreadPoolExecutor(threads) if threads > 1 and blocks > 1 else None
        self.calendar: dict[int, dict[str, list[tuple[Post, bool]]]] = defaultdict(lambda: defaultdict(list))
        self._first = np.zeros(self.rows + 1, np.int64)
        self._order = np.zeros(self.rows, np.int32)
        self._in_order = False
        self._loss = threshold(scenario.loss.probability)
        self._mortal = bool((people.leaves < NEVER).any())
        self.begun = NONE
        """The last cycle that has begun."""
        self.now = Now(self.seed, 0, 0)
        self._no_fingers = [no_fingers(block.rows) for block in self.blocks]
        self.lanes: dict[str, Lane] = {}
        for number, layer in reversed(list(enumerate(plan.layers))):
            self.lanes[layer.name] = LANES[layer.name](self, number, layer.params)

    @property
    def cycle(self) -> int:
        """The cycle the next tick belongs to."""
        return self.tick // self.period

    def each_block(self, work: Callable[[Block], Answer]) -> list[Answer]:
        """Work on every block, on all threads there are; what it comes to in each."""
        return [work(block) for block in self.blocks] if self._pool is None else list(self._pool.map(work, self.blocks))

    def close(self) -> None:
        """Let the threads go."""
        if self._pool is not None:
            self._pool.shutdown()

    def check(self) -> list[str]:
        """What is wrong with the world, in words; nothing when all is well. May be asked at any moment between ticks."""
        return invariants.faults(self)

    # ---------------------------------------------------------------------------------------------- time

    def run_cycle(self) -> None:
        """Go on to the start of the next cycle."""
        for _ in range(self.period):
            self.run_tick()

    def run_tick(self) -> None:
        """Let one tick happen."""
        self.begin()
        now = self.now = Now(self.seed, self.cycle, self.tick)
        here = slice(*self.span)
        np.multiply(self.alive[here], self.people.phase[here] == self.tick % self.period, out=self.due, casting="unsafe")
        due = bool(self.due.any())
        arrived = self.calendar.pop(self.tick, {})
        for layer in self.plan.layers:
            lane = self.lanes[layer.name]
            lane.tick(now, self.collect(lane, arrived.get(layer.name)), due)
        self.tick += 1

    def set_clock(self, tick: int, begun: int) -> None:
        """Make it a tick of a run in which so many cycles have begun: who is alive then, and called what, follows from that."""
        people = self.people
        self.tick, self.begun = tick, begun
        self.alive[:] = (people.joins <= begun) & (begun < people.leaves)
        done = np.searchsorted(people.change_cycle, begun, side="right")
        self.own[:] = np.arange(self.own.shape[0], dtype=np.int32)
        self.own[people.change_row[:done]] = people.change_handle[:done]

    def begin(self) -> Turn:
        """Begin the cycle: who dies, who is born, who changes its mind. Asked again, nothing more happens."""
        cycle, people = self.cycle, self.people
        nobody = np.empty(0, np.int32)
        if self.begun == cycle:
            return Turn(nobody, nobody, nobody)
        self.begun = cycle
        died = np.flatnonzero(people.leaves == cycle).astype(np.int32) if self._mortal else nobody
        if died.size:
            self.alive[died] = 0
            self.forget(died)
        born = np.flatnonzero(people.joins == cycle).astype(np.int32)
        if born.size:
            self.alive[born] = 1
            self.introduce(born, people.contact[born])
        return Turn(died, born, self._change(cycle))

    def introduce(self, rows: Rows, contacts: Rows) -> None:
        """Let rows whose views are empty know one other row each, or nobody where that is NONE."""
        known = contacts != NONE
        rows, met = rows[known], self.own[contacts[known]]
        for block in self.blocks:
            view = self.lanes["cyclon"].state[block.number]
            low, high = np.searchsorted(rows, (block.base, block.base + block.rows))
            inside = rows[low:high] - block.base
            view.handles[inside, 0], view.born[inside, 0] = met[low:high], self.cycle & 0xFFFF

    def forget(self, rows: Rows) -> None:
        """Empty all views of some rows, which are gone: nobody shall measure what the dead know."""
        for block in self.blocks:
            low, high = np.searchsorted(rows, (block.base, block.base + block.rows))
            for lane in self.lanes.values():
                leave.forget(lane.state[block.number], rows[low:high] - block.base)

    def _change(self, cycle: int) -> Rows:
        """Give rows their next descriptors; their links are told and judged anew, what others know of them gets old."""
        people = self.people
        low, high = np.searchsorted(people.change_cycle, (cycle, cycle + 1))
        rows = people.change_row[low:high]
        self.own[rows] = people.change_handle[low:high]
        if rows.size and "rings" in self.lanes:
            for block in self.blocks:
                for row in rows[(rows >= block.base) & (rows < block.base + block.rows)]:
                    change(self.lanes["rings"].state[block.number], row - block.base)
        return np.unique(rows).astype(np.int32)

    # ---------------------------------------------------------------------------------------------- mail

    def collect(self, lane: Lane, batches: list[tuple[Post, bool]] | None) -> Post | None:
        """All mail of a lane that has arrived in this tick; what the dead cannot take is turned back."""
        if not batches:
            return None
        mail = joined([batch for batch, _ in batches])
        self._in_order = len(batches) == 1 and batches[0][1]
        if self._mortal:
            lane.sent["failed"] += post.return_undeliverable(
                mail.to, mail.sender, mail.asks, self.book.owner, self.alive, self.people.silent
            )
            self._in_order = False
        return mail

    def views(self, block: Block) -> Views:
        """Everything in which a block's rows may stand to know somebody."""
        b, lanes = block.number, self.lanes
        finger = lanes["fingers"].state[b] if "fingers" in lanes else self._no_fingers[b]
        return Views(lanes["rings"].state[b], lanes["vicinity"].state[b], lanes["cyclon"].state[b], finger)

    def route(self, mail: Post, *, entries: bool = True) -> tuple[Offsets, Handles]:
        """Group messages by receiving row."""
        if self._order.shape[0] < mail.to.shape[0]:
            self._order = np.zeros(2 * mail.to.shape[0], np.int32)
        many, base = self.own.shape[0], self.span[0]
        post.route(mail.to, mail.sender, mail.asks, self.book.owner, many, base, int(self._in_order), self._first, self._order)
        guard = self.lanes.get("alive")
        if isinstance(guard, AliveLane):
            guard.door(self.now, mail, self._first, self._order, entries=entries)
        return self._first, self._order

    def file(self, lane: Lane, mail: Post, now: Now, written: int, *, fresh: bool = False) -> bool:
        """Put so many written messages in the calendar; whether there were any. Fresh ones are numbered by sender."""
        if not written:
            return False
        lane.sent["messages"] += written
        if isinstance(mail, Parcels):
            lane.sent["entries"] += int(mail.start[-1])
        elif isinstance(mail, Mail):
            lane.sent["entries"] += written * mail.handles.shape[1]
        if self._loss:
            post.lose(mail.to, mail.sender, mail.asks, self.book.key, self.seed, now.tick, lane.number, self._loss)
        for which, wall in enumerate(self.scenario.partitions):
            if wall.from_cycle <= now.cycle < wall.to_cycle:
                bound = threshold(wall.share)
                post.part(mail.to, mail.sender, self.book.owner, self.people.node, self.seed, which, bound)
        low, high = self.scenario.latency.low, self.scenario.latency.high
        name = self.plan.layers[lane.number].name
        if low == high:
            self.calendar[now.tick + low][name].append((mail, fresh))
            return True
        when = np.empty(mail.to.shape[0], np.int64)
        post.arrivals(mail.to, mail.sender, self.book.key, self.seed, now.tick, low, high, when)
        for tick in range(now.tick + low, now.tick + high + 1):
            which_ones = np.flatnonzero(when == tick)
            if which_ones.size:
                self.calendar[tick][name].append((taken(mail, which_ones), fresh))
        return False
