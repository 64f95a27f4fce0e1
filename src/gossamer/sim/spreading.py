"""Events on their way: the lane that carries copies, and how events spread while gossip stands still.

The papers' figures freeze gossip while an event spreads. Both ways of running use the same lane and the same moves: frozen,
the lane alone is called, tick by tick, until nothing is on its way; together with gossip it is a lane like any other.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gossamer.arrays import NONE, Counts, Flags, Handles, Numbers, Offsets, Rows
from gossamer.draws import Purpose, below, draw
from gossamer.jit import sweep
from gossamer.measure.delivery import Spread
from gossamer.protocol import arcs, cyclon, fingers, relay, repair, spread, vicinity
from gossamer.protocol.descriptor import Book
from gossamer.protocol.spread import ARC, CLOSE, COPY, HINT, REPAIR, SEEK, Copies, Happenings, Seen, empty_copies
from gossamer.protocol.view import ASK, Now
from gossamer.protocol.views import Views
from gossamer.scenario.workload import Events
from gossamer.sim.lanes import Lane, joined, taken
from gossamer.truth.judge import Pairs, Rings, by_node
from gossamer.truth.judge import rings as true_rings

if TYPE_CHECKING:
    from gossamer.sim.world import Block, World

__all__ = ["Burden", "FingersLane", "Receipts", "SpreadLane", "publish_now", "spread_frozen", "tallied"]

_NO_RECEIPTS = 4
_NOT, _BY_SPREADING, _BY_REPAIR = 0, 1, 2
"""How a node has been reached by an event."""
_BATCH = 2_000_000
"""Deliveries expected of the events that spread at one time, which bounds the memory of sets and receipts."""


class Receipts(NamedTuple):
    """Messages received for events, as columns that are written to the end."""

    event: Counts
    row: Rows
    """(M,) int32: who received it."""
    sender: Handles
    """(M,) int32: from whom, by handle; NONE for the publisher."""
    hop: Counts
    what: Flags
    """(M,) uint8: COPY, ARC, CLOSE, HINT, REPAIR or SEEK."""
    new: Flags
    """(M,) uint8: whether the row sees the event for the first time."""
    tick: Numbers
    used: Numbers
    """(1,) int64."""


def _receipts(room: int) -> Receipts:
    return Receipts(
        event=np.zeros(room, np.int32),
        row=np.zeros(room, np.int32),
        sender=np.zeros(room, np.int32),
        hop=np.zeros(room, np.int32),
        what=np.zeros(room, np.uint8),
        new=np.zeros(room, np.uint8),
        tick=np.zeros(room, np.int64),
        used=np.zeros(1, np.int64),
    )


@sweep
def _spread_mail(
    book: Book,
    now: Now,
    happenings: Happenings,
    views: Views,
    rules: relay.Rules,
    own: Handles,
    seen: Seen,
    mail: Copies,
    first: Offsets,
    order: Handles,
    base: int,
    desk: arcs.Desk,
    out: Copies,
    log: Receipts,
    past: repair.History,
    done: Numbers,
) -> int:
    """Deal with every message, row by row, from row done[0] and its message done[1] on."""
    for i in range(done[0], own.shape[0]):
        for q in range(max(first[i], done[1]), first[i + 1]):
            done[0], done[1] = i, q
            if log.used[0] == log.event.shape[0]:
                return _NO_RECEIPTS
            if 4 * seen.used[0] >= 3 * seen.slots.shape[0]:
                return spread.NO_SEEN
            m = order[q]
            event, what = mail.event[m], mail.what[m]
            state = spread.known(seen, event, i)
            answer = relay.receive(book, now, happenings, views, rules, i, own[i], mail, m, state, desk, out)
            if answer != spread.DONE:
                return answer
            brings = mail.asks[m] == ASK and what in (COPY, ARC, REPAIR)
            new = brings and state == spread.UNKNOWN
            if new:
                repair.remember(past, i, event, now.cycle)
            if brings:
                spread.note(seen, event, i, spread.further(state, what))
            if mail.asks[m] == ASK:
                at = log.used[0]
                log.event[at], log.row[at], log.sender[at], log.hop[at] = event, base + i, mail.sender[m], mail.hop[m]
                log.what[at], log.new[at], log.tick[at] = what, new, now.tick
                log.used[0] = at + 1
        done[1] = 0
    done[0] = own.shape[0]
    return spread.DONE


@sweep
def _learn_all(
    book: Book,
    now: Now,
    it: fingers.Fingers,
    near: vicinity.Near,
    sample: cyclon.Samples,
    own: Handles,
    due: Flags,
    levels: int,
    places: int,
    forget_cycles: int,
) -> None:
    for i in range(own.shape[0]):
        if due[i] != 0:
            fingers.learn(book, now, it, near, sample, i, own[i], levels, places, forget_cycles)


def _wider(columns: Any, wide: Any) -> Any:  # noqa: ANN401  (records of arrays, both of one kind)
    """Copy columns to the beginning of wider ones."""
    for column, wider in zip(columns, wide, strict=True):
        wider[: column.shape[0]] = column
    return wide


class FingersLane(Lane):
    """Peers at every distance. No mail of its own."""

    def __init__(self, world: World, number: int, params: fingers.Params) -> None:
        """No fingers yet."""
        super().__init__(world, number, params)
        self.state = [fingers.fingers(block.rows, params) for block in world.blocks]

    def tick(self, now: Now, mail: Any, due: int) -> None:  # noqa: ANN401, ARG002
        """Look through the other views, where timers are due."""
        if due != 0:
            self.world.each_block(lambda block: self._learn(block, now))

    def _learn(self, block: Block, now: Now) -> None:
        b, lanes = block.number, self.world.lanes
        _learn_all(
            self.world.book, now, self.state[b], lanes["vicinity"].state[b], lanes["cyclon"].state[b], block.own, block.due,
            self.params.levels, self.params.places, self.params.forget_cycles,
        )  # fmt: skip


class SpreadLane(Lane):
    """Events on their way. Its state is what each row has seen; what was received stands in `log`."""

    def __init__(self, world: World, number: int, params: spread.Params) -> None:
        """Nothing published yet."""
        super().__init__(world, number, params)
        attributes = world.book.wants.boxes.shape[2]
        self.rules = relay.rules(params)
        self.happenings = Happenings(np.zeros(0, np.uint64), np.zeros((0, attributes), np.int64))
        self.desks = [arcs.desk() for _ in world.blocks]
        self._room = [1024] * len(world.blocks)
        self._no_history = repair.history(1, 0)
        self.frozen = False
        """Whether events only show how they would spread: nothing of it is remembered."""
        self.state: list[Seen] = []
        self.log: list[Receipts] = []
        self.forget()

    def forget(self) -> None:
        """Nobody has seen anything, and nothing has been received."""
        self.state = [spread.seen(4 * block.rows) for block in self.world.blocks]
        self.log = [_receipts(4 * block.rows) for block in self.world.blocks]

    def publish(self, events: Events, which: Numbers, first: Rows) -> Copies:
        """The messages by which publishers hand some events to their first subscribers (rows; NONE hands over nothing)."""
        self.happenings = Happenings(events.key, events.points)
        found = first != NONE
        out = empty_copies(int(found.sum()))
        out.to[:] = self.world.own[first[found]]
        out.asks[:], out.what[:], out.event[:] = ASK, COPY, which[found]
        out.used[0] = out.to.shape[0]
        return out

    def hand_over(self, events: Events, which: Numbers, first: Rows) -> None:
        """Let publishers hand over some events, before all else that the tick brings."""
        world = self.world
        world.begin()
        now = world.now = Now(world.seed, world.cycle, world.tick)
        self.tick(now, world.collect(self, [(self.publish(events, which, first), False)]))

    def tick(self, now: Now, mail: Any, due: int = 0) -> None:  # noqa: ANN401, ARG002
        """Deal with the mail that has arrived."""
        if mail is None:
            return
        first, order = self.world.route(mail)
        out = [empty_copies(room) for room in self._room]
        self.world.each_block(lambda block: self._deal(block, now, mail, first, order, out))
        written = [taken(copies, slice(0, int(copies.used[0]))) for copies in out if copies.used[0]]
        if written:
            self.world.file(self, whole := joined(written), now, whole.to.shape[0])

    def _deal(self, block: Block, now: Now, mail: Copies, first: Offsets, order: Handles, out: list[Copies]) -> None:
        b, lanes = block.number, self.world.lanes
        views = self.world.views(block)
        past = lanes["repair"].state[b] if "repair" in lanes and not self.frozen else self._no_history
        done = np.zeros(2, np.int64)
        while True:
            lacks = _spread_mail(
                self.world.book, now, self.happenings, views, self.rules, block.own, self.state[b], mail, first[block.at :],
                order, block.base, self.desks[b], out[b], self.log[b], past, done,
            )  # fmt: skip
            if lacks == spread.DONE:
                return
            if lacks == spread.NO_MAIL:
                self._room[b] *= 2
                out[b] = _wider(out[b], empty_copies(self._room[b]))
            elif lacks == spread.NO_SEEN:
                self.state[b] = _rehashed(self.state[b])
            elif lacks == _NO_RECEIPTS:
                self.log[b] = _wider(self.log[b], _receipts(2 * self.log[b].event.shape[0]))
            else:
                self.desks[b] = arcs.desk(2 * self.desks[b].handles.shape[0])


def _rehashed(it: Seen) -> Seen:
    size = 2 * it.slots.shape[0]
    wide = Seen(np.zeros(size, np.uint64), np.zeros(size, np.uint8), np.zeros(1, np.int64))
    used = it.slots != 0
    pairs = it.slots[used] - np.uint64(1)
    event, row = (pairs >> np.uint64(32)).astype(np.int64), (pairs & np.uint64(0xFFFFFFFF)).astype(np.int64)
    _insert_all(wide, event, row, it.states[used])
    return wide


@sweep
def _insert_all(it: Seen, event: Numbers, row: Numbers, state: Flags) -> None:
    for p in range(event.shape[0]):
        spread.note(it, event[p], row[p], state[p])


# ------------------------------------------------------------------------------------------------ while gossip stands still


class Burden(NamedTuple):
    """What each node did for all events."""

    receipts: Numbers
    """(nodes,) int64: event messages received."""
    sends: Numbers
    """(nodes,) int64: event messages sent."""
    control: Numbers
    """(nodes,) int64: other messages sent on behalf of events."""
    wanted: Numbers
    """(nodes,) int64: events it wants."""


@sweep
def _first_all(seed: np.uint64, key: np.ndarray, offsets: Offsets, rows: Rows, alive: Flags, purpose: int, out: Rows) -> None:
    """A random living member of each event's ring, or NONE."""
    for e in range(out.shape[0]):
        out[e] = NONE
        size = offsets[e + 1] - offsets[e]
        if size > 0:
            start = below(draw(seed, key[e], 0, purpose, 0), size)
            for step in range(size):
                row = rows[offsets[e] + (start + step) % size]
                if alive[row] != 0:
                    out[e] = row
                    break


