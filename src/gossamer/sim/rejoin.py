"""Single joins: a subscriber is taken out of a converged overlay, with all links to it, and joins again (Sub-2-Sub, section 5).

It is given one random contact, as any newcomer, and cycles run until all ring links from it and all ring links to it are in
place again. Both are told apart. Links are judged by the test events it wants and by points drawn in its own box, so a row
that wants no test event is judged as well.

The surprising thing: several join at once, though the paper has them one at a time. They start from the same saved world,
and those of one group want nothing in common, so none is in another's rings or can tell another anything that it needs;
each group is at most one row in two hundred. A thousand joins then take the time of some tens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import numpy as np

from gossamer.arrays import NONE, Coordinates, Counts, Flags, Keys, Rows
from gossamer.draws import Purpose, below, draw
from gossamer.jit import sweep
from gossamer.measure.ring import links_of
from gossamer.scenario.workload import Events
from gossamer.sim import leave
from gossamer.sim.checkpoint import capture, restore
from gossamer.sim.watch import Watch
from gossamer.sim.world import World

__all__ = ["Rejoined", "groups", "rejoin"]

_IN_GROUP: Final = 200
_POINTS: Final = 16
_REJOIN = Purpose.REJOIN


class Rejoined(NamedTuple):
    """Who joined again, and when."""

    rows: Rows
    begun: int
    done_from: Counts
    """Cycle from which on all its own links are in place; NONE where they never were."""
    done_to: Counts
    """Cycle from which on all its neighbours link to it; NONE where they never did."""


@sweep
def _draw_points(seed: np.uint64, keys: Keys, boxes: Coordinates, points: Coordinates) -> None:
    """Points within each box, evenly."""
    for j in range(keys.shape[0]):
        for n in range(points.shape[1]):
            for d in range(points.shape[2]):
                low, high = boxes[j, 0, d], boxes[j, 1, d]
                bits = draw(seed, keys[j], n + 1, _REJOIN, d + 1)
                points[j, n, d] = low + below(bits, high - low + 1)


@sweep
def _draw_contacts(seed: np.uint64, keys: Keys, known: Rows, out: Rows) -> None:
    """One of the rows for each key."""
    for j in range(keys.shape[0]):
        out[j] = known[below(draw(seed, keys[j], 0, _REJOIN, 1), known.shape[0])]


def groups(boxes: Coordinates, most: int) -> Iterator[list[int]]:
    """Positions of boxes, in groups of so many at most, within which no two overlap; each goes to the first group it fits."""
    found: list[list[int]] = []
    for j in range(boxes.shape[0]):
        for group in found:
            if len(group) < most:
                others = boxes[group]
                meet = (others[:, 0] <= boxes[j, 1]).all(axis=1) & (boxes[j, 0] <= others[:, 1]).all(axis=1)
                if not meet.any():
                    group.append(j)
                    break
        else:
            found.append([j])
    yield from found


def rejoin(
    world: World,
    rows: Rows,
    events: Events,
    limit: int,
    *,
    threads: int = 1,
    go_on: Callable[[float], bool] = lambda _: True,
) -> Rejoined | None:
    """Let rows join again, and leave the world as it was; None when `go_on` (told the share done) said to stop."""
    begun, before = world.cycle, capture(world)
    done_from, done_to = np.full(rows.shape[0], NONE, np.int32), np.full(rows.shape[0], NONE, np.int32)
    boxes = world.book.wants.boxes[world.own[rows]]
    parted = list(groups(boxes, max(1, world.rows // _IN_GROUP)))
    done = 0
    try:
        for group in parted:
            if not go_on(done / max(rows.shape[0], 1)):
                return None
            restore(world, before)
            some = np.array(group)
            some = some[np.argsort(rows[some])]
            done_from[some], done_to[some] = _together(world, rows[some], events, limit, threads)
            done += some.shape[0]
    finally:
        restore(world, before)
    return Rejoined(rows, begun, done_from, done_to)


def _together(world: World, rows: Rows, events: Events, limit: int, threads: int) -> tuple[Counts, Counts]:
    """Let one group join again, from the world as it is; when its links from and to each row were in place."""
    watch = Watch(world, _told_by(world, rows, events), threads=threads)
    gone = np.zeros(world.rows, np.uint8)
    gone[rows] = 1
    _take_out(world, rows, gone)
    contacts = np.empty(rows.shape[0], np.int32)
    others = np.flatnonzero((world.alive != 0) & (gone == 0)).astype(np.int32)
    if others.size:
        _draw_contacts(world.seed, world.people.key[rows], others, contacts)
        world.introduce(rows, contacts)
    found = np.full((rows.shape[0], 2), NONE, np.int32)
    watch.learn()
    for _ in range(limit + 1):
        if not world.begin().quiet:
            watch.learn()
        judged = watch.judge()
        for j, row in enumerate(rows.tolist()):
            if found[j].min() == NONE:
                out, into, wanted = links_of(judged, watch.targets, watch.rings.offsets, row)
                for way, right in enumerate((out, into)):
                    if right == wanted and found[j, way] == NONE:
                        found[j, way] = world.cycle
        if found.min() != NONE:
            break
        world.run_cycle()
    return found[:, 0], found[:, 1]


def _take_out(world: World, rows: Rows, gone: Flags) -> None:
    """Strike rows from all views and from the mail, and empty their own views."""
    for block in world.blocks:
        for lane in world.lanes.values():
            leave.strike(world.book, block.own, gone, lane.state[block.number])
    world.forget(rows)
    for mails in world.calendar.values():
        for batches in mails.values():
            for mail, _ in batches:
                leave.strike_mail(world.book, gone, mail)


def _told_by(world: World, rows: Rows, events: Events) -> Events:
    """The events by which the links of some rows are judged: those they want, and points of their own."""
    boxes = world.book.wants.boxes[world.own[rows]]
    wanted = np.zeros(events.key.shape[0], np.bool_)
    for box in boxes:
        wanted |= ((events.points >= box[0]) & (events.points <= box[1])).all(axis=1)
    own = np.empty((rows.shape[0], _POINTS, boxes.shape[2]), np.int64)
    _draw_points(world.seed, world.people.key[rows], boxes, own)
    points = np.concatenate([events.points[wanted], own.reshape(-1, boxes.shape[2])])
    count = points.shape[0]
    nothing = np.full(count, NONE, np.int32)
    return Events(np.zeros(count, np.uint64), points, nothing, nothing, nothing)
