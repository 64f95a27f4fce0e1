"""What all views share: the mail that entries travel in, and masks over the places of a view.

A view is K places, each free or taken by an entry. Which places a move has sent, locked or may overwrite is a bit mask,
so a row's state stays small and nothing is allocated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gossamer.arrays import NONE, Cycles, Flags, Handles, Numbers, Offsets
from gossamer.draws import draw
from gossamer.jit import count_bits, tiny
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
    "empty_mail",
    "empty_parcels",
    "free_places",
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
    """Messages of at most L entries each, as columns; a message without addressee was not written.

    The columns are laid over one block of memory, message by message, so that a message is a cache line or two: mail is
    read in the order of its receivers, which is no order at all in memory.
    """

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


_LINE_BYTES = 64


def empty_mail(messages: int, entries: int) -> Mail:
    """Room for so many messages of so many entries, none of them written."""
    head, size = 12, 12 + 6 * entries
    kind = np.dtype(
        {
            "names": ["sender", "to", "stamp", "asks", "handles", "born"],
            "formats": ["<i4", "<i4", "<u2", "u1", ("<i4", (entries,)), ("<u2", (entries,))],
            "offsets": [0, 4, 8, 10, head, head + 4 * entries],
            "itemsize": -(-size // _LINE_BYTES) * _LINE_BYTES,
        }
    )
    room = np.zeros(messages * kind.itemsize + _LINE_BYTES, np.uint8)
    start = -room.ctypes.data % _LINE_BYTES
    block = room[start : start + messages * kind.itemsize].view(kind)
    block["sender"], block["to"], block["handles"] = NONE, NONE, NONE
    return Mail(*(block[name] for name in Mail._fields))


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
_S32 = np.uint64(32)
_PLACE_BITS = 10
_LAST_PLACE = (1 << _PLACE_BITS) - 1


@tiny
def bit(place: int) -> np.uint64:
    """The mask of one place."""
    return _1 << np.uint64(place)


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

    handles : (K,) int32   descriptors in the book, NONE in a free place; K is at most 1024
    born    : (K,) uint16  cycle in which the subject minted each entry

    The lower position wins a tie, so every driver chooses alike. An age and its position are one number, whose greatest is
    found without a branch.
    """
    most = NONE
    for k in range(handles.shape[0]):
        rank = (age(born[k], now) << _PLACE_BITS) | (_LAST_PLACE - k)
        most = max(most, rank if handles[k] != NONE else NONE)
    return most if most == NONE else _LAST_PLACE - (most & _LAST_PLACE)


@tiny
def pick(candidates: np.uint64, want: int, book: Book, now: Now, own: int, purpose: int, n: int) -> np.uint64:
    """A random subset of `want` of the candidate places; all of them when there are no more than that.

    Floyd's sampling: as many draws as places wanted, four to each half of a 64-bit draw (56**4 < 2**24, so a place is
    favoured by less than one in 2**8 of its chance, and by one in 2**15 in a view of 20). No branch depends on a draw.
    """
    total = count_bits(candidates)
    if total <= want:
        return candidates
    chosen, bits, half = _0, _0, _0
    for taken in range(want):
        last = np.uint64(total - want + taken)
        if taken % 8 == 0:
            bits = draw(now.seed, book.key[own], now.cycle, purpose, n + (taken >> 3))
            half = bits >> _S32
        elif taken % 8 == 4:  # noqa: PLR2004  (the other half)
            half = (bits << _S32) >> _S32
        scaled = half * (last + _1)
        place = scaled >> _S32
        half = (scaled << _S32) >> _S32
        again = (chosen >> place) & _1
        chosen |= (_1 << place) | (again << last)
    if candidates >> np.uint64(total) == _0:
        return chosen
    spread = _0  # the candidates are not the first places: give the n-th candidate the n-th place's lot
    for _ in range(total):
        low = candidates & (~candidates + _1)
        candidates ^= low
        spread |= low & (~(chosen & _1) + _1)
        chosen >>= _1
    return spread
