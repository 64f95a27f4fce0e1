"""Events that travel while gossip goes on: published at their cycles, carried by the lane of events, written down as received.

Who wants an event is asked of the truth at the moment it is published. When the last cycle is over, gossip stops, and what
is still on its way is let arrive.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gossamer.arrays import NONE, Counts, Keys, Mask, Numbers, Offsets, Rows
from gossamer.draws import Purpose, below, draw
from gossamer.jit import sweep
from gossamer.measure.delivery import Received, summarise
from gossamer.protocol.spread import ARC, COPY, REPAIR, Happenings
from gossamer.protocol.view import Now
from gossamer.scenario.workload import Events
from gossamer.sim.spreading import Receipts, SpreadLane
from gossamer.sim.world import World
from gossamer.trace.columns import Trace
from gossamer.trace.folder import column
from gossamer.truth.judge import by_node, rings

__all__ = ["Ride"]

_PUBLISHER = Purpose.PUBLISHER
_LANE: Final = "spread"
_PATIENCE: Final = 10
"""Cycles an event is given to reach somebody: who leaves sooner is not counted among those who want it."""


@sweep
def _pick_all(seed: np.uint64, key: Keys, offsets: Offsets, rows: Rows, out: Rows) -> None:
    """A random one of those who want each event, or NONE."""
    for e in range(out.shape[0]):
        size = offsets[e + 1] - offsets[e]
        out[e] = NONE if size == 0 else rows[offsets[e] + below(draw(seed, key[e], 0, _PUBLISHER, 1), size)]


def _together(logs: list[Receipts]) -> Receipts:
    """What all blocks have received since this was last asked for, in the order in which one block would have received it.

    By tick, in each first what publishers handed over, then by row.
    """
    written = [[part[: int(log.used[0])] for part in log[:-1]] for log in logs]
    columns: list[Any] = [np.concatenate(parts) for parts in zip(*written, strict=True)]
    for log in logs:
        log.used[0] = 0
    whole = Receipts(*[*columns, np.array([columns[0].shape[0]])])
    order = np.lexsort((whole.row, whole.sender != NONE, whole.tick))
    sorted_columns: list[Any] = [column[order] for column in whole[:-1]]
    return Receipts(*[*sorted_columns, whole.used])


class Ride:
    """The events of one run, while it goes on."""

    def __init__(self, world: World, events: Events, trace: Trace) -> None:
        lane = world.lanes[_LANE]
        if not isinstance(lane, SpreadLane):
            raise TypeError(type(lane))
        self.world, self.events, self.trace, self.lane = world, events, trace, lane
        self.lane.happenings = Happenings(events.key, events.points)
        self.control = np.zeros(events.key.shape[0], np.int64)
        """Messages about each event that do not carry it."""
        self.control_of = np.zeros(int(world.people.node.max()) + 1, np.int64)
        """Those sent by each node."""
        self._nodes_leave = _by_node(world)

    def publish(self) -> None:
        """Hand the events of this cycle to their first subscribers."""
        world, cycle = self.world, self.world.cycle
        which = np.flatnonzero(self.events.cycle == cycle)
        if not which.size:
            return
        ring = rings(world.people, self.events.points[which], cycle)
        first = np.empty(which.shape[0], np.int32)
        _pick_all(world.seed, self.events.key[which], ring.offsets, ring.rows, first)
        self.lane.hand_over(self.events, which, first)
        wanted = np.diff(by_node(world.people, ring).offsets)
        self.trace["publications"].append(event=which, cycle=cycle, tick=world.tick, first=first, tries=0, wanted=wanted)

    def write_down(self, cycle: int) -> None:
        """Write down all that was received since this was last asked for, in the order it came."""
        people, owner = self.world.people, self.world.book.owner
        for log in [_together(self.lane.log)]:
            used = int(log.used[0])
            log.used[0] = 0
            order = np.argsort(log.tick[:used], kind="stable")
            event, row, sender = (part[:used][order] for part in (log.event, log.row, log.sender))
            node = people.node[row]
            source = np.where(sender == NONE, NONE, owner[sender])
            apart = np.logical_or(source == NONE, people.node[source] != node)
            what = log.what[:used][order]
            carries = np.isin(what, (COPY, ARC, REPAIR))
            control = apart & ~carries
            np.add.at(self.control, event[control], 1)
            np.add.at(self.control_of, people.node[source[control]], 1)
            mail = apart & carries
            box, point = people.boxes[self.world.own[row]], self.events.points[event]
            wanted = np.all((box[:, 0] <= point) & (point <= box[:, 1]), axis=1)
            self.trace["receipts"].append(
                event=event[mail],
                node=node[mail],
                row=row[mail],
                sender=source[mail],
                cycle=cycle,
                tick=log.tick[:used][order][mail],
                hop=log.hop[:used][order][mail],
                wanted=wanted[mail],
                duplicate=log.new[:used][order][mail] == 0,
                repaired=what[mail] == REPAIR,
            )

    def finish(self) -> None:
        """Let arrive what is on its way, and sum up by event and by node."""
        world = self.world
        for mails in world.calendar.values():
            for name in [name for name in mails if name != _LANE]:
                del mails[name]
        while any(world.calendar.values()):
            arrived = world.calendar.pop(world.tick, None)
            if arrived:
                now = Now(world.seed, world.cycle, world.tick)
                self.lane.tick(now, world.collect(self.lane, arrived[_LANE]), 0)
            world.tick += 1
        self.write_down(world.scenario.cycles)
        self._sum_up()

    def _sum_up(self) -> None:
        people, count = self.world.people, self.events.key.shape[0]
        published = np.flatnonzero(self.events.cycle < self.world.scenario.cycles)
        sizes, members, stay = np.zeros(count, np.int64), [], []
        for cycle in np.unique(self.events.cycle[published]).tolist():
            which = np.flatnonzero(self.events.cycle == cycle)
            ring = by_node(people, rings(people, self.events.points[which], cycle))
            sizes[which] = np.diff(ring.offsets)
            members.append(ring.members)
            stay.append(self._nodes_leave[ring.members] > cycle + _PATIENCE)
        wanting = np.concatenate(members) if members else np.empty(0, np.int32)
        staying = np.concatenate(stay) if stay else np.empty(0, np.bool_)
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        receipts = self.trace["receipts"].table()
        received = Received(*(column(receipts, name) for name in Received._fields))
        spread = summarise(received, offsets, wanting, staying=staying, control=self.control)
        self._hand_over(received, column(receipts, "cycle"), column(receipts, "wanted"))
        node, sender = received.node, column(receipts, "sender")
        some: Numbers = published
        self.trace["spreads"].append(
            event=some, cycle=self.events.cycle[some], **{name: part[some] for name, part in spread._asdict().items()}
        )
        nodes = self.control_of.shape[0]
        self.trace["nodes"].append(
            node=np.arange(nodes),
            wanted=np.bincount(wanting, minlength=nodes),
            receipts=np.bincount(node, minlength=nodes),
            sends=np.bincount(people.node[sender[sender != NONE]], minlength=nodes),
            control=self.control_of,
        )

    def _hand_over(self, received: Received, cycle: Numbers, wanted: Mask) -> None:
        """Write down what the application of each node got: every event once, when it first came."""
        order = np.lexsort((received.hop, received.tick, received.node, received.event))
        order = order[wanted[order]]
        event, node = received.event[order], received.node[order]
        first = np.ones(order.shape[0], np.bool_)
        first[1:] = (event[1:] != event[:-1]) | (node[1:] != node[:-1])
        some = order[first]
        self.trace["deliveries"].append(
            event=received.event[some],
            node=received.node[some],
            cycle=cycle[some],
            tick=received.tick[some],
            hop=received.hop[some],
            repaired=received.repaired[some],
        )


def _by_node(world: World) -> Counts:
    """The cycle in which each node leaves."""
    leaves = np.zeros(int(world.people.node.max()) + 1, np.int32)
    leaves[world.people.node] = world.people.leaves
    return leaves
