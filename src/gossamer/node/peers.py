"""A node's private book: descriptors that were checked at the door, under handles that nobody else knows.

The columns grow when they must, and what stands in no row any more is swept out, so the book is as large as what the node
knows and not as what it was ever told. Handles of the swept are given out again; a machine sweeps only between ticks, when
no message is open.

The surprising thing: the same peer in two versions is two handles, as in every book. From then on the book is *versioned*,
and the moves compare keys; a node that hears of no changed subscription never pays for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gossamer.arrays import NONE, Handles
from gossamer.errors import PeerError
from gossamer.interest.ask import Interests
from gossamer.node.door import Box, Descriptor
from gossamer.protocol.descriptor import Book

__all__ = ["Peers", "check_box", "whole"]

Item = TypeVar("Item", bound=np.generic)

_FIRST_ROOM = 64
_KEYS, _VERSIONS = 1 << 64, 1 << 32
_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1


def whole(number: object, bound: int) -> bool:
    """Whether it is a whole number from 0 to below a bound. True is none."""
    return type(number) is int and 0 <= number < bound


def check_box(box: Box, attributes: int) -> None:
    """Refuse what is no box in so many attributes."""
    if not (isinstance(box, tuple) and len(box) == 2 and all(isinstance(c, tuple) and len(c) == attributes for c in box)):  # noqa: PLR2004
        raise PeerError(f"a box is two corners of {attributes} coordinates; found {box!r}")
    for low, high in zip(*box, strict=True):
        if not (type(low) is int and type(high) is int and _LOWEST <= low <= high <= _HIGHEST):
            raise PeerError(f"a box has whole numbers of 64 bits, the lower first; found {low!r} to {high!r}")


class Peers:
    """The descriptors one node can name."""

    def __init__(self, scale: tuple[float, ...]) -> None:
        self.attributes = len(scale)
        self.mine: dict[int, int] = {}
        """The version of each of the node's own rows, by key: nobody else makes newer ones."""
        self._told: list[Descriptor | None] = []
        self._handles: dict[tuple[int, int], int] = {}
        self._versions: dict[int, int] = {}
        self._free: list[int] = []
        self._crowd = _FIRST_ROOM
        self.book = Book(
            key=np.zeros(_FIRST_ROOM, np.uint64),
            version=np.zeros(_FIRST_ROOM, np.uint32),
            owner=np.full(_FIRST_ROOM, NONE, np.int32),
            wants=Interests(np.zeros((_FIRST_ROOM, 2, self.attributes), np.int64), np.array(scale, np.float64)),
            versioned=0,
        )
        """For the moves. Taken anew at each use: it is another one when columns have grown."""

    def __len__(self) -> int:
        return len(self._handles)

    @property
    def crowded(self) -> bool:
        """Whether so many have been told of since the last sweep that the next one pays."""
        return len(self._handles) >= self._crowd

    def told(self, handle: int) -> Descriptor:
        """The descriptor behind a handle."""
        descriptor = None if handle == NONE else self._told[handle]
        if descriptor is None:
            raise KeyError(handle)
        return descriptor

    def intern(self, it: Descriptor) -> int:
        """The handle of a descriptor; a PeerError, and the book as before, when it is none or contradicts what is known."""
        handle = self._handles.get((it.key, it.version))
        if handle is None:
            return self._enter(it)
        known = self._told[handle]
        if known is not it and known != it:
            raise PeerError(f"two descriptors with the key {it.key} and the version {it.version}")
        return handle

    def intern_all(self, those: Iterable[Descriptor]) -> list[int]:
        """The handles of several, or a PeerError and the book as before."""
        new, handles, versioned = list[int](), list[int](), self.book.versioned
        try:
            for it in those:
                before = len(self)
                handles.append(self.intern(it))
                if len(self) > before:
                    new.append(handles[-1])
        except PeerError:
            for handle in reversed(new):
                self._forget(handle)
            self.book = self.book._replace(versioned=versioned)
            raise
        return handles

    def _enter(self, it: Descriptor) -> int:
        if not whole(it.key, _KEYS):
            raise PeerError(f"a key is a whole number of 64 bits; found {it.key!r}")
        if not whole(it.version, _VERSIONS):
            raise PeerError(f"a version is a whole number of 32 bits; found {it.version!r}")
        if it.version > self.mine.get(it.key, it.version):
            raise PeerError(f"version {it.version} of our own row {it.key}, which we never made")
        check_box(it.box, self.attributes)
        handle = self._free.pop() if self._free else len(self._told)
        if handle == len(self._told):
            self._told.append(None)
            if handle == self.book.key.shape[0]:
                self._grow()
        self._told[handle] = it
        self._handles[it.key, it.version] = handle
        self.book.key[handle], self.book.version[handle] = it.key, it.version
        self.book.wants.boxes[handle] = it.box
        versions = self._versions.get(it.key, 0) + 1
        self._versions[it.key] = versions
        if versions > 1 and not self.book.versioned:  # and stays so: a move may yet have to look at what a change left behind
            self.book = self.book._replace(versioned=1)
        return handle

    def _forget(self, handle: int) -> None:
        it = self.told(handle)
        self._told[handle] = None
        self._free.append(handle)
        del self._handles[it.key, it.version]
        versions = self._versions.pop(it.key) - 1
        if versions:
            self._versions[it.key] = versions

    def _grow(self) -> None:
        old, wants = self.book, self.book.wants
        self.book = old._replace(
            key=_wider(old.key),
            version=_wider(old.version),
            owner=np.full(2 * old.owner.shape[0], NONE, np.int32),
            wants=wants._replace(boxes=_wider(wants.boxes)),
        )

    def sweep(self, held: Iterable[Handles]) -> None:
        """Forget all descriptors but those whose handles stand in these arrays."""
        live = np.zeros(len(self._told) + 1, np.bool_)
        for handles in held:
            live[handles] = True  # NONE marks the last, which is nobody
        for handle in np.flatnonzero(~live[:-1]).tolist():
            if self._told[handle] is not None:
                self._forget(handle)
        self._crowd = max(2 * len(self._handles), _FIRST_ROOM)


def _wider(column: NDArray[Item]) -> NDArray[Item]:
    """The column with as much room again."""
    wide = np.zeros((2 * column.shape[0], *column.shape[1:]), column.dtype)
    wide[: column.shape[0]] = column
    return wide
