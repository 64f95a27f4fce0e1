"""What all views share: the mail that entries travel in, and masks over the places of a view.

A view is K places, each free or taken by an entry. Which places a move has sent, locked or may overwrite is a bit mask,
so a row's state stays small and nothing is allocated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gossamer.arrays import NONE, Cycles, Flags, Handles, Numbers, Offsets
from gossamer.draws import draw
from gossamer.jit import kernel, tiny
from gossamer.protocol.descriptor import Book, age

__all__ = [
    "ANSWER",
    "ASK",
    "BOUNCE",
    "MOST_PLACES",
    "Mail",
    "Now",
    "Parcels",
    "bit",
    "count_bits",
    "empty_mail",
    "empty_parcels",
    "free_places",
    "lowest_bit",
    "oldest",
    "pick",
]

ANSWER, ASK, BOUNCE = 0, 1, 2
"""What a message is: an answer, a request for one, or a request that could not be handed over."""

MOST_PLACES = 56
"""A view's places, and a partner's number, fit one 64-bit mask."""


class Now(NamedTuple):
    """When a move is made, and in which run."""

    seed: np.uint64
    cycle: int
    tick: int


class Mail(NamedTuple):
    """Messages of at most L entries each, as columns; a message without addressee was not written."""

    sender: Handles
    """(M,) int32: who writes, as it is at the time of writing."""
    to: Handles
    """(M,) int32: to whom; NONE where there is no message."""
    stamp: Cycles
    """(M,) uint16: the cycle of writing, which mints the sender's own entry."""
    asks: Flags
    """(M,) uint8: ANSWER, ASK, or BOUNCE: an ask that came back because its addressee is gone, which is then the sender."""
    handles: Handles
    """(M, L) int32: the entries; NONE behind the last."""
    born: Cycles
    """(M, L) uint16."""


def empty_mail(messages: int, entries: int) -> Mail:
    """Room for so many messages of so many entries, none of them written."""
    return Mail(
        sender=np.full(messages, NONE, np.int32),
        to=np.full(messages, NONE, np.int32),
        stamp=np.zeros(messages, np.uint16),
        asks=np.zeros(messages, np.uint8),
        handles=np.full((messages, entries), NONE, np.int32),
        born=np.zeros((messages, entries), np.uint16),
    )


class Parcels(NamedTuple):
    """Messages of any number of entries: columns that are written to the end, with their entries in an arena."""

    sender: Handles
    """(M,) int32."""
    to: Handles
    """(M,) int32."""
    stamp: Cycles
    """(M,) uint16."""
    asks: Flags
    """(M,) uint8: ANSWER, ASK or BOUNCE."""
    start: Offsets
    """(M + 1,) int64: message m holds the entries start[m] .. start[m + 1]."""
    handles: Handles
    """(P,) int32."""
    born: Cycles
    """(P,) uint16."""
    used: Numbers
    """(1,) int64: how many messages are written."""


def empty_parcels(messages: int, entries: int) -> Parcels:
    """Room for so many messages with so many entries in all."""
    return Parcels(
        sender=np.full(messages, NONE, np.int32),
        to=np.full(messages, NONE, np.int32),
        stamp=np.zeros(messages, np.uint16),
        asks=np.zeros(messages, np.uint8),
        start=np.zeros(messages + 1, np.int64),
        handles=np.full(entries, NONE, np.int32),
        born=np.zeros(entries, np.uint16),
        used=np.zeros(1, np.int64),
    )


_1 = np.uint64(1)
_0 = np.uint64(0)
_DEBRUIJN = np.uint64(0x03F79D71B4CB0A89)
_S58 = np.uint64(58)
_PLACE = np.zeros(64, np.int64)
for _k in range(64):
    _PLACE[((1 << _k) * 0x03F79D71B4CB0A89 & (2**64 - 1)) >> 58] = _k
_PAIRS, _FOURS, _EIGHTS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_ONES = np.uint64(0x0101010101010101)
_S2, _S4, _S56 = np.uint64(2), np.uint64(4), np.uint64(56)
_S32 = np.uint64(32)


@tiny
def bit(place: int) -> np.uint64:
    """The mask of one place."""
    return _1 << np.uint64(place)


@tiny
def lowest_bit(mask: np.uint64) -> int:
    """The lowest place in a mask that is not empty (de Bruijn's sequence: no instruction of the machine is needed)."""
    return int(_PLACE[((mask & (~mask + _1)) * _DEBRUIJN) >> _S58])


@tiny
def count_bits(mask: np.uint64) -> int:
    """How many places are in a mask."""
    mask -= (mask >> _1) & _PAIRS
    mask = (mask & _FOURS) + ((mask >> _S2) & _FOURS)
    return int((((mask + (mask >> _S4)) & _EIGHTS) * _ONES) >> _S56)


@tiny
def free_places(handles: Handles) -> np.uint64:
    """The free places of one view."""
    mask = _0
    for k in range(handles.shape[0]):
        mask |= np.uint64(handles[k] == NONE) << np.uint64(k)
    return mask


@tiny
def oldest(handles: Handles, born: Cycles, now: int) -> int:
    """Position of the oldest entry in one view, or NONE when the view is empty.

    handles : (K,) int32   descriptors in the book, NONE in a free place
    born    : (K,) uint16  cycle in which the subject minted each entry

    The lower position wins a tie, so every driver chooses alike.
    """
    best, most = NONE, -1
    for k in range(handles.shape[0]):
        years = age(born[k], now) if handles[k] != NONE else -1
        if years > most:
            best, most = k, years
    return best


@kernel
def pick(candidates: np.uint64, want: int, book: Book, now: Now, own: int, purpose: int, n: int) -> np.uint64:
    """A random subset of `want` of the candidate places; all of them when there are no more than that.

    Floyd's sampling: as many draws as places wanted, four to each half of a 64-bit draw (56**4 < 2**24, so a place is
    favoured by less than one in 2**8 of its chance, and by one in 2**15 in a view of 20).
    """
    total = count_bits(candidates)
    if total <= want:
        return candidates
    chosen, bits, half = _0, _0, _0
    for taken in range(want):
        last = total - want + taken
        if taken % 8 == 0:
            bits = draw(now.seed, book.key[own], now.cycle, purpose, n + (taken >> 3))
            half = bits >> _S32
        elif taken % 8 == 4:  # noqa: PLR2004  (the other half)
            half = (bits << _S32) >> _S32
        scaled = half * np.uint64(last + 1)
        place = scaled >> _S32
        half = (scaled << _S32) >> _S32
        chosen |= _1 << (place if (chosen >> place) & _1 == _0 else np.uint64(last))
    if candidates >> np.uint64(total) == _0:
        return chosen
    spread = _0  # the candidates are not the first places: give the n-th candidate the n-th place's lot
    for _ in range(total):
        low = candidates & (~candidates + _1)
        candidates ^= low
        if chosen & _1:
            spread |= low
        chosen >>= _1
    return spread
