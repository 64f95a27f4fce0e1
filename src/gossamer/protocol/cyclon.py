"""Cyclon: a view of random samples of everybody, kept random by swapping parts of views (Voulgaris, Gavidia, van Steen 2005).

A row writes to the peer whose entry is oldest, sends it `shuffle` entries (its own, freshly minted, among them) and gets as
many back. Links are moved, not copied, so in-degrees stay within one or two of each other.

The surprising thing is the *lock*. The paper's exchanges happen one after the other; ours all happen at once. Without care
two exchanges of one moment give the same entry away twice, and links are lost. So a row with an exchange under way locks
the places it sent from and its partner's, until the answer is merged or given up: locked entries are neither offered nor
overwritten. A sent entry that comes back meanwhile is another copy of the link: it is kept and its lock taken off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gossamer.arrays import NONE, Bits, Cycles, Handles
from gossamer.draws import Purpose
from gossamer.jit import kernel, lowest_bit, tiny
from gossamer.protocol.descriptor import Book, newer, same_peer
from gossamer.protocol.view import ANSWER, ASK, MOST_PLACES, Mail, Now, bit, free_places, oldest, pick

__all__ = ["Params", "Samples", "drop", "give_up", "meet", "merge", "reply", "request", "samples"]


@dataclass(frozen=True, kw_only=True)
class Params:
    """How Cyclon is set."""

    view: int = 20
    """Places of a view. From the Cyclon paper; Sub-2-Sub and TERA use it too."""
    shuffle: int = 8
    """Entries of an exchange. From the Cyclon paper's experiments."""

    def __post_init__(self) -> None:
        if not 1 <= self.view <= MOST_PLACES:
            raise ValueError(f"view: {self.view} places; expected 1..{MOST_PLACES}")
        if not 1 <= self.shuffle <= self.view:
            raise ValueError(f"shuffle: {self.shuffle} entries; expected 1..view ({self.view})")


class Samples(NamedTuple):
    """Cyclon's state, by row: 128 bytes with 20 places."""

    handles: Handles
    """(N, K) int32."""
    born: Cycles
    """(N, K) uint16."""
    pending: Bits
    """(N,) uint64: the locked places; above bit 56 the partner's place + 1, 0 when no exchange is under way."""


_0 = np.uint64(0)
_1 = np.uint64(1)
_S56 = np.uint64(MOST_PLACES)
_PLACES = np.uint64(2**MOST_PLACES - 1)


def samples(rows: int, params: Params) -> Samples:
    """Empty views for so many rows."""
    return Samples(
        handles=np.full((rows, params.view), NONE, np.int32),
        born=np.zeros((rows, params.view), np.uint16),
        pending=np.zeros(rows, np.uint64),
    )


@kernel
def meet(view: Samples, i: int, handle: int, born: np.uint16) -> None:
    """Know one peer from elsewhere: how a row joins. Taken in only where a place is free."""
    for k in range(view.handles.shape[1]):
        if view.handles[i, k] == handle:
            return
    for k in range(view.handles.shape[1]):
        if view.handles[i, k] == NONE:
            view.handles[i, k], view.born[i, k] = handle, born
            return


@tiny
def give_up(view: Samples, i: int) -> None:
    """End an exchange that brought no answer: the partner is taken for dead, what was sent to it stays.

    # Departs from the paper: the only peer known is kept. One lost message would cut a newcomer off for ever.
    """
    pending = view.pending[i]
    if pending != _0:
        place = int(pending >> _S56) - 1
        if (pending >> np.uint64(place)) & _1 != _0:
            known = ~free_places(view.handles[i]) & (bit(view.handles.shape[1]) - _1)
            if known != bit(place):
                view.handles[i, place] = NONE
        view.pending[i] = _0


@kernel
def drop(book: Book, view: Samples, i: int, handle: int) -> None:
    """Forget a peer known to be dead."""
    for k in range(view.handles.shape[1]):
        if view.handles[i, k] != NONE and same_peer(book, view.handles[i, k], handle):
            view.handles[i, k] = NONE
            view.pending[i] &= ~bit(k)


@tiny
def request(book: Book, now: Now, view: Samples, i: int, own: int, mail: Mail, m: int) -> bool:
    """Write to the peer of the oldest entry; whether there was one. An exchange still open is given up first."""
    give_up(view, i)
    handles, born = view.handles[i], view.born[i]
    partner = oldest(handles, born, now.cycle)
    if partner == NONE:
        return False
    others = ~free_places(handles) & (bit(handles.shape[0]) - _1) & ~bit(partner)
    entries = mail.handles.shape[1]
    sent = pick(others, entries - 1, book, now, own, Purpose.CYCLON_SENT, 0)
    mail.sender[m], mail.to[m], mail.stamp[m], mail.asks[m] = own, handles[partner], now.cycle, ASK
    mail.handles[m, 0], mail.born[m, 0] = own, now.cycle
    rest = sent
    for e in range(1, entries):
        if rest != _0:
            k = lowest_bit(rest)
            rest &= rest - _1
            mail.handles[m, e], mail.born[m, e] = handles[k], born[k]
        else:
            mail.handles[m, e] = NONE
    view.pending[i] = sent | bit(partner) | (np.uint64(partner + 1) << _S56)
    return True


