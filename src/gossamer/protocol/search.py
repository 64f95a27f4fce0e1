"""A publisher's search for any one subscriber that wants its event.

A publisher has no interest to be known by and enters nobody's views. It asks the peers nearest to its event's point whom
*they* know nearest to it, in all their views, and goes on with the best of all that it hears: greedily, as fast as it can,
several at a time. The first box that holds the point ends the search. When it has asked in vain for `limit_cycles`, nobody
wants the event: that is an answer, not an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gossamer.arrays import NONE, Coordinates, Counts, Flags, Handles, Reals
from gossamer.interest.ask import distance_to
from gossamer.jit import kernel, tiny
from gossamer.protocol.cyclon import Samples
from gossamer.protocol.descriptor import Book, same_peer
from gossamer.protocol.links import Links
from gossamer.protocol.vicinity import Near

__all__ = ["Params", "Seekers", "found", "merge", "reply", "request", "seekers", "start"]


@dataclass(frozen=True, kw_only=True)
class Params:
    """How a publisher searches."""

    view: int = 20
    """Peers it keeps in mind, nearest first."""
    fanout: int = 5
    """Peers asked in a cycle. One at a time, some never find anybody."""
    entries: int = 20
    """Peers named in an answer."""
    limit_cycles: int = 20
    """Cycles after which nobody wants the event. From the paper (10 or 20)."""

    def __post_init__(self) -> None:
        """Refuse what cannot work, naming the setting."""
        for name, high in (("view", 1000), ("fanout", 100), ("entries", 1000), ("limit_cycles", 10_000)):
            if not 1 <= getattr(self, name) <= high:
                raise ValueError(f"{name}: {getattr(self, name)}; expected 1..{high}")


class Seekers(NamedTuple):
    """Publishers on their search, by number; a view is kept nearest first."""

    points: Coordinates
    """(S, D) int64."""
    handles: Handles
    """(S, K) int32."""
    apart: Reals
    """(S, K) float64: squared distance to the point."""
    asked: Flags
    """(S, K) uint8."""
    size: Counts
    """(S,) int32."""


def seekers(points: Coordinates, params: Params) -> Seekers:
    """Publishers who know nobody yet."""
    count = points.shape[0]
    return Seekers(
        points=points,
        handles=np.full((count, params.view), NONE, np.int32),
        apart=np.zeros((count, params.view), np.float64),
        asked=np.zeros((count, params.view), np.uint8),
        size=np.zeros(count, np.int32),
    )


@tiny
def _nearer(book: Book, one: int, one_apart: float, other: int, other_apart: float) -> bool:
    return one_apart < other_apart or (one_apart == other_apart and book.key[one] < book.key[other])


@kernel
def _take(book: Book, it: Seekers, s: int, handle: int) -> None:
    """Keep one peer in mind if it is among the nearest; the lower key wins a tie, so that order does not matter."""
    most, size = it.handles.shape[1], it.size[s]
    for k in range(size):
        if same_peer(book, it.handles[s, k], handle):
            if book.version[handle] <= book.version[it.handles[s, k]]:
                return
            for later in range(k, size - 1):
                it.handles[s, later], it.apart[s, later] = it.handles[s, later + 1], it.apart[s, later + 1]
                it.asked[s, later] = it.asked[s, later + 1]
            size -= 1
            break
    apart, at = distance_to(book.wants, handle, it.points[s]), size
    while at > 0 and _nearer(book, handle, apart, it.handles[s, at - 1], it.apart[s, at - 1]):
        at -= 1
    if at < most:
        size = min(size + 1, most)
        for later in range(size - 1, at, -1):
            it.handles[s, later], it.apart[s, later] = it.handles[s, later - 1], it.apart[s, later - 1]
            it.asked[s, later] = it.asked[s, later - 1]
        it.handles[s, at], it.apart[s, at], it.asked[s, at] = handle, apart, 0
    it.size[s] = size


@kernel
def start(book: Book, it: Seekers, s: int, contact: int) -> None:
    """Know one peer to begin with."""
    if contact != NONE:
        _take(book, it, s, contact)


@kernel
def found(it: Seekers, s: int) -> int:
    """A peer that wants the event, or NONE so far."""
    return int(it.handles[s, 0]) if it.size[s] > 0 and it.apart[s, 0] == 0.0 else NONE


@kernel
def request(it: Seekers, s: int, fanout: int, to: Handles) -> int:
    """Ask the nearest who have not been asked yet: writes to whom, answers how many."""
    count = 0
    for k in range(it.size[s]):
        if count == fanout:
            break
        if it.asked[s, k] == 0:
            it.asked[s, k] = 1
            to[count] = it.handles[s, k]
            count += 1
    return count


@kernel
def _offer(book: Book, point: Coordinates, handle: int, out: Handles, apart: Reals, count: int) -> int:
    """Put one peer in its place among the nearest to a point; the new count."""
    if handle == NONE:
        return count
    away = distance_to(book.wants, handle, point)
    if count == out.shape[0] and not _nearer(book, handle, away, out[count - 1], apart[count - 1]):
        return count
    for k in range(count):
        if same_peer(book, out[k], handle):
            return count
    at = count if count < out.shape[0] else count - 1
    while at > 0 and _nearer(book, handle, away, out[at - 1], apart[at - 1]):
        if at < out.shape[0]:
            out[at], apart[at] = out[at - 1], apart[at - 1]
        at -= 1
    out[at], apart[at] = handle, away
    return int(min(count + 1, out.shape[0]))


@kernel
def reply(book: Book, point: Coordinates, links: Links, near: Near, sample: Samples, i: int, out: Handles, apart: Reals) -> int:
    """Name the peers nearest to a point out of all views of row i; how many."""
    count = 0
    for at in range(links.start[i], links.start[i] + links.size[i]):
        count = _offer(book, point, links.handles[at], out, apart, count)
    for k in range(near.handles.shape[1]):
        count = _offer(book, point, near.handles[i, k], out, apart, count)
    for k in range(sample.handles.shape[1]):
        count = _offer(book, point, sample.handles[i, k], out, apart, count)
    return count


@kernel
def merge(book: Book, it: Seekers, s: int, entries: Handles, count: int) -> None:
    """Keep the nearest of those named in an answer."""
    for e in range(count):
        _take(book, it, s, entries[e])