@sweep
def _tally(
    log: Receipts,
    order: Numbers,
    node_of_row: Rows,
    owner: Rows,
    offsets: Offsets,
    wanting: Rows,
    reached: Flags,
    sums: Spread,
    burden: Burden,
) -> None:
    """Sum up receipts in the order they came. Messages between rows of one node are no messages."""
    for q in range(order.shape[0]):
        r = order[q]
        event, row = log.event[r], log.row[r]
        node = node_of_row[row]
        source = NONE if log.sender[r] == NONE else node_of_row[owner[log.sender[r]]]
        if log.what[r] in (CLOSE, HINT, SEEK):
            if source != node:
                sums.control[event] += 1
                burden.control[source] += 1
            continue
        if source != node:
            sums.copies[event] += 1
            burden.receipts[node] += 1
            if source != NONE:
                burden.sends[source] += 1
        low, high = offsets[event], offsets[event + 1]
        last = high
        while low < high:
            middle = (low + high) >> 1
            if wanting[middle] < node:
                low = middle + 1
            else:
                high = middle
        if low == last or wanting[low] != node:
            sums.unwanted[event] += source != node
        elif log.what[r] == REPAIR:
            if reached[low] == _NOT:
                reached[low] = _BY_REPAIR
                sums.delivered[event] += 1
                sums.repaired[event] += 1
        elif reached[low] != _BY_SPREADING:
            sums.delivered[event] += reached[low] == _NOT
            sums.repaired[event] -= reached[low] == _BY_REPAIR
            reached[low] = _BY_SPREADING
            sums.hops[event] += log.hop[r]
            sums.last_hop[event] = max(sums.last_hop[event], np.int64(log.hop[r]))