@tiny
def _find(book: Book, handles: Handles, handle: int) -> int:
    """The place of a peer in one view, or NONE."""
    found = NONE
    if book.versioned == 0:
        for k in range(handles.shape[0]):
            if handles[k] == handle:
                found = k
    else:
        for k in range(handles.shape[0]):
            if handles[k] != NONE and same_peer(book, handles[k], handle):
                found = k
    return found


@tiny
def _recognise(book: Book, now: Now, view: Samples, i: int, own: int, mail: Mail, m: int) -> tuple[np.uint64, np.uint64]:
    """Which places of the view hold peers that message m speaks of, now brought up to date; and which entries are new.

    All entries are looked at before any is taken in. They speak of distinct peers: a view knows nobody twice, nor itself.
    """
    handles, born = view.handles[i], view.born[i]
    known, new = _0, _0
    for e in range(mail.handles.shape[1]):
        handle = mail.handles[m, e]
        if handle == NONE or same_peer(book, handle, own):
            continue
        k = _find(book, handles, handle)
        if k == NONE:
            new |= bit(e)
            continue
        if newer(book, handle, mail.born[m, e], handles[k], born[k], now.cycle):
            handles[k], born[k] = handle, mail.born[m, e]
        known |= bit(k)
    return known, new


@tiny
def reply(book: Book, now: Now, view: Samples, i: int, own: int, mail: Mail, m: int, n: int) -> None:
    """Answer request m, the n-th this row gets in this tick, and merge it; the answer takes the request's place in the mail.

    Entries taken in go to free places first, then they change places with those given away.
    """
    handles, born = view.handles[i], view.born[i]
    entries = mail.handles.shape[1]
    free = free_places(handles)
    unlocked = ~free & (bit(handles.shape[0]) - _1) & ~view.pending[i]
    giving = pick(unlocked, entries, book, now, own, Purpose.CYCLON_ANSWERED, n << 3)
    known, new = _recognise(book, now, view, i, own, mail, m)
    view.pending[i] &= ~known
    spare, vacant = giving & ~known, _0
    for e in range(entries):
        if (new >> np.uint64(e)) & _1 != _0:
            handle, minted = mail.handles[m, e], mail.born[m, e]
            if free != _0:
                k = lowest_bit(free)
                free &= free - _1
                handles[k], born[k] = handle, minted
            elif spare != _0:
                k = lowest_bit(spare)
                spare &= spare - _1
                giving &= ~bit(k)
                mail.handles[m, e], mail.born[m, e] = handles[k], born[k]
                handles[k], born[k] = handle, minted
                continue
        vacant |= bit(e)
    while vacant != _0:
        e = lowest_bit(vacant)
        vacant &= vacant - _1
        if giving != _0:
            k = lowest_bit(giving)
            giving &= giving - _1
            mail.handles[m, e], mail.born[m, e] = handles[k], born[k]
        else:
            mail.handles[m, e] = NONE
    mail.to[m], mail.sender[m], mail.stamp[m], mail.asks[m] = mail.sender[m], own, now.cycle, ANSWER


@tiny
def merge(book: Book, now: Now, view: Samples, i: int, own: int, mail: Mail, m: int) -> None:
    """Take in answer m: to free places first, then to the partner's, then to those that were sent.

    An answer to an exchange given up meanwhile fills free places only. The partner stays when its place is not needed.
    # Departs from the paper: textbook Cyclon always drops the partner, which loses deliveries among fewer than ten peers.
    """
    handles, born = view.handles[i], view.born[i]
    free = free_places(handles)
    spare, partner = _0, _0
    pending = view.pending[i]
    if pending != _0:
        place = int(pending >> _S56) - 1
        if handles[place] != NONE and same_peer(book, handles[place], mail.sender[m]):
            spare = pending & _PLACES
            partner = spare & bit(place)
            spare ^= partner
            view.pending[i] = _0
    known, new = _recognise(book, now, view, i, own, mail, m)
    spare &= ~known
    partner &= ~known
    while new != _0 and free | partner | spare != _0:
        e = lowest_bit(new)
        new &= new - _1
        if free != _0:
            k = lowest_bit(free)
            free &= free - _1
        elif partner != _0:
            k = lowest_bit(partner)
            partner = _0
        else:
            k = lowest_bit(spare)
            spare &= spare - _1
        handles[k], born[k] = mail.handles[m, e], mail.born[m, e]
    if partner != _0:
        born[lowest_bit(partner)] = mail.stamp[m]
