"""Who is dead: found by a send that fails or by silence, forgotten in every view, and not believed again on hearsay.

A *crash* resets connections, so a message to the dead comes back; *silence* shows by a ring neighbour that leaves `strikes`
questions unanswered. Either way the dead is dropped from all views of the row and *buried*: entries about it are struck from
whatever mail comes in, unless minted after the burial, which only the living can do. Without that the dead come back with
every exchange, since nobody tells others of a death.

Who has found one dead looks at a few others at once: where one node in a hundred dies in a cycle that costs next to nothing,
and where half of all die together each one found leads to two more, until all are found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gossamer.arrays import NONE, Counts, Cycles, Handles
from gossamer.jit import kernel, tiny
from gossamer.protocol.descriptor import Book, age, same_peer
from gossamer.protocol.links import place
from gossamer.protocol.selection import ASKED, MET
from gossamer.protocol.view import Now, Parcels
from gossamer.protocol.views import Views, forget

__all__ = ["Graves", "Params", "absolve", "bury", "graves", "listen", "lose", "refused", "strike", "strike_parcel"]

_LATE = np.uint8(32)
"""Mark of a link that has left one question unanswered."""
_WAYS = 4
"""Places that a peer may be remembered in; a row's are looked up by key, for a hub may bury hundreds."""
_SPREAD, _S32 = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


@dataclass(frozen=True, kw_only=True)
class Params:
    """How the dead are found and how long they are remembered."""

    places: int = 256
    """Dead peers remembered. With 16, half of all nodes crashed at once were back in the views ten cycles later."""
    forget_cycles: int = 100
    """Cycles after which a burial is forgotten. Long enough for entries about the dead to have gone from everybody's views."""
    patience: bool = True
    """Whether a link gets a second question before its silence counts. One lost message in ten would bury one in five."""
    alarm: int = 6
    """Links asked anew, and first, when another has been found dead."""

    def __post_init__(self) -> None:
        """Refuse what cannot work, naming the setting."""
        for name, low, high in (("places", 4, 65_536), ("forget_cycles", 1, 30_000), ("alarm", 0, 1000)):
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name}: {getattr(self, name)}; expected {low}..{high}")


class Graves(NamedTuple):
    """The dead each row remembers."""

    handles: Handles
    """(N, G) int32: in sets of four places, which one is a matter of the key."""
    since: Cycles
    """(N, G) uint16: the cycle of burial."""
    last: Counts
    """(N,) int32: the cycle of the last burial, NONE before any."""


def graves(rows: int, params: Params) -> Graves:
    """Nobody is dead yet."""
    places = params.places // _WAYS * _WAYS
    return Graves(
        handles=np.full((rows, places), NONE, np.int32),
        since=np.zeros((rows, places), np.uint16),
        last=np.full(rows, NONE, np.int32),
    )


@tiny
def _first_place(book: Book, it: Graves, handle: int) -> int:
    """Where the set of places begins in which a peer would be remembered."""
    sets = np.uint64(it.handles.shape[1] // _WAYS)
    return int(((((book.key[handle] * _SPREAD) >> _S32) * sets) >> _S32) * np.uint64(_WAYS))


@tiny
def _place(book: Book, it: Graves, i: int, handle: int) -> int:
    """Where a peer is remembered, or NONE."""
    first, found = _first_place(book, it, handle), NONE
    for g in range(first, first + _WAYS):
        if it.handles[i, g] != NONE and same_peer(book, it.handles[i, g], handle):
            found = g
    return found


@kernel
def bury(book: Book, now: Now, it: Graves, i: int, handle: int) -> None:
    """Remember a dead peer; of those in its set the one buried first makes room."""
    place = _place(book, it, i, handle)
    if place == NONE:
        first, oldest = _first_place(book, it, handle), NONE
        for g in range(first, first + _WAYS):
            years = age(it.since[i, g], now.cycle) if it.handles[i, g] != NONE else 1 << 16
            if years > oldest:
                place, oldest = g, years
    it.handles[i, place], it.since[i, place], it.last[i] = handle, now.cycle, now.cycle


@kernel
def absolve(book: Book, it: Graves, i: int, handle: int) -> None:
    """Somebody buried has written: it lives."""
    if it.last[i] != NONE:
        place = _place(book, it, i, handle)
        if place != NONE:
            it.handles[i, place] = NONE


@kernel
def refused(book: Book, now: Now, it: Graves, i: int, handle: int, born: np.uint16, forget_cycles: int) -> bool:
    """Whether an entry speaks of one who is dead as far as the row knows."""
    place = _place(book, it, i, handle)
    if place == NONE:
        return False
    buried = age(it.since[i, place], now.cycle)
    return buried <= forget_cycles and age(born, now.cycle) >= buried


@tiny
def _nobody_dead(now: Now, it: Graves, i: int, forget_cycles: int) -> bool:
    return bool(it.last[i] == NONE or now.cycle - it.last[i] > forget_cycles)


@kernel
def strike(book: Book, now: Now, it: Graves, i: int, handles: Handles, born: Cycles, forget_cycles: int) -> None:
    """Strike the dead from the entries of one message."""
    if _nobody_dead(now, it, i, forget_cycles):
        return
    for e in range(handles.shape[0]):
        if handles[e] != NONE and refused(book, now, it, i, handles[e], born[e], forget_cycles):
            handles[e] = NONE


@kernel
def strike_parcel(book: Book, now: Now, it: Graves, i: int, mail: Parcels, m: int, forget_cycles: int) -> None:
    """The same, of a message with its entries in an arena."""
    if _nobody_dead(now, it, i, forget_cycles):
        return
    for e in range(mail.start[m], mail.start[m + 1]):
        if mail.handles[e] != NONE and refused(book, now, it, i, mail.handles[e], mail.born[e], forget_cycles):
            mail.handles[e] = NONE


@kernel
def lose(book: Book, now: Now, it: Graves, views: Views, i: int, own: int, dead: int, alarm: int) -> None:
    """Bury one found dead and drop it from every view; mark the next `alarm` links behind it to be asked anew."""
    bury(book, now, it, i, dead)
    forget(book, views, i, own, dead)
    links = views.links
    first, many = links.start[i], links.size[i]
    at = place(links, i, book.key[dead] - book.key[own]) - first
    for step in range(many):
        if alarm == 0:
            break
        other = first + (at + step) % many
        if links.marks[other] & MET != 0:
            links.marks[other] &= ~MET
            alarm -= 1


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
