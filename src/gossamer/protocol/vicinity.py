"""Vicinity: a view of the peers most alike, found by gossip on top of random samples (Voulgaris, van Steen 2005).

A row writes to the peer of its oldest entry the entries nearest to *that peer*, out of both its views, and gets the same
back. Whoever overlaps is at distance 0; there are usually more of those than places, and which of them stay is drawn anew
at every merge. Sub-2-Sub takes its shortcuts from this view: fixed ties would cluster them and triple the hops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gossamer.arrays import NONE, Cycles, Handles, Keys
from gossamer.draws import Purpose, below, draw, mix
from gossamer.interest.ask import distance
from gossamer.jit import kernel, tiny
from gossamer.protocol.cyclon import Samples
from gossamer.protocol.descriptor import Book, newer, same_peer
from gossamer.protocol.links import Links
from gossamer.protocol.view import ANSWER, ASK, Mail, Now, oldest

__all__ = ["Desk", "Near", "Params", "desk", "drop", "give_up", "merge", "near", "reply", "request"]


@dataclass(frozen=True, kw_only=True)
class Params:
    """How Vicinity is set."""

    view: int = 20
    """Places of a view. The plain reading of the papers; 40 finds ring neighbours sooner."""
    shuffle: int = 10
    """Entries of an exchange, the sender's own among them. A guess: the papers name none."""
    rings_too: bool = False
    """Whether what is sent is chosen out of the ring view as well. It holds the few who share a box's thin corners, whom a
    random choice among all that overlap seldom shows."""

    def __post_init__(self) -> None:
        if not 1 <= self.view <= 1000:  # noqa: PLR2004
            raise ValueError(f"view: {self.view} places; expected 1..1000")
        if not 1 <= self.shuffle <= self.view:
            raise ValueError(f"shuffle: {self.shuffle} entries; expected 1..view ({self.view})")


class Near(NamedTuple):
    """Vicinity's state, by row; a view is kept nearest first."""

    handles: Handles
    """(N, K) int32."""
    born: Cycles
    """(N, K) uint16."""
    partner: Handles
    """(N,) int32: who has been written to and has not answered, or NONE."""


class Desk(NamedTuple):
    """Room to choose in: the best so far, and a request's entries while its answer takes their place."""

    rank: Keys
    handles: Handles
    born: Cycles
    inbox: Handles
    inbox_born: Cycles


_S12 = np.uint64(12)


def near(rows: int, params: Params) -> Near:
    """Empty views for so many rows."""
    return Near(
        handles=np.full((rows, params.view), NONE, np.int32),
        born=np.zeros((rows, params.view), np.uint16),
        partner=np.full(rows, NONE, np.int32),
    )


def desk(params: Params) -> Desk:
    """Room for one row at a time."""
    most = max(params.view, params.shuffle)
    return Desk(
        rank=np.zeros(most, np.uint64),
        handles=np.zeros(most, np.int32),
        born=np.zeros(most, np.uint16),
        inbox=np.zeros(params.shuffle, np.int32),
        inbox_born=np.zeros(params.shuffle, np.uint16),
    )


@tiny
def _rank(book: Book, target: int, handle: int, salt: np.uint64) -> np.uint64:
    """Nearer is lower. Those at distance 0 come first, in an order drawn by the salt.

    A distance above 0 ranks by its own bits (floats above 0 are ordered as their bits are), which are all above 2**52; what
    is drawn stays below.
    """
    apart = distance(book.wants, target, handle)
    if apart == 0.0:
        return mix(salt ^ book.key[handle]) >> _S12
    return _bits(apart)