def _nothing(events: int) -> Spread:
    return Spread(*(np.zeros(events, np.int64) for _ in Spread._fields))


def spread_frozen(
    world: World, events: Events, which: Numbers | None = None, *, ring: Rings | None = None, burden: Burden | None = None
) -> tuple[Spread, Burden]:
    """Let events spread, gossip standing still, each from a random subscriber that wants it.

    Answers, by event, what became of it (events not asked for count nothing), and the burden of each node. `ring` is the
    truth, where the caller has it already for all these events.
    """
    lane = world.lanes["spread"]
    assert isinstance(lane, SpreadLane)  # noqa: S101
    which = np.arange(events.key.shape[0]) if which is None else which
    sums = _nothing(events.key.shape[0])
    nodes = int(world.people.node.max()) + 1
    burden = burden or Burden(*(np.zeros(nodes, np.int64) for _ in Burden._fields))
    ends = np.concatenate(([0], np.cumsum(events.matches[which], dtype=np.int64)))
    start = 0
    while start < which.shape[0]:
        stop = max(start + 1, int(np.searchsorted(ends, ends[start] + _BATCH, side="right")) - 1)
        _spread_batch(world, lane, events, which[start:stop], ring, sums, burden)
        start = stop
    return sums, burden


def _spread_batch(
    world: World, lane: SpreadLane, events: Events, which: Numbers, ring: Rings | None, sums: Spread, burden: Burden
) -> None:
    mine = true_rings(world.people, events.points[which], world.cycle) if ring is None else _part(ring, which)
    wanting = by_node(world.people, mine)
    first = np.empty(which.shape[0], np.int32)
    _first_all(world.seed, events.key[which], mine.offsets, mine.rows, world.alive, Purpose.SAMPLE, first)
    lane.forget()
    tick, now, calendar, sent, happenings = world.tick, world.now, world.calendar, dict(lane.sent), lane.happenings
    views = {name: [_copied(state) for state in world.lanes[name].state] for name in _CHANGED if name in world.lanes}
    world.calendar, lane.frozen = defaultdict(lambda: defaultdict(list)), True
    world.calendar[tick]["spread"].append((lane.publish(events, np.arange(which.shape[0]), first), False))
    lane.happenings = Happenings(events.key[which], np.ascontiguousarray(events.points[which]))
    try:
        at = tick
        while world.calendar:
            arrived = world.calendar.pop(at, None)
            if arrived:
                world.now = Now(world.seed, world.cycle, at)
                lane.tick(world.now, world.collect(lane, arrived["spread"]))
            at += 1
    finally:
        world.now, world.calendar, lane.sent, lane.frozen, lane.happenings = now, calendar, sent, False, happenings
        for name, states in views.items():
            world.lanes[name].state = states
    local = _tallied(world, lane, wanting, which.shape[0], burden)
    for mine_column, column in zip(local, sums, strict=True):
        column[which] = mine_column
    lane.forget()


