"""Spreading an event the papers' way: along the ring both ways, and over a few shortcuts to speed it up.

On first receipt a row passes the event to the next one up and the next one down who want it, and to `shortcuts` random
others of its Vicinity view who want it; never back to whom it came from. Ring links make sure that all are reached, the
shortcuts only that it happens soon. Each receives it two or three times; ``arcs.py`` mends that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gossamer.arrays import NONE, Coordinates, Counts, Flags, Handles, Keys, Numbers
from gossamer.draws import Purpose, below, draw
from gossamer.interest.ask import matches
from gossamer.jit import kernel, tiny
from gossamer.protocol.descriptor import Book, same_peer
from gossamer.protocol.links import Links
from gossamer.protocol.vicinity import Near
from gossamer.protocol.view import ASK, Now

__all__ = [
    "ARC",
    "CLOSE",
    "COPY",
    "DONE",
    "HELD",
    "HINT",
    "MODES",
    "NO_MAIL",
    "NO_SEEN",
    "PASSED",
    "REPAIR",
    "SEEK",
    "UNKNOWN",
    "WEARY",
    "Copies",
    "Happenings",
    "Params",
    "Seen",
    "bounced",
    "empty_copies",
    "forward",
    "further",
    "known",
    "next_down",
    "next_up",
    "note",
    "seen",
    "write",
]

COPY, ARC, CLOSE, HINT, REPAIR, SEEK = 0, 1, 2, 3, 4, 5
"""What travels for an event: a copy of it; a copy with an arc to cover; word that nobody lies between; word of one who does;
a copy that was missed; a search for those in an arc whose receiver is dead."""

UNKNOWN, HELD, PASSED = 0, 1, 2
"""How far a row is with an event: it has not had it; repair brought it, so it has yet to do its part when spreading asks it
to; it has passed it on. Above that it is counted how often it was asked again."""
WEARY = PASSED + 3
"""Asked so often, a row does no more for an event. Where views contradict each other, as when half of all have just changed
their minds, arcs and hints would else beget each other until the memory is full."""

DONE, NO_MAIL, NO_SEEN = 0, 1, 2
"""What a move answers: done, or what it has too little of, having changed nothing."""

MODES = ("paper", "arcs")


@dataclass(frozen=True, kw_only=True)
class Params:
    """How events spread."""

    mode: str = "paper"
    """`paper`: ring and shortcuts; `arcs`: each receiver is given an arc to cover, and there are no duplicates."""
    shortcuts: int = 1
    """Paper mode: random others an event is passed to. From the paper (one or two)."""
    fanout: int = 4
    """Arcs: into how many parts an arc is cut. Four was best of 2..8 (docs/decisions)."""
    close: bool = True
    """Arcs: whether the last of an arc tells the next one beyond, who may know of somebody in between."""
    fail_over: bool = True
    """Whether a copy that could not be handed over goes to the next one known."""

    def __post_init__(self) -> None:
        """Refuse what cannot work, naming the setting."""
        if self.mode not in MODES:
            raise ValueError(f"mode: {self.mode!r}; expected one of {', '.join(MODES)}")
        for name, low, high in (("shortcuts", 0, 16), ("fanout", 2, 32)):
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name}: {getattr(self, name)}; expected {low}..{high}")


class Happenings(NamedTuple):
    """The events a driver can name, by number."""

    key: Keys
    """(E,) uint64."""
    points: Coordinates
    """(E, D) int64."""


class Copies(NamedTuple):
    """Messages about events, as columns that are written to the end."""

    sender: Handles
    """(M,) int32: who writes; NONE for the publisher."""
    to: Handles
    """(M,) int32."""
    asks: Flags
    """(M,) uint8: ASK, or BOUNCE when it came back."""
    what: Flags
    """(M,) uint8: COPY, ARC, CLOSE, HINT, REPAIR or SEEK."""
    event: Counts
    """(M,) int32."""
    hop: Counts
    """(M,) int32: passings-on since the publisher's."""
    low: Keys
    """(M,) uint64: ARC covers the keys above this ..."""
    high: Keys
    """(M,) uint64: ... up to and with this, cyclically."""
    other: Handles
    """(M,) int32: HINT: of whom there is word."""
    used: Numbers
    """(1,) int64: how many messages are written."""


class Seen(NamedTuple):
    """How far a block's rows are with events: a hash table by (event, row)."""

    slots: Keys
    """(S,) uint64, S a power of two: event and row + 1; 0 is free."""
    states: Flags
    """(S,) uint8: HELD or PASSED."""
    used: Numbers
    """(1,) int64."""


_0 = np.uint64(0)
_1 = np.uint64(1)
_S32 = np.uint64(32)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def empty_copies(messages: int) -> Copies:
    """Room for so many messages."""
    return Copies(
        sender=np.full(messages, NONE, np.int32),
        to=np.full(messages, NONE, np.int32),
        asks=np.zeros(messages, np.uint8),
        what=np.zeros(messages, np.uint8),
        event=np.zeros(messages, np.int32),
        hop=np.zeros(messages, np.int32),
        low=np.zeros(messages, np.uint64),
        high=np.zeros(messages, np.uint64),
        other=np.full(messages, NONE, np.int32),
        used=np.zeros(1, np.int64),
    )


def seen(pairs: int) -> Seen:
    """Room for about so many pairs."""
    size = 1 << max(int(2 * pairs).bit_length(), 8)
    return Seen(slots=np.zeros(size, np.uint64), states=np.zeros(size, np.uint8), used=np.zeros(1, np.int64))


