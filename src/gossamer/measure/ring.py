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
from gossamer.protocol.descriptor import Book
from gossamer.truth.ranges import on_threads

__all__ = [
    "PREDECESSOR",
    "SUCCESSOR",
    "Judged",
    "Targets",
    "Views",
    "arrange",
    "judge",
    "links_in_place",
    "links_of",
    "rings_complete",
    "targets",
    "targets_of",
]

SUCCESSOR, PREDECESSOR = 1, 2
"""Bits of a member's flags: which of its two links are in place."""


class Views(NamedTuple):
    """Ring views, each in cyclic order of keys after its row's own, so that a link is the first match from an end."""

    starts: Offsets
    """(N + 1,) int64: where a row's view begins."""
    rows: Rows
    """(P,) int32: of whom each entry speaks."""
    boxes: Coordinates
    """(P, 2, D) int64: what it says they want."""


class Targets(NamedTuple):
    """The true links of all members of all rings, row by row: laid out once, judged against in every cycle."""

    starts: Offsets
    """(N + 1,) int64: where a row's memberships begin."""
    event: Rows
    """(P,) int32: in whose ring."""
    ahead: Rows
    """(P,) int32: the row's successor there."""
    back: Rows
    """(P,) int32: its predecessor there."""
    place: Rows
    """(P,) int32: the row's place in ``truth.judge.Rings``."""
    wanted: Counts
    """(E,) int32: links there should be: two a member, none in a ring of one."""


class Judged(NamedTuple):
    """What of each ring is in place."""

    right: Numbers
    """(E,) int64: links in place."""
    wanted: Counts
    """(E,) int32: links there should be."""
    flags: Flags
    """(P,) uint8: by place in ``truth.judge.Rings``, SUCCESSOR | PREDECESSOR where the link is in place."""


@sweep
def _arrange_all(
    starts: Offsets,
    counts: Counts,
    handles: Handles,
    begins: Offsets,
    key: Keys,
    own: Keys,
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
            rank[base + k] = key[handles[starts[i] + k]] - own[i]
        gap = size // 2
        while gap > 0:
            for k in range(gap, size):
                one, far, at = out[base + k], rank[base + k], k
                while at >= gap and rank[base + at - gap] > far:
                    out[base + at], rank[base + at] = out[base + at - gap], rank[base + at - gap]
                    at -= gap
                out[base + at], rank[base + at] = one, far
            gap //= 2


def arrange(starts: Offsets, counts: Counts, handles: Handles, book: Book, base: int = 0) -> Views:
    """Put ring views in order, once for all the events they are judged by. Row base + i's first descriptor has that handle.

    starts, counts : (N,)  where each row's view begins in the arena, and how many entries it has
    handles        : (P,)  the arena; what lies between views is not looked at. A row is not in its own view
    """
    begins = np.zeros(counts.shape[0] + 1, dtype=np.int64)
    np.cumsum(counts, out=begins[1:])
    out, rank = np.empty(int(begins[-1]), dtype=np.int32), np.empty(int(begins[-1]), dtype=np.uint64)
    _arrange_all(starts, counts, handles, begins, book.key, book.key[base:], rank, out, 0, counts.shape[0])
    return Views(begins, book.owner[out], book.wants.boxes[out])


@sweep
def _target_all(offsets: Offsets, rows: Rows, cursor: Offsets, event: Rows, ahead: Rows, back: Rows, place: Rows) -> None:
    for e in range(offsets.shape[0] - 1):
        first, size = offsets[e], offsets[e + 1] - offsets[e]
        for m in range(size):
            at = cursor[rows[first + m]]
            cursor[rows[first + m]] += 1
            event[at], place[at] = e, first + m
            ahead[at], back[at] = rows[first + (m + 1) % size], rows[first + (m + size - 1) % size]


def targets(offsets: Offsets, rows: Rows, count: int) -> Targets:
    """Lay out the rings (``truth.judge.Rings``) of a world of so many rows by row."""
    starts = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=count), out=starts[1:])
    event, ahead, back, place = (np.empty(rows.shape[0], dtype=np.int32) for _ in range(4))
    _target_all(offsets, rows, starts[:-1].copy(), event, ahead, back, place)
    sizes = np.diff(offsets)
    return Targets(starts, event, ahead, back, place, np.where(sizes > 1, 2 * sizes, 0).astype(np.int32))


