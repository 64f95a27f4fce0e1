"""Small worlds to try a protocol in: a book of random boxes on a coarse grid, where every case is met often."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gossamer.arrays import NONE
from gossamer.interest.ask import Interests
from gossamer.protocol import links, selection
from gossamer.protocol.descriptor import Book


def random_boxes(random: np.random.Generator, count: int, attributes: int, cells: int) -> NDArray[np.int64]:
    """Boxes (count, 2, D) on a grid of so many cells a side, a third of their sides of zero width."""
    ends = np.sort(random.integers(0, cells, (count, 2, attributes)), axis=1)
    flat = random.random((count, attributes)) < 1 / 3
    ends[:, 1][flat] = ends[:, 0][flat]
    return ends


def book_of(random: np.random.Generator, boxes: NDArray[np.int64], *, versioned: bool = False) -> Book:
    """A book of these boxes under random keys; versioned: the second half are the same peers once more, changed."""
    count = boxes.shape[0]
    peers = count // 2 if versioned else count
    key = random.integers(0, 2**64, peers, dtype=np.uint64)
    return Book(
        key=np.resize(key, count),
        version=(np.arange(count) // peers).astype(np.uint32),
        owner=(np.arange(count) % peers).astype(np.int32),
        wants=Interests(boxes=boxes, scale=np.full(boxes.shape[2], 1 / 8)),
        versioned=int(versioned),
    )


class View:
    """One row's ring view, with all the room it needs."""

    def __init__(self, book: Book, own: int, depth: int) -> None:
        self.book, self.own, self.depth = book, own, depth
        self.state = links.links(1)
        self.desk = selection.desk(book.wants.boxes.shape[2], 64, 4096)

    def learn(self, handles: list[int], born: int = 0) -> View:
        """Select out of what is there and these."""
        fresh = 0
        for handle in handles:
            fresh = links.consider(self.book, self.state, 0, self.own, handle, np.uint16(born), self.desk, fresh)
        while (lacks := links.settle(self.book, self.state, 0, self.own, fresh, self.depth, self.desk)) != selection.DONE:
            assert lacks == selection.NO_ARENA
            self.state = links.widen(self.state)
        return self

    @property
    def ordered(self) -> list[int]:
        """The links as they stand."""
        start = int(self.state.start[0])
        return [int(handle) for handle in self.state.handles[start : start + int(self.state.size[0])]]

    @property
    def chosen(self) -> set[int]:
        """The links."""
        found = self.ordered
        assert NONE not in found
        assert len(set(found)) == len(found)
        return set(found)
