"""Publishers looking for a first subscriber, in a world that stands still.

A search takes a handful of exchanges and changes nobody's views, so all publishers search at once and gossip waits. A cycle
here is one round of questions and their answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gossamer.arrays import NONE, Counts, Flags, Handles, Numbers, Reals, Rows
from gossamer.jit import sweep
from gossamer.protocol import cyclon, links, search, vicinity
from gossamer.protocol.descriptor import Book
from gossamer.scenario.workload import Events

if TYPE_CHECKING:
    from gossamer.sim.world import World

__all__ = ["Searched", "searched"]


class Searched(NamedTuple):
    """What became of each publisher's search."""

    cycles: Counts
    """(S,) int32: rounds until a subscriber was found; NONE where nobody was."""
    found: Handles
    """(S,) int32: whom; NONE where nobody was."""
    messages: Counts
    """(S,) int32: questions and answers."""


@sweep
def _start_all(book: Book, it: search.Seekers, contact: Handles) -> None:
    for s in range(contact.shape[0]):
        search.start(book, it, s, contact[s])


@sweep
def _ask_all(it: search.Seekers, out: Searched, cycle: int, fanout: int, to: Handles) -> int:
    """Note who has found somebody; let the others ask. Answers how many questions there are."""
    count = 0
    for s in range(out.cycles.shape[0]):
        if out.cycles[s] != NONE:
            continue
        handle = search.found(it, s)
        if handle != NONE:
            out.cycles[s], out.found[s] = cycle, handle
            continue
        asked = search.request(it, s, fanout, to[s])
        out.messages[s] += asked
        count += asked
        for k in range(asked, fanout):
            to[s, k] = NONE
    return count


@sweep
def _answer_block(
    book: Book,
    it: search.Seekers,
    view: links.Links,
    near: vicinity.Near,
    sample: cyclon.Samples,
    base: int,
    rows: int,
    alive: Flags,
    out: Searched,
    to: Handles,
    entries: Handles,
    apart: Reals,
    merged: Numbers,
) -> None:
    """Answer every question to a row of one block, and merge the answer at once: order does not matter to the nearest."""
    for s in range(to.shape[0]):
        if out.cycles[s] != NONE:
            continue
        for k in range(to.shape[1]):
            if to[s, k] == NONE:
                continue
            i = book.owner[to[s, k]] - base
            if 0 <= i < rows and alive[base + i] != 0:
                count = search.reply(book, it.points[s], view, near, sample, i, entries, apart)
                search.merge(book, it, s, entries, count)
                out.messages[s] += 1
                merged[0] += 1


def searched(world: World, publishers: Events, params: search.Params | None = None) -> Searched:
    """Let each publisher search from the one row it knows (`publishers.publisher`), up to the limit of cycles."""
    params = params or search.Params()
    count = publishers.key.shape[0]
    nobody = np.full(count, NONE, np.int32)
    out = Searched(nobody, nobody.copy(), np.zeros(count, np.int32))
    it = search.seekers(publishers.points, params)
    contact: Rows = publishers.publisher
    _start_all(world.book, it, np.where(contact == NONE, NONE, world.own[contact]).astype(np.int32))
    to = np.full((count, params.fanout), NONE, np.int32)
    entries, apart = np.zeros(params.entries, np.int32), np.zeros(params.entries)
    merged = np.zeros(1, np.int64)
    for cycle in range(params.limit_cycles + 1):
        questions = _ask_all(it, out, cycle, params.fanout, to)
        if not questions or cycle == params.limit_cycles:
            break
        for block in world.blocks:
            lanes, b = world.lanes, block.number
            _answer_block(
                world.book, it, lanes["rings"].state[b], lanes["vicinity"].state[b], lanes["cyclon"].state[b],
                block.base, block.rows, world.alive, out, to, entries, apart, merged,
            )  # fmt: skip
    return out
