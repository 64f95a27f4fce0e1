"""What holds in every world at any moment, whatever happens to it. Called by tests after each cycle, and by whoever doubts.

Nothing here is clever: each line is one sentence about one layer's views.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gossamer.arrays import NONE, Handles, Rows
from gossamer.protocol import cyclon, fingers, links, selection, vicinity
from gossamer.protocol.cyclon import Samples
from gossamer.protocol.links import Links

if TYPE_CHECKING:
    from gossamer.sim.world import Block, World

__all__ = ["faults"]


def faults(world: World) -> list[str]:
    """What is wrong with the world, a line for each kind of fault in each block; nothing when all is well."""
    found: list[str] = []
    for block in world.blocks:
        for name, lane in world.lanes.items():
            state = lane.state[block.number]
            match state:
                case cyclon.Samples() | vicinity.Near() | fingers.Fingers():
                    told = _view(world, block, state.handles)
                    if isinstance(state, Samples):
                        told += _locks(state)
                case links.Links():
                    told = _links(world, block, state)
                case _:
                    told = []
            found += [f"block {block.number}, {name}: {fault}" for fault in told]
    return found


def _view(world: World, block: Block, handles: Handles) -> list[str]:
    """Faults of views with so many places a row."""
    rows = np.repeat(np.arange(block.rows), handles.shape[1]).reshape(handles.shape)[handles != NONE]
    return _entries(world, block, rows.astype(np.int32), handles[handles != NONE])


def _entries(world: World, block: Block, rows: Rows, handles: Handles) -> list[str]:
    """Faults of entries, each in the view of a row of the block."""
    found = []
    who = world.book.owner[handles].astype(np.int64)
    if (who == rows + block.base).any():
        found.append("a row knows itself")
    pairs = (rows.astype(np.int64) << 32) + who
    if np.unique(pairs).shape[0] < pairs.shape[0]:
        found.append("a row knows a peer twice")
    if (world.alive[rows + block.base] == 0).any():
        found.append("a dead row knows somebody")
    if (world.people.joins[who] > world.cycle).any():
        found.append("a row knows one who is not yet born")
    if (world.book.version[handles] > world.book.version[world.own[who]]).any():
        found.append("a row knows what nobody has said yet")
    return found


def _locks(state: Samples) -> list[str]:
    """Locked places are never free."""
    places = state.handles.shape[1]
    locked = (state.pending[:, None] >> np.arange(places, dtype=np.uint64)) & np.uint64(1) != 0
    return ["a free place is locked"] if (locked & (state.handles == NONE)).any() else []


def _links(world: World, block: Block, state: Links) -> list[str]:
    """Ring views lie in the arena one after the other, in order of offset, and all of it overlaps."""
    found = []
    size = state.size.astype(np.int64)
    if (state.size < 0).any() or (state.size > state.room).any():
        return ["a ring view is larger than its room"]
    rows = np.repeat(np.arange(block.rows), size)
    ends = np.cumsum(size)
    place = np.arange(int(ends[-1]) if size.size else 0) - np.repeat(ends - size, size) + np.repeat(state.start, size)
    handles, offset = state.handles[place], state.offset[place]
    if (handles == NONE).any():
        return ["a ring link leads nowhere"]
    found += _entries(world, block, rows.astype(np.int32), handles)
    key, boxes, own = world.book.key, world.book.wants.boxes, block.own[rows]
    if (key[handles] - key[own] != offset).any():
        found.append("an offset is not the distance of keys")
    same = rows[1:] == rows[:-1]
    if (same & (offset[1:] <= offset[:-1])).any():
        found.append("ring links are out of order")
    # A row that changed its mind, or has lost a link, judges its links anew at the next mail it gets.
    settled = state.stale[rows] == 0
    meets = ((boxes[own, 0] <= boxes[handles, 1]) & (boxes[handles, 0] <= boxes[own, 1])).all(axis=1)
    if (settled & ~meets).any():
        found.append("a ring link does not overlap its row")
    if (settled & (state.marks[place] & selection.BOTH == 0)).any():
        found.append("a ring link is next for no event")
    return found
