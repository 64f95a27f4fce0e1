"""What all rows of a world know, as one number; and as one a row, for whoever looks for a difference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, cast

import numpy as np

from gossamer.arrays import Keys
from gossamer.protocol.fingerprint import Past, of_rows, total
from gossamer.protocol.repair import History
from gossamer.protocol.spread import Seen
from gossamer.sim.spreading import SpreadLane
from gossamer.sim.world import Block, World

__all__ = ["fingerprint", "prints"]


def fingerprint(world: World) -> int:
    """What all that are alive know, as one number: the same for any blocks, threads and drivers; those of parts add up."""
    return total(prints(world), world.alive[slice(*world.span)] != 0)


def prints(world: World) -> Keys:
    """What each row knows, as one number a row; that of the dead means nothing."""
    return np.concatenate([of_rows(world.book, block.own, list(_told(world, block))) for block in world.blocks])


def _told(world: World, block: Block) -> Iterator[NamedTuple]:
    """The states of a block that are a part of its fingerprint."""
    for lane in world.lanes.values():
        state = lane.state[block.number]
        match state:
            case Seen():
                pass
            case History():
                yield Past(state, cast("SpreadLane", world.lanes["spread"]).happenings.key)
            case _:
                yield state