def targets_of(whole: Targets, start: int, stop: int) -> Targets:
    """The targets of rows start .. stop-1 alone; a member's place is then that among theirs."""
    low, high = whole.starts[start], whole.starts[stop]
    mine = slice(int(low), int(high))
    place = np.arange(high - low, dtype=np.int32)
    return Targets(
        whole.starts[start : stop + 1] - low, whole.event[mine], whole.ahead[mine], whole.back[mine], place, whole.wanted
    )


@kernel
def _link(views: Views, row: int, point: Coordinates, step: int) -> int:
    """The row this one would pass the event to: ahead with step 1, back with step -1; NONE when it knows none."""
    k, left = (views.starts[row] if step > 0 else views.starts[row + 1] - 1), views.starts[row + 1] - views.starts[row]
    while left > 0:
        inside = 1
        for d in range(point.shape[0]):
            if point[d] < views.boxes[k, 0, d] or point[d] > views.boxes[k, 1, d]:
                inside = 0
                break
        if inside != 0:
            return views.rows[k]  # type: ignore[no-any-return]
        k += step
        left -= 1
    return NONE


@sweep
def _judge_all(views: Views, points: Coordinates, aims: Targets, right: Numbers, flags: Flags, start: int, stop: int) -> None:
    """Judge the links of rows start .. stop-1; row by row, so that a view stays at hand for all its events."""
    for row in range(start, stop):
        for k in range(aims.starts[row], aims.starts[row + 1]):
            e, flag = aims.event[k], 0
            if aims.wanted[e] > 0:
                if _link(views, row, points[e], 1) == aims.ahead[k]:
                    flag |= SUCCESSOR
                    right[e] += 1
                if _link(views, row, points[e], -1) == aims.back[k]:
                    flag |= PREDECESSOR
                    right[e] += 1
            flags[aims.place[k]] = flag


def judge(views: Views, points: Coordinates, aims: Targets, *, threads: int = 1) -> Judged:
    """Compare the links that views give with the true ones."""
    flags = np.zeros(aims.event.shape[0], dtype=np.uint8)

    def some(start: int, stop: int) -> Numbers:
        right = np.zeros(points.shape[0], dtype=np.int64)
        _judge_all(views, points, aims, right, flags, start, stop)
        return right

    parts = on_threads(some, aims.starts.shape[0] - 1, threads)
    right = np.sum(parts, axis=0) if parts else np.zeros(points.shape[0], dtype=np.int64)
    return Judged(right, aims.wanted, flags)


def links_in_place(judged: Judged) -> float:
    """Share of all rings' links that are in place; 1 where there are none."""
    wanted = int(judged.wanted.sum())
    return int(judged.right.sum()) / wanted if wanted else 1.0


def rings_complete(judged: Judged) -> float:
    """Share of the rings of two and more that have all their links; 1 where there are none."""
    real = judged.wanted > 0
    return float((judged.right == judged.wanted)[real].mean()) if real.any() else 1.0


def links_of(judged: Judged, aims: Targets, offsets: Offsets, row: int) -> tuple[int, int, int]:
    """Links in place from a row, links in place to it, and how many of each there should be."""
    mine = slice(int(aims.starts[row]), int(aims.starts[row + 1]))
    place, event = aims.place[mine].astype(np.int64), aims.event[mine]
    real = aims.wanted[event] > 0
    place, first, size = place[real], offsets[event][real], np.diff(offsets)[event][real]
    after = first + (place - first + 1) % size
    before = first + (place - first - 1) % size
    out, into, from_ = judged.flags[place], judged.flags[before], judged.flags[after]
    outgoing = int(((out & SUCCESSOR) != 0).sum() + ((out & PREDECESSOR) != 0).sum())
    incoming = int(((into & SUCCESSOR) != 0).sum() + ((from_ & PREDECESSOR) != 0).sum())
    return outgoing, incoming, 2 * place.shape[0]