@tiny
def _bits(value: float) -> np.uint64:
    """The bits of a float above 0, by arithmetic alone (exact): its exponent above its 52 bits of fraction."""
    exponent, scaled = 1023, value
    while scaled >= 4294967296.0:  # noqa: PLR2004
        scaled *= 2.0**-32
        exponent += 32
    while scaled < 2.0**-32:
        scaled *= 4294967296.0
        exponent -= 32
    while scaled >= 2.0:  # noqa: PLR2004
        scaled *= 0.5
        exponent += 1
    while scaled < 1.0:
        scaled *= 2.0
        exponent -= 1
    return (np.uint64(max(exponent, 1)) << np.uint64(52)) | np.uint64((scaled - 1.0) * 4503599627370496.0)


@kernel
def _offer(
    book: Book, now: Now, desk: Desk, count: int, most: int, target: int, handle: int, born: np.uint16, salt: np.uint64
) -> int:
    """Put one candidate in its place among the `most` nearest to the target; the new count."""
    if book.versioned != 0:
        for k in range(count):
            if same_peer(book, desk.handles[k], handle):
                if not newer(book, handle, born, desk.handles[k], desk.born[k], now.cycle):
                    return count
                for later in range(k, count - 1):
                    desk.rank[later] = desk.rank[later + 1]
                    desk.handles[later], desk.born[later] = desk.handles[later + 1], desk.born[later + 1]
                count -= 1
                break
    rank = _rank(book, target, handle, salt)
    if count == most and rank > desk.rank[count - 1]:
        return count
    at = count
    while at > 0 and desk.rank[at - 1] > rank:
        at -= 1
    twin = at
    while twin > 0 and desk.rank[twin - 1] == rank:
        twin -= 1
        if desk.handles[twin] == handle:
            if newer(book, handle, born, handle, desk.born[twin], now.cycle):
                desk.born[twin] = born
            return count
    if count == most:
        if at == count:
            return count
        count -= 1
    for later in range(count, at, -1):
        desk.rank[later] = desk.rank[later - 1]
        desk.handles[later], desk.born[later] = desk.handles[later - 1], desk.born[later - 1]
    desk.rank[at], desk.handles[at], desk.born[at] = rank, handle, born
    return count + 1


@kernel
def _offer_views(
    book: Book, now: Now, view: Near, sample: Samples, i: int, desk: Desk, most: int, target: int, salt: np.uint64
) -> int:
    """Put everybody in both views of row i in place among the nearest to the target, but the target itself."""
    count = 0
    for k in range(view.handles.shape[1]):
        handle = view.handles[i, k]
        if handle != NONE and not same_peer(book, handle, target):
            count = _offer(book, now, desk, count, most, target, handle, view.born[i, k], salt)
    for k in range(sample.handles.shape[1]):
        handle = sample.handles[i, k]
        if handle != NONE and not same_peer(book, handle, target):
            count = _offer(book, now, desk, count, most, target, handle, sample.born[i, k], salt)
    return count


@tiny
def give_up(book: Book, view: Near, i: int) -> None:
    """End an exchange that brought no answer: the partner is taken for dead."""
    if view.partner[i] != NONE:
        drop(book, view, i, view.partner[i])
        view.partner[i] = NONE


@kernel
def drop(book: Book, view: Near, i: int, handle: int) -> None:
    """Forget a peer known to be dead; those behind it move up."""
    to = 0
    for k in range(view.handles.shape[1]):
        other = view.handles[i, k]
        if other != NONE and not same_peer(book, other, handle):
            view.handles[i, to], view.born[i, to] = other, view.born[i, k]
            to += 1
    for k in range(to, view.handles.shape[1]):
        view.handles[i, k] = NONE


