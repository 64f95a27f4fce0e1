"""A world cut into parts: each holds one block of the rows, and somebody else carries the mail between them.

A part is a ``World`` of a span of rows. Between two ticks it is its state, as arrays, and nothing else: mail for a tick is
handed in before it, and after it all that was written is handed out, sorted by the block it goes to. So a part can be laid
aside after any tick and taken up elsewhere. Parts together do what one world does, to the last byte.

The surprising thing is where mail to the dead goes: to the *sender's* block. A message to one who will be dead when it arrives
comes back in that same tick, and who will be dead is known beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gossamer.arrays import NONE, Counts, Handles, Numbers, Offsets, Rows
from gossamer.jit import sweep
from gossamer.scenario.population import Population
from gossamer.scenario.scenario import Scenario
from gossamer.sim.checkpoint import Arrays, block_state, set_block_state
from gossamer.sim.lanes import Post, joined, taken
from gossamer.sim.world import World, cuts
from gossamer.system.plan import Plan

__all__ = ["Batch", "Piece", "hand_in", "hand_out", "lay_aside", "part", "piece", "take_up"]


class Batch(NamedTuple):
    """Messages of one layer, written in one tick by one block, that arrive in one tick; sorted by the block they go to."""

    tick: int
    """When they arrive."""
    lane: str
    fresh: bool
    """Whether they are numbered by sender, within each block they go to."""
    mail: Post
    ends: Offsets
    """(blocks + 1,) int64: block b gets ends[b] .. ends[b + 1]."""


class Piece(NamedTuple):
    """The part of a batch that goes to one block."""

    written: int
    """In which tick."""
    source: int
    """By which block. Its pieces of one tick stand in the order it wrote them."""
    fresh: bool
    mail: Post


def piece(batch: Batch, written: int, source: int, block: int) -> Piece:
    """What of a batch goes to a block."""
    mine = slice(int(batch.ends[block]), int(batch.ends[block + 1]))
    return Piece(written, source, batch.fresh, taken(batch.mail, mine))


def part(scenario: Scenario, plan: Plan, people: Population, seed: int, blocks: int, number: int) -> World:
    """One block of a world, before anything has happened."""
    ends = cuts(people.key.shape[0], blocks)
    return World(scenario, plan, people, seed, span=(ends[number], ends[number + 1]))


def take_up(world: World, number: int, state: Arrays, tick: int, begun: int) -> None:
    """Make a part what it was when it was laid aside, at the beginning of a tick in which so many cycles have begun."""
    set_block_state(world, 0, state, number)
    world.set_clock(tick, begun)


def lay_aside(world: World, number: int) -> Arrays:
    """A part's state under the block's number; no copies."""
    return {path.replace("/0/", f"/{number}/", 1): column for path, column in block_state(world, 0).items()}


def hand_in(world: World, lane: str, pieces: Sequence[Piece]) -> None:
    """Give a part all the mail of a layer for the tick to come."""
    if not pieces:
        return
    pieces = sorted(pieces, key=lambda piece: (piece.written, piece.source))
    # One batch of each block, blocks rising and so their senders: all are numbered by sender, as each is.
    alone = len({piece.source for piece in pieces}) == len(pieces)
    at_once = len({piece.written for piece in pieces}) == 1
    in_order = alone and at_once and all(piece.fresh for piece in pieces)
    mail = taken(pieces[0].mail, slice(None)) if len(pieces) == 1 else joined([piece.mail for piece in pieces])
    world.calendar[world.tick][lane].append((mail, in_order))


def hand_out(world: World, blocks: int) -> list[Batch]:
    """Take out of a part all that it has written."""
    ends = np.array(cuts(world.own.shape[0], blocks), np.int32)
    found = []
    for tick, mails in sorted(world.calendar.items()):
        for lane, batches in mails.items():
            found += [_sorted(world, ends, tick, lane, mail, fresh=fresh) for mail, fresh in batches]
    world.calendar.clear()
    return [batch for batch in found if batch.ends[-1]]


def _sorted(world: World, ends: Counts, tick: int, lane: str, mail: Post, *, fresh: bool) -> Batch:
    people = world.people
    block = np.empty(mail.to.shape[0], np.int32)
    first = np.zeros(ends.shape[0], np.int64)
    _address(mail.to, mail.sender, world.book.owner, people.joins, people.leaves, tick // world.period, ends, block, first)
    order = np.empty(int(first[-1]), np.int64)
    _sort(block, first[:-1].copy(), order)
    return Batch(tick, lane, fresh, taken(mail, order), first)


@sweep
def _address(
    to: Handles,
    sender: Handles,
    owner: Rows,
    joins: Counts,
    leaves: Counts,
    cycle: int,
    ends: Counts,
    block: Counts,
    first: Offsets,
) -> None:
    """The block each message goes to, and where each block's messages begin when they are sorted."""
    blocks = ends.shape[0] - 1
    for m in range(to.shape[0]):
        block[m] = NONE
        if to[m] == NONE:
            continue
        row = owner[to[m]]
        if cycle < joins[row] or cycle >= leaves[row]:
            row = owner[sender[m]]
        low, high = 0, blocks
        while high - low > 1:
            middle = (low + high) // 2
            if ends[middle] <= row:
                low = middle
            else:
                high = middle
        block[m] = low
        first[low + 1] += 1
    for b in range(blocks):
        first[b + 1] += first[b]


@sweep
def _sort(block: Counts, at: Numbers, order: Numbers) -> None:
    for m in range(block.shape[0]):
        if block[m] != NONE:
            order[at[block[m]]] = m
            at[block[m]] += 1