_CHANGED = ("rings", "vicinity", "cyclon", "fingers", "alive")
"""Layers whose views a failed send changes; looking must not change what is seen."""


def _copied(state: Any) -> Any:  # noqa: ANN401
    return type(state)(*(column.copy() for column in state))


def _tallied(world: World, lane: SpreadLane, wanting: Pairs, events: int, burden: Burden) -> Spread:
    local = _nothing(events)
    reached = np.zeros(wanting.members.shape[0], np.uint8)
    columns: list[Any] = [
        np.concatenate([log[c][: int(log.used[0])] for log in lane.log]) for c in range(len(Receipts._fields) - 1)
    ]
    log = Receipts(*[*columns, np.array([columns[0].shape[0]])])
    order = np.argsort(log.tick, kind="stable")
    _tally(log, order, world.people.node, world.book.owner, wanting.offsets, wanting.members, reached, local, burden)
    local.wanted[:] = np.diff(wanting.offsets)
    np.add.at(burden.wanted, wanting.members, 1)
    return local


# ------------------------------------------------------------------------------------------------ together with gossip


def publish_now(world: World, events: Events, which: Numbers) -> None:
    """Hand some events to a random subscriber each, in the tick to come; they spread while gossip goes on."""
    lane = world.lanes["spread"]
    assert isinstance(lane, SpreadLane)  # noqa: S101
    world.begin()
    ring = true_rings(world.people, events.points[which], world.cycle)
    first = np.empty(which.shape[0], np.int32)
    _first_all(world.seed, events.key[which], ring.offsets, ring.rows, world.alive, Purpose.SAMPLE, first)
    lane.hand_over(events, which, first)


def tallied(world: World, ring: Rings) -> tuple[Spread, Burden]:
    """What has become so far of all events published together with gossip, against the truth."""
    lane = world.lanes["spread"]
    assert isinstance(lane, SpreadLane)  # noqa: S101
    burden = Burden(*(np.zeros(int(world.people.node.max()) + 1, np.int64) for _ in Burden._fields))
    wanting = by_node(world.people, ring)
    return _tallied(world, lane, wanting, ring.offsets.shape[0] - 1, burden), burden


def _part(ring: Rings, which: Numbers) -> Rings:
    """The rings of some of the events."""
    size = np.diff(ring.offsets)[which]
    offsets = np.concatenate(([0], np.cumsum(size)))
    at = np.repeat(ring.offsets[:-1][which] - offsets[:-1], size) + np.arange(offsets[-1])
    return Rings(offsets, ring.rows[at], ring.handles[at])