@kernel
def _write(
    book: Book,
    now: Now,
    view: Near,
    sample: Samples,
    links: Links,
    i: int,
    own: int,
    to: int,
    mail: Mail,
    m: int,
    asks: int,
    rings_too: int,
    desk: Desk,
    n: int,
) -> None:
    """Write to a peer whom it should know: ourselves, then the nearest to it that we know."""
    entries = mail.handles.shape[1]
    salt = draw(now.seed, book.key[own], now.cycle, Purpose.VICINITY_TIE, n)
    count = _offer_views(book, now, view, sample, i, desk, entries - 1, to, salt)
    if rings_too != 0:
        for at in range(links.start[i], links.start[i] + links.size[i]):
            handle = links.handles[at]
            if not same_peer(book, handle, to):
                count = _offer(book, now, desk, count, entries - 1, to, handle, links.born[at], salt)
    mail.sender[m], mail.to[m], mail.stamp[m], mail.asks[m] = own, to, now.cycle, asks
    mail.handles[m, 0], mail.born[m, 0] = own, now.cycle
    for e in range(1, entries):
        if e <= count:
            mail.handles[m, e], mail.born[m, e] = desk.handles[e - 1], desk.born[e - 1]
        else:
            mail.handles[m, e] = NONE


@kernel
def _take_in(
    book: Book, now: Now, view: Near, sample: Samples, i: int, own: int, entries: Handles, minted: Cycles, desk: Desk, n: int
) -> None:
    """Keep the nearest of all that the row has and gets."""
    places = view.handles.shape[1]
    salt = draw(now.seed, book.key[own], now.cycle, Purpose.VICINITY_TIE, n)
    count = _offer_views(book, now, view, sample, i, desk, places, own, salt)
    for e in range(entries.shape[0]):
        if entries[e] != NONE and not same_peer(book, entries[e], own):
            count = _offer(book, now, desk, count, places, own, entries[e], minted[e], salt)
    for k in range(places):
        if k < count:
            view.handles[i, k], view.born[i, k] = desk.handles[k], desk.born[k]
        else:
            view.handles[i, k] = NONE


@kernel
def request(
    book: Book,
    now: Now,
    view: Near,
    sample: Samples,
    links: Links,
    i: int,
    own: int,
    mail: Mail,
    m: int,
    rings_too: int,
    desk: Desk,
) -> bool:
    """Write to the peer of the oldest entry, or to a random sample while the view is empty; whether there was anybody."""
    give_up(book, view, i)
    place = oldest(view.handles[i], view.born[i], now.cycle)
    if place != NONE:
        partner = view.handles[i, place]
    else:
        partner = NONE
        start = below(draw(now.seed, book.key[own], now.cycle, Purpose.VICINITY_PARTNER, 0), sample.handles.shape[1])
        for k in range(sample.handles.shape[1]):
            partner = sample.handles[i, (start + k) % sample.handles.shape[1]]
            if partner != NONE:
                break
        if partner == NONE:
            return False
    _write(book, now, view, sample, links, i, own, partner, mail, m, ASK, rings_too, desk, 0)
    view.partner[i] = partner
    return True


@kernel
def reply(
    book: Book,
    now: Now,
    view: Near,
    sample: Samples,
    links: Links,
    i: int,
    own: int,
    mail: Mail,
    m: int,
    rings_too: int,
    desk: Desk,
    n: int,
) -> None:
    """Answer request m, the n-th this row gets in this tick, then merge it; the answer takes its place in the mail."""
    for e in range(mail.handles.shape[1]):
        desk.inbox[e], desk.inbox_born[e] = mail.handles[m, e], mail.born[m, e]
    _write(book, now, view, sample, links, i, own, mail.sender[m], mail, m, ANSWER, rings_too, desk, 2 * n + 1)
    _take_in(book, now, view, sample, i, own, desk.inbox, desk.inbox_born, desk, 2 * n + 2)


@kernel
def merge(book: Book, now: Now, view: Near, sample: Samples, i: int, own: int, mail: Mail, m: int, desk: Desk, n: int) -> None:
    """Take in answer m, the n-th mail of the kind this row gets in this tick."""
    if view.partner[i] != NONE and same_peer(book, view.partner[i], mail.sender[m]):
        view.partner[i] = NONE
    _take_in(book, now, view, sample, i, own, mail.handles[m], mail.born[m], desk, 2 * n + (1 << 20))
