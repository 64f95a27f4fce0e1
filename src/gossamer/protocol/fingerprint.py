"""A state's fingerprint: 64 bits in which two drivers agree when, and only when, their rows know the same in the same places.

Told in external form: an entry is its subject's key and version and when it was minted, at its place in the view; an event
is its key. Handles, numbers of events, the cutting into blocks and where in an arena links lie are each driver's own affair
and leave no trace; nor do caches (what the ring layer remembers having rejected, and how far it looks), for they change no
outcome. Which events a row has seen is left out as well: a machine forgets the oldest of many thousands, and what became of
them is told by receipts.

The surprising thing: a state's fingerprint is the wrapping *sum* of its rows', so blocks, partitions and machines each take
their own and add them up, in any order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from gossamer.arrays import NONE, Handles, Keys, Mask
from gossamer.draws import mix
from gossamer.jit import kernel, sweep, tiny
from gossamer.protocol.alive import Graves
from gossamer.protocol.cyclon import Samples
from gossamer.protocol.descriptor import Book
from gossamer.protocol.fingers import Fingers
from gossamer.protocol.links import Links
from gossamer.protocol.repair import History
from gossamer.protocol.vicinity import Near

__all__ = ["Past", "of_rows", "total"]

_ODD = np.uint64(0x9E3779B97F4A7C15)
_S16, _S32 = np.uint64(16), np.uint64(32)
_SAMPLES, _NEAR, _LINKS, _FINGERS, _CHANGED, _GRAVES, _PAST = (np.uint64(n) << _S32 for n in range(1, 8))


class Past(NamedTuple):
    """What rows remember of events, and what the events that stand there by number are called."""

    history: History
    key: Keys
    """(E,) uint64."""


@tiny
def _word(place: np.uint64, word: np.uint64) -> np.uint64:
    """What a row keeps at a place, as bits that can be added up."""
    return mix(mix(place * _ODD) + word)


@tiny
def _peer(book: Book, place: np.uint64, handle: int, more: np.uint64) -> np.uint64:
    """A peer at a place, and what the row notes with it (below 2**32)."""
    return _word(place, mix(book.key[handle] + mix((np.uint64(book.version[handle]) << _S32) | more)))


@kernel
def _samples(book: Book, view: Samples, i: int) -> np.uint64:
    """Entries by place, and which places are locked."""
    bits = _word(_SAMPLES, view.pending[i])
    for k in range(view.handles.shape[1]):
        if view.handles[i, k] != NONE:
            bits += _peer(book, _SAMPLES + np.uint64(k + 1), view.handles[i, k], np.uint64(view.born[i, k]))
    return bits


@kernel
def _near(book: Book, view: Near, i: int) -> np.uint64:
    """Entries, nearest first, and who is yet to answer."""
    bits = np.uint64(0)
    if view.partner[i] != NONE:
        bits += _peer(book, _NEAR, view.partner[i], np.uint64(0))
    for k in range(view.handles.shape[1]):
        if view.handles[i, k] != NONE:
            bits += _peer(book, _NEAR + np.uint64(k + 1), view.handles[i, k], np.uint64(view.born[i, k]))
    return bits


@kernel
def _links(book: Book, view: Links, i: int) -> np.uint64:
    """Links in their order with their marks and what they were told of, whose turn it was, whether all are judged anew.

    And which peers are known to have changed their minds, by the place where that is remembered.
    """
    bits = _word(_LINKS, view.turn[i]) + _word(_LINKS + np.uint64(1), np.uint64(view.stale[i]))
    bits += _word(_LINKS + np.uint64(2), np.uint64(view.news[i]))
    for k in range(view.size[i]):
        at, place = view.start[i] + k, _LINKS + np.uint64(2 * k + 3)
        more = (np.uint64(view.marks[at]) << _S16) | np.uint64(view.born[at])
        bits += _peer(book, place, view.handles[at], more)
        bits += _word(place + np.uint64(1), (np.uint64(view.since[at]) << _S32) | np.uint64(view.told[at]))
    for k in range(view.changed.shape[1]):
        if view.changed[i, k] != NONE:
            bits += _peer(book, _CHANGED + np.uint64(k), view.changed[i, k], np.uint64(0))
    return bits


@kernel
def _fingers(book: Book, view: Fingers, i: int) -> np.uint64:
    """Fingers by place."""
    bits = np.uint64(0)
    for k in range(view.handles.shape[1]):
        if view.handles[i, k] != NONE:
            bits += _peer(book, _FINGERS + np.uint64(k), view.handles[i, k], np.uint64(view.born[i, k]))
    return bits


@kernel
def _graves(book: Book, it: Graves, i: int) -> np.uint64:
    """The dead by place and when they were buried, those of long ago too; and the latest burial."""
    bits = _word(_GRAVES, np.uint64(it.last[i] + 1))
    for k in range(it.handles.shape[1]):
        if it.handles[i, k] != NONE:
            bits += _peer(book, _GRAVES + np.uint64(k + 1), it.handles[i, k], np.uint64(it.since[i, k]))
    return bits


@kernel
def _past(it: Past, i: int) -> np.uint64:
    """Events by place and when they came, and the place used next."""
    history = it.history
    bits = _word(_PAST, np.uint64(history.turn[i]))
    for h in range(history.events.shape[1]):
        if history.events[i, h] != NONE:
            bits += _word(_PAST + np.uint64(h + 1), it.key[history.events[i, h]] + mix(np.uint64(history.when[i, h])))
    return bits


@sweep
def _samples_all(book: Book, view: Samples, out: Keys) -> None:
    for i in range(out.shape[0]):
        out[i] += _samples(book, view, i)


@sweep
def _near_all(book: Book, view: Near, out: Keys) -> None:
    for i in range(out.shape[0]):
        out[i] += _near(book, view, i)


@sweep
def _links_all(book: Book, view: Links, out: Keys) -> None:
    for i in range(out.shape[0]):
        out[i] += _links(book, view, i)


@sweep
def _fingers_all(book: Book, view: Fingers, out: Keys) -> None:
    for i in range(out.shape[0]):
        out[i] += _fingers(book, view, i)


@sweep
def _graves_all(book: Book, it: Graves, out: Keys) -> None:
    for i in range(out.shape[0]):
        out[i] += _graves(book, it, i)


@sweep
def _past_all(it: Past, out: Keys) -> None:
    for i in range(out.shape[0]):
        out[i] += _past(it, i)


@sweep
def _seal_all(book: Book, own: Handles, out: Keys) -> None:
    """Bind what each row knows to whose it is, so that two rows cannot swap their states unseen."""
    for i in range(out.shape[0]):
        out[i] = mix(out[i] + mix(book.key[own[i]] + mix(np.uint64(book.version[own[i]]))))


def of_rows(book: Book, own: Handles, states: Iterable[NamedTuple]) -> Keys:
    """The fingerprint of each row of a block.

    own    : (n,) int32  what each row is called at present
    states : the block's part of each layer's state, in any order
    """
    out = np.zeros(own.shape[0], np.uint64)
    for state in states:
        match state:
            case Samples():
                _samples_all(book, state, out)
            case Near():
                _near_all(book, state, out)
            case Links():
                _links_all(book, state, out)
            case Fingers():
                _fingers_all(book, state, out)
            case Graves():
                _graves_all(book, state, out)
            case Past():
                _past_all(state, out)
            case _:
                raise TypeError(f"no fingerprint of {type(state).__name__}")
    _seal_all(book, own, out)
    return out


def total(prints: Keys, counted: Mask | None = None) -> int:
    """The fingerprint of many rows together, or of those counted (the living)."""
    return int(np.sum(prints if counted is None else prints[counted], dtype=np.uint64))
