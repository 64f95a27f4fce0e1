"""Who is dead: found by a send that fails or by silence, forgotten in every view, and not believed again on hearsay.

A *crash* resets connections, so a message to the dead comes back; *silence* shows by a ring neighbour that leaves `strikes`
questions unanswered. Either way the dead is dropped from all views of the row and *buried*: entries about it are struck from
whatever mail comes in, unless minted after the burial, which only the living can do. Without that the dead come back with
every exchange, since nobody tells others of a death.

A row that buries several peers in a short time takes alarm and asks all its links anew, a few at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gossamer.arrays import NONE, Cycles, Flags, Handles
from gossamer.jit import kernel, tiny
from gossamer.protocol.descriptor import Book, age, same_peer
from gossamer.protocol.links import ASKED, MET
from gossamer.protocol.relay import Views, forget
from gossamer.protocol.view import Now, Parcels

__all__ = ["Graves", "Params", "absolve", "bury", "graves", "listen", "lose", "refused", "strike", "strike_parcel"]

_LATE = np.uint8(32)
"""Mark of a link that has left one question unanswered."""
_RECENT = 3
"""Cycles within which burials count towards an alarm."""


@dataclass(frozen=True, kw_only=True)
class Params:
    """How the dead are found and how long they are remembered."""

    places: int = 16
    """Dead peers remembered; the oldest makes room. A guess."""
    forget_cycles: int = 100
    """Cycles after which a burial is forgotten. Long enough for entries about the dead to have gone from everybody's views."""
    patience: bool = True
    """Whether a link gets a second question before its silence counts. One lost message in ten would bury one in five."""
    alarm: int = 3
    """Burials within three cycles that make a row ask all its links anew; 0: never."""

    def __post_init__(self) -> None:
        """Refuse what cannot work, naming the setting."""
        for name, low, high in (("places", 1, 1000), ("forget_cycles", 1, 30_000), ("alarm", 0, 1000)):
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name}: {getattr(self, name)}; expected {low}..{high}")


class Graves(NamedTuple):
    """The dead each row remembers."""

    handles: Handles
    """(N, G) int32."""
    since: Cycles
    """(N, G) uint16: the cycle of burial."""
    turn: Flags
    """(N,) uint8: which place is used next."""


def graves(rows: int, params: Params) -> Graves:
    """Nobody is dead yet."""
    return Graves(
        handles=np.full((rows, params.places), NONE, np.int32),
        since=np.zeros((rows, params.places), np.uint16),
        turn=np.zeros(rows, np.uint8),
    )


@kernel
def bury(book: Book, now: Now, it: Graves, i: int, handle: int) -> None:
    """Remember a dead peer."""
    place = NONE
    for g in range(it.handles.shape[1]):
        if it.handles[i, g] != NONE and same_peer(book, it.handles[i, g], handle):
            place = g
    if place == NONE:
        place = int(it.turn[i])
        it.turn[i] = (place + 1) % it.handles.shape[1]
    it.handles[i, place], it.since[i, place] = handle, now.cycle


@kernel
def absolve(book: Book, it: Graves, i: int, handle: int) -> None:
    """Somebody buried has written: it lives."""
    for g in range(it.handles.shape[1]):
        if it.handles[i, g] != NONE and same_peer(book, it.handles[i, g], handle):
            it.handles[i, g] = NONE


@kernel
def refused(book: Book, now: Now, it: Graves, i: int, handle: int, born: np.uint16, forget_cycles: int) -> bool:
    """Whether an entry speaks of one who is dead as far as the row knows."""
    for g in range(it.handles.shape[1]):
        if it.handles[i, g] != NONE and same_peer(book, it.handles[i, g], handle):
            return age(it.since[i, g], now.cycle) <= forget_cycles and age(born, now.cycle) >= age(it.since[i, g], now.cycle)
    return False


@tiny
def _nobody_dead(it: Graves, i: int) -> bool:
    for g in range(it.handles.shape[1]):
        if it.handles[i, g] != NONE:
            return False
    return True


@kernel
def strike(book: Book, now: Now, it: Graves, i: int, handles: Handles, born: Cycles, forget_cycles: int) -> None:
    """Strike the dead from the entries of one message."""
    if _nobody_dead(it, i):
        return
    for e in range(handles.shape[0]):
        if handles[e] != NONE and refused(book, now, it, i, handles[e], born[e], forget_cycles):
            handles[e] = NONE


@kernel
def strike_parcel(book: Book, now: Now, it: Graves, i: int, mail: Parcels, m: int, forget_cycles: int) -> None:
    """The same, of a message with its entries in an arena."""
    if _nobody_dead(it, i):
        return
    for e in range(mail.start[m], mail.start[m + 1]):
        if mail.handles[e] != NONE and refused(book, now, it, i, mail.handles[e], mail.born[e], forget_cycles):
            mail.handles[e] = NONE


@kernel
def lose(book: Book, now: Now, it: Graves, views: Views, i: int, own: int, dead: int, alarm: int) -> None:
    """Bury one found dead and drop it from every view; take alarm when it is not the first of late."""
    bury(book, now, it, i, dead)
    forget(book, views, i, own, dead)
    if alarm == 0:
        return
    lately = 0
    for g in range(it.handles.shape[1]):
        lately += it.handles[i, g] != NONE and age(it.since[i, g], now.cycle) <= _RECENT
    if lately == alarm:
        links = views.links
        for at in range(links.start[i], links.start[i] + links.size[i]):
            links.marks[at] &= ~MET


@kernel
def listen(book: Book, now: Now, it: Graves, views: Views, i: int, own: int, patience: int, alarm: int) -> None:
    """Once a cycle, find the links that have left a question of the cycle before unanswered."""
    links = views.links
    for at in range(links.start[i] + links.size[i] - 1, links.start[i] - 1, -1):
        if links.marks[at] & ASKED == 0:
            links.marks[at] &= ~_LATE
        elif patience != 0 and links.marks[at] & _LATE == 0:
            links.marks[at] = (links.marks[at] | _LATE) & ~(ASKED | MET)
        else:
            lose(book, now, it, views, i, own, links.handles[at], alarm)
