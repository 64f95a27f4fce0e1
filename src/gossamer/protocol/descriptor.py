"""What one peer tells of another, and the book a driver keeps of what it was told.

A *descriptor* is immutable: a changed subscription is a new descriptor with the same key and the next version. A *book*
holds descriptors as columns; a *handle* is a row number of a book. An *entry* of a view is a handle and the cycle in which
its subject minted it; age is a subtraction, so no sweep ages anything and a signature can cover it.

A move may index the book only with handles that stand in its row or its message, and may compare handles for equality
only: order, ties, hashes and draws use the key. Each driver numbers its own book as it likes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.arrays import Keys, Rows
from gossamer.interest.ask import Interests
from gossamer.jit import tiny

__all__ = ["Book", "age", "newer", "same_peer"]


class Book(NamedTuple):
    """The descriptors a driver can name, as columns."""

    key: Keys
    """(B,) uint64: the subject's place in the system's order; distinct for distinct peers."""
    version: NDArray[np.uint32]
    """(B,) uint32: of two descriptors with one key the higher version counts."""
    owner: Rows
    """(B,) int32: the mailbox of the subject, in the driver's own numbering."""
    wants: Interests
    """What the subject wants, by handle."""
    versioned: int
    """0 when no two descriptors share a key, which saves every comparison of handles two look-ups."""


@tiny
def age(born: np.uint16, now: int) -> int:
    """Cycles since an entry was minted, modulo 2**16."""
    return (now - int(born)) & 0xFFFF


@tiny
def same_peer(book: Book, one: int, other: int) -> bool:
    """Whether two descriptors speak of one peer."""
    return one == other or (book.versioned != 0 and book.key[one] == book.key[other])


@tiny
def newer(book: Book, one: int, one_born: np.uint16, other: int, other_born: np.uint16, now: int) -> bool:
    """Whether the first of two entries for one peer says more recent things than the second."""
    if book.version[one] != book.version[other]:
        return bool(book.version[one] > book.version[other])
    return age(one_born, now) < age(other_born, now)
