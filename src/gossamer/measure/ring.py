"""How much of the rings is in place.

A member's *links* in an event's ring are the two peers it would pass the event to: of all in its ring view whose box holds
the point, the first after it and the first before it in cyclic order of keys. A link is in place when it is the ring's own
(``truth.judge.rings``). A ring is complete when all its links are. A view may hold stale entries, of an older version or a
dead row: they do harm only where they would be chosen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gossamer.arrays import NONE, Coordinates, Counts, Flags, Handles, Keys, Numbers, Offsets, Rows
from gossamer.jit import kernel, sweep

__all__ = ["PREDECESSOR", "SUCCESSOR", "Judged", "Views", "arrange", "judge", "links_in_place", "links_of", "rings_complete"]

SUCCESSOR, PREDECESSOR = 1, 2
"""Bits of a member's flags: which of its two links are in place."""


class Views(NamedTuple):
    """Ring views, each in cyclic order of keys after its row's own, so that a link is the first match from an end."""

    starts: Offsets
    """(N,) int64: where a row's view begins."""
    counts: Counts
    """(N,) int32: how many entries it has."""
    handles: Handles
    """(P,) int32."""
    owner: Rows
    """(B,) int32: the row a handle speaks of."""
    boxes: Coordinates
    """(B, 2, D) int64: what it wants."""


class Judged(NamedTuple):
    """What of each ring is in place."""

    right: Counts
    """(E,) int32: links in place."""
    wanted: Counts
    """(E,) int32: links there should be: two a member, none in a ring of one."""
    flags: Flags
    """(P,) uint8: by member of a ring, SUCCESSOR | PREDECESSOR where the link is in place."""


@sweep
def _arrange_all(
    starts: Offsets,
    counts: Counts,
    handles: Handles,
    begins: Offsets,
    key: Keys,
    rank: Keys,
    out: Handles,
    start: int,
    stop: int,
) -> None:
    """Sort each row's view by distance ahead of its own key; a shell sort, for views are short."""
    for i in range(start, stop):
        size, base = counts[i], begins[i]
        for k in range(size):
            out[base + k] = handles[starts[i] + k]
            rank[base + k] = key[handles[starts[i] + k]] - key[i]
        gap = size // 2
        while gap > 0:
            for k in range(gap, size):
                one, far, at = out[base + k], rank[base + k], k
                while at >= gap and rank[base + at - gap] > far:
                    out[base + at], rank[base + at] = out[base + at - gap], rank[base + at - gap]
                    at -= gap
                out[base + at], rank[base + at] = one, far
            gap //= 2


def arrange(starts: Offsets, counts: Counts, handles: Handles, key: Keys, owner: Rows, boxes: Coordinates) -> Views:
    """Put ring views in order, once for all the events they are judged by. Row i's first descriptor is handle i.

    starts, counts : (N,)       where each row's view begins in the arena, and how many entries it has
    handles        : (P,)       the arena; the space between views is not looked at
    key            : (B,)       of the descriptors; a row is not in its own view
    """
    begins = np.zeros(counts.shape[0], dtype=np.int64)
    np.cumsum(counts[:-1], out=begins[1:])
    size = int(counts.sum())
    out, rank = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.uint64)
    _arrange_all(starts, counts, handles, begins, key, rank, out, 0, counts.shape[0])
    return Views(begins, counts, out, owner, boxes)


@kernel
def _link(views: Views, row: int, point: Coordinates, step: int) -> int:
    """The row this one would pass the event to: ahead with step 1, back with step -1; NONE when it knows none."""
    size, base = views.counts[row], views.starts[row]
    k = base if step > 0 else base + size - 1
    for _ in range(size):
        h, inside = views.handles[k], 1
        for d in range(point.shape[0]):
            if point[d] < views.boxes[h, 0, d] or point[d] > views.boxes[h, 1, d]:
                inside = 0
                break
        if inside != 0:
            return views.owner[h]  # type: ignore[no-any-return]
        k += step
    return NONE


@sweep
def _judge_all(
    views: Views, points: Coordinates, offsets: Offsets, rows: Rows, right: Counts, flags: Flags, start: int, stop: int
) -> None:
    for e in range(start, stop):
        first, size, good = offsets[e], offsets[e + 1] - offsets[e], 0
        for m in range(size):
            flag = 0
            if size > 1:
                if _link(views, rows[first + m], points[e], 1) == rows[first + (m + 1) % size]:
                    flag |= SUCCESSOR
                    good += 1
                if _link(views, rows[first + m], points[e], -1) == rows[first + (m + size - 1) % size]:
                    flag |= PREDECESSOR
                    good += 1
            flags[first + m] = flag
        right[e] = good


def judge(views: Views, points: Coordinates, offsets: Offsets, rows: Rows) -> Judged:
    """Compare the links that views give with those of the true rings (``truth.judge.rings``)."""
    sizes = np.diff(offsets)
    right, flags = np.zeros(sizes.shape[0], dtype=np.int32), np.zeros(rows.shape[0], dtype=np.uint8)
    _judge_all(views, points, offsets, rows, right, flags, 0, sizes.shape[0])
    return Judged(right, np.where(sizes > 1, 2 * sizes, 0).astype(np.int32), flags)


def links_in_place(judged: Judged) -> float:
    """Share of all rings' links that are in place; 1 where there are none."""
    wanted = int(judged.wanted.sum())
    return int(judged.right.sum()) / wanted if wanted else 1.0


def rings_complete(judged: Judged) -> float:
    """Share of the rings of two and more that have all their links; 1 where there are none."""
    real = judged.wanted > 0
    return float((judged.right == judged.wanted)[real].mean()) if real.any() else 1.0


def links_of(judged: Judged, offsets: Offsets, rows: Rows, row: int) -> tuple[int, int, int]:
    """Links in place from a row, links in place to it, and how many of each there should be."""
    places = np.flatnonzero(rows == row)
    events = np.searchsorted(offsets, places, side="right") - 1
    first, size = offsets[events], offsets[events + 1] - offsets[events]
    real = size > 1
    places, first, size = places[real], first[real], size[real]
    after: Numbers = first + (places - first + 1) % size
    before: Numbers = first + (places - first - 1) % size
    flags = judged.flags
    outgoing = int(((flags[places] & SUCCESSOR) != 0).sum() + ((flags[places] & PREDECESSOR) != 0).sum())
    incoming = int(((flags[before] & SUCCESSOR) != 0).sum() + ((flags[after] & PREDECESSOR) != 0).sum())
    return outgoing, incoming, 2 * places.shape[0]
