"""What did not arrive is fetched: ring neighbours tell each other what they hold, and each pulls what it lacks.

A row remembers the latest events it has had. Every cycle it sends a few random ring neighbours or fingers a *digest*: the
events of late that the reader wants, by number. The reader answers with those it lacks, which are then sent; and what it holds
that the writer wants and did not list, it sends at once. Fingers matter: where a whole arc was missed, ring neighbours would
close it from its ends alone, a few a cycle. So a digest mends both ways. An event fetched so is not passed on: it will
stand in the next digests. But who is asked to spread it afterwards does so: an arc has nobody else to see to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gossamer.arrays import NONE, Counts, Cycles
from gossamer.draws import Purpose, below, draw
from gossamer.interest.ask import matches
from gossamer.jit import kernel, tiny
from gossamer.protocol.descriptor import Book, age
from gossamer.protocol.fingers import Fingers
from gossamer.protocol.links import Links
from gossamer.protocol.spread import DONE, NO_MAIL, REPAIR, UNKNOWN, Copies, Happenings, Seen, known, write
from gossamer.protocol.view import ANSWER, ASK, Now, Parcels

__all__ = ["History", "Params", "history", "merge", "remember", "reply", "request"]


@dataclass(frozen=True, kw_only=True)
class Params:
    """How much is remembered and told."""

    history: int = 64
    """Events a row remembers. A guess."""
    window_cycles: int = 20
    """Cycles an event stays in digests. A guess: repair that takes longer has failed for another reason."""
    partners: int = 3
    """Digests a row sends in a cycle."""
    rest_cycles: int = 2
    """Cycles an event is left to spreading before it stands in digests, for what is on its way is not missed. A guess."""

    def __post_init__(self) -> None:
        """Refuse what cannot work, naming the setting."""
        for name, low, high in (
            ("history", 1, 65_536),
            ("window_cycles", 1, 30_000),
            ("partners", 0, 64),
            ("rest_cycles", 0, 1000),
        ):
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name}: {getattr(self, name)}; expected {low}..{high}")


class History(NamedTuple):
    """The latest events of each row, in a circle."""

    events: Counts
    """(N, H) int32: NONE in a free place."""
    when: Cycles
    """(N, H) uint16: the cycle of receipt."""
    turn: Counts
    """(N,) int32: the place used next."""


def history(rows: int, size: int) -> History:
    """Nothing has happened yet."""
    return History(
        events=np.full((rows, size), NONE, np.int32), when=np.zeros((rows, size), np.uint16), turn=np.zeros(rows, np.int32)
    )


@kernel
def remember(it: History, i: int, event: int, cycle: int) -> None:
    """Remember an event, and forget the oldest."""
    size = it.events.shape[1]
    if size > 0:
        at = it.turn[i]
        it.events[i, at], it.when[i, at] = event, cycle
        it.turn[i] = (at + 1) % size


@tiny
def _partner(book: Book, now: Now, links: Links, fingers: Fingers, i: int, own: int, n: int) -> int:
    """A random one of the row's links and fingers, or NONE."""
    known = links.size[i]
    for k in range(fingers.handles.shape[1]):
        known += fingers.handles[i, k] != NONE
    if known == 0:
        return NONE
    place = below(draw(now.seed, book.key[own], now.cycle, Purpose.REPAIR_PARTNER, n), known)
    if place < links.size[i]:
        return int(links.handles[links.start[i] + place])
    place -= links.size[i]
    for k in range(fingers.handles.shape[1]):
        if fingers.handles[i, k] != NONE:
            if place == 0:
                return int(fingers.handles[i, k])
            place -= 1
    return NONE


@kernel
def request(
    book: Book,
    now: Now,
    happenings: Happenings,
    it: History,
    links: Links,
    fingers: Fingers,
    i: int,
    own: int,
    n: int,
    rest_cycles: int,
    window_cycles: int,
    out: Parcels,
) -> int:
    """Send the n-th digest of this cycle to a random link or finger."""
    m = out.used[0]
    if m >= out.to.shape[0] or out.start[m] + it.events.shape[1] > out.handles.shape[0]:
        return NO_MAIL
    reader, at = _partner(book, now, links, fingers, i, own, n), out.start[m]
    if reader == NONE:
        return DONE
    for h in range(it.events.shape[1]):
        event = it.events[i, h]
        if (
            event != NONE
            and rest_cycles <= age(it.when[i, h], now.cycle) <= window_cycles
            and matches(book.wants, reader, happenings.points[event])
        ):
            out.handles[at], out.born[at] = event, it.when[i, h]
            at += 1
    out.sender[m], out.to[m], out.stamp[m], out.asks[m] = own, reader, now.cycle, ASK
    out.start[m + 1] = at
    out.used[0] = m + 1
    return DONE


@kernel
def reply(
    book: Book,
    now: Now,
    happenings: Happenings,
    it: History,
    seen: Seen,
    i: int,
    own: int,
    mail: Parcels,
    m: int,
    rest_cycles: int,
    window_cycles: int,
    out: Parcels,
    copies: Copies,
) -> int:
    """Answer a digest with what the row lacks of it, and send what the writer seems to lack."""
    a, size = out.used[0], it.events.shape[1]
    listed = mail.start[m + 1] - mail.start[m]
    if a >= out.to.shape[0] or out.start[a] + listed > out.handles.shape[0] or copies.used[0] + size > copies.to.shape[0]:
        return NO_MAIL
    writer, at = mail.sender[m], out.start[a]
    for e in range(mail.start[m], mail.start[m + 1]):
        event = mail.handles[e]
        if matches(book.wants, own, happenings.points[event]) and known(seen, event, i) == UNKNOWN:
            out.handles[at], out.born[at] = event, mail.born[e]
            at += 1
    if at > out.start[a]:
        out.sender[a], out.to[a], out.stamp[a], out.asks[a] = own, writer, now.cycle, ANSWER
        out.start[a + 1] = at
        out.used[0] = a + 1
    for h in range(size):
        event = it.events[i, h]
        if (
            event == NONE
            or not rest_cycles < age(it.when[i, h], now.cycle) <= window_cycles
            or not matches(book.wants, writer, happenings.points[event])
        ):
            continue
        told = False
        for e in range(mail.start[m], mail.start[m + 1]):
            if mail.handles[e] == event:
                told = True
                break
        if not told:
            write(copies, own, writer, REPAIR, event, 0, np.uint64(0), np.uint64(0), NONE)
    return DONE


@kernel
def merge(it: History, i: int, own: int, mail: Parcels, m: int, copies: Copies) -> int:
    """Send what a reader of our digest lacks, as far as it is still remembered."""
    if copies.used[0] + mail.start[m + 1] - mail.start[m] > copies.to.shape[0]:
        return NO_MAIL
    for e in range(mail.start[m], mail.start[m + 1]):
        for h in range(it.events.shape[1]):
            if it.events[i, h] == mail.handles[e]:
                write(copies, own, mail.sender[m], REPAIR, mail.handles[e], 0, np.uint64(0), np.uint64(0), NONE)
                break
    return DONE