@tiny
def _pair(event: int, i: int) -> np.uint64:
    return (np.uint64(event) << _S32 | np.uint64(i)) + _1


@tiny
def _slot(it: Seen, pair: np.uint64) -> int:
    """Where a pair stands, or would stand."""
    last = it.slots.shape[0] - 1
    at = np.int64(((pair * _SPREAD) >> _S32) & np.uint64(last))
    while it.slots[at] not in (_0, pair):
        at = (at + 1) & last
    return at  # type: ignore[return-value]


@kernel
def known(it: Seen, event: int, i: int) -> int:
    """How far the row is with the event: UNKNOWN, HELD or PASSED."""
    pair = _pair(event, i)
    at = _slot(it, pair)
    return int(it.states[at]) if it.slots[at] == pair else UNKNOWN


@kernel
def note(it: Seen, event: int, i: int, state: int) -> None:
    """Remember how far the row is; there must be room for one more."""
    pair = _pair(event, i)
    at = _slot(it, pair)
    it.used[0] += it.slots[at] == _0
    it.slots[at], it.states[at] = pair, state


@kernel
def further(state: int, what: int) -> int:
    """How far a row is with an event after it has received one more message that brings it."""
    return max(state, HELD) if what == REPAIR else min(max(state + 1, PASSED), WEARY)


@tiny
def write(out: Copies, own: int, to: int, what: int, event: int, hop: int, low: np.uint64, high: np.uint64, other: int) -> None:
    """Write one message; there must be room."""
    m = out.used[0]
    out.sender[m], out.to[m], out.asks[m], out.what[m] = own, to, ASK, what
    out.event[m], out.hop[m], out.low[m], out.high[m], out.other[m] = event, hop, low, high, other
    out.used[0] = m + 1


@tiny
def next_up(book: Book, links: Links, i: int, point: Coordinates, beyond: np.uint64) -> int:
    """The position in the arena of the first link, with an offset above `beyond`, that wants the point; or NONE."""
    for at in range(links.start[i], links.start[i] + links.size[i]):
        if links.offset[at] > beyond and matches(book.wants, links.handles[at], point):
            return at
    return NONE


@tiny
def next_down(book: Book, links: Links, i: int, point: Coordinates, below_this: np.uint64) -> int:
    """The position in the arena of the last link, with an offset below `below_this`, that wants the point; or NONE."""
    for at in range(links.start[i] + links.size[i] - 1, links.start[i] - 1, -1):
        if links.offset[at] < below_this and matches(book.wants, links.handles[at], point):
            return at
    return NONE


@tiny
def forward(
    book: Book,
    now: Now,
    happenings: Happenings,
    links: Links,
    near: Near,
    i: int,
    own: int,
    source: int,
    event: int,
    hop: int,
    shortcuts: int,
    out: Copies,
) -> int:
    """Pass an event on the papers' way, to ring neighbours and shortcuts but not back to the source."""
    if out.used[0] + 2 + shortcuts > out.to.shape[0]:
        return NO_MAIL
    point = happenings.points[event]
    at = next_up(book, links, i, point, _0)
    up = NONE if at == NONE else links.handles[at]
    at = next_down(book, links, i, point, ~_0)
    down = NONE if at == NONE else links.handles[at]
    if up != NONE and (source == NONE or not same_peer(book, up, source)):
        write(out, own, up, COPY, event, hop + 1, _0, _0, NONE)
    if down != NONE and down != up and (source == NONE or not same_peer(book, down, source)):
        write(out, own, down, COPY, event, hop + 1, _0, _0, NONE)
    # Reservoir sampling among those of the view who want it: the n-th found takes a place with chance shortcuts / n.
    first, found = out.used[0], 0
    for k in range(near.handles.shape[1]):
        handle = near.handles[i, k]
        if handle == NONE or not matches(book.wants, handle, point):
            continue
        if (
            (up != NONE and same_peer(book, handle, up))
            or (down != NONE and same_peer(book, handle, down))
            or (source != NONE and same_peer(book, handle, source))
        ):
            continue
        found += 1
        if found <= shortcuts:
            write(out, own, handle, COPY, event, hop + 1, _0, _0, NONE)
        else:
            bits = draw(now.seed ^ happenings.key[event], book.key[own], now.cycle, Purpose.SHORTCUT, found)
            place = below(bits, found)
            if place < shortcuts:
                out.to[first + place] = handle
    return DONE


@kernel
def bounced(
    book: Book, happenings: Happenings, links: Links, i: int, own: int, dead: int, event: int, hop: int, out: Copies
) -> int:
    """Pass an event on to who comes next behind one found dead, where that one was the next up, or down.

    The dead one is no link any more. It was the next up when nobody before it wants the event.
    """
    if out.used[0] + 2 > out.to.shape[0]:
        return NO_MAIL
    point, offset = happenings.points[event], book.key[dead] - book.key[own]
    at = next_up(book, links, i, point, _0)
    up = at
    if at != NONE and links.offset[at] > offset:
        write(out, own, links.handles[at], COPY, event, hop, _0, _0, NONE)
    at = next_down(book, links, i, point, ~_0)
    if at != NONE and links.offset[at] < offset and at != up:
        write(out, own, links.handles[at], COPY, event, hop, _0, _0, NONE)
    return DONE
