"""The post: who gets which messages in a tick, and in what order.

Mail is applied in (receiver, sender key, n). Rows are numbered by key, so a stable counting sort by receiver does it, and
only where messages of several moments meet are the few of one receiver sorted by sender.
"""

from __future__ import annotations

import numpy as np

from gossamer.arrays import NONE, Flags, Handles, Keys, Mask, Offsets, Rows, Ticks
from gossamer.jit import sweep, tiny
from gossamer.protocol.view import BOUNCE
from gossamer.scenario.network import delay, lost, separated

__all__ = ["arrivals", "lose", "part", "return_undeliverable", "route"]


@tiny
def _mailbox(owner: Rows, many: int, handle: int) -> int:
    """The row that a handle speaks of. The first handles are the rows themselves, so the column is seldom asked."""
    return handle if handle < many else int(owner[handle])


@tiny
def _each_in_its_place(to: Handles, owner: Rows, many: int, base: int, first: Offsets, order: Handles) -> bool:
    """Group messages that stand at their receivers' numbers already, as answers do, and say whether all of them did."""
    rows = first.shape[0] - 1
    if to.shape[0] != rows:
        return False
    first[0] = 0
    for r in range(rows):
        first[r + 1] = first[r]
        if to[r] != NONE:
            if _mailbox(owner, many, to[r]) != base + r:
                return False
            order[first[r]] = r
            first[r + 1] += 1
    return True


@tiny
def _behind(sender: Handles, asks: Flags, owner: Rows, one: int, other: int) -> bool:
    """Whether one message to a row is to be looked at after another."""
    first, second = owner[sender[one]], owner[sender[other]]
    return bool(first > second or (first == second and asks[one] == BOUNCE and asks[other] != BOUNCE))


@sweep
def route(
    to: Handles,
    sender: Handles,
    asks: Flags,
    owner: Rows,
    many: int,
    base: int,
    in_order: int,
    first: Offsets,
    order: Handles,
) -> None:
    """Group messages by receiving row: row base + r gets order[first[r]:first[r + 1]], by sender and then by number.

    What comes back from one that is gone stands behind what it wrote while it was there.

    many     : int  rows there are in all; they are the first handles
    in_order : int  whether messages are numbered by sender already
    """
    rows = first.shape[0] - 1
    if _each_in_its_place(to, owner, many, base, first, order):
        return
    for r in range(rows + 1):
        first[r] = 0
    for m in range(to.shape[0]):
        if to[m] != NONE:
            first[_mailbox(owner, many, to[m]) - base + 1] += 1
    for r in range(rows):
        first[r + 1] += first[r]
    for m in range(to.shape[0]):
        if to[m] != NONE:
            r = _mailbox(owner, many, to[m]) - base
            order[first[r]] = m
            first[r] += 1
    for r in range(rows, 0, -1):
        first[r] = first[r - 1]
    first[0] = 0
    if in_order == 0:
        for r in range(rows):
            for q in range(first[r] + 1, first[r + 1]):
                m, at = order[q], q
                while at > first[r] and _behind(sender, asks, owner, order[at - 1], m):
                    order[at] = order[at - 1]
                    at -= 1
                order[at] = m


@sweep
def return_undeliverable(to: Handles, sender: Handles, asks: Flags, owner: Rows, alive: Flags, silent: Mask) -> int:
    """Turn messages to the dead into bounces, or into nothing where the dead fell silent; how many there were.

    A bounce travels back as any message does: a reset link is noticed one delay later.
    """
    dead = 0
    for m in range(to.shape[0]):
        if to[m] == NONE or alive[owner[to[m]]] != 0:
            continue
        dead += 1
        if asks[m] == BOUNCE or silent[owner[to[m]]]:
            to[m] = NONE
        else:
            to[m], sender[m], asks[m] = sender[m], to[m], BOUNCE
    return dead


@sweep
def lose(to: Handles, sender: Handles, asks: Flags, key: Keys, seed: np.uint64, tick: int, lane: int, bound: np.uint64) -> int:
    """Strike out what is lost on the way; how much."""
    gone = 0
    for m in range(to.shape[0]):
        if to[m] != NONE and lost(seed, key[sender[m]], key[to[m]], tick, 4 * lane + asks[m], 0, bound):
            to[m] = NONE
            gone += 1
    return gone


@sweep
def part(to: Handles, sender: Handles, owner: Rows, node: Rows, seed: np.uint64, which: int, bound: np.uint64) -> int:
    """Strike out what would cross a partition; how much."""
    gone = 0
    for m in range(to.shape[0]):
        if to[m] != NONE and separated(seed, np.uint64(node[owner[sender[m]]]), np.uint64(node[owner[to[m]]]), which, bound):
            to[m] = NONE
            gone += 1
    return gone


@sweep
def arrivals(to: Handles, sender: Handles, key: Keys, seed: np.uint64, tick: int, low: int, high: int, out: Ticks) -> None:
    """When each message arrives; NONE for those not written."""
    for m in range(to.shape[0]):
        out[m] = NONE if to[m] == NONE else tick + delay(seed, key[sender[m]], key[to[m]], low, high)
