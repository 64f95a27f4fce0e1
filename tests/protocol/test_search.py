"""A publisher's search, against lists: the nearest are kept, asked once, and named."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gossamer.arrays import NONE
from gossamer.protocol import cyclon, links, search, vicinity
from gossamer.protocol.descriptor import Book
from tests.naive.protocol import Boxes
from tests.protocol.peers import book_of, random_boxes

COUNT, VIEW, ENTRIES = 30, 6, 5


def drawn(seed: int, *, versioned: bool = False) -> tuple[Book, Boxes, np.random.Generator]:
    random = np.random.default_rng(seed)
    boxes = random_boxes(random, COUNT, 2, 6)
    return book_of(random, boxes, versioned=versioned), random.integers(0, 6, (1, 2)), random


def naive_order(book: Book, point: Boxes, handles: set[int]) -> list[int]:
    """Nearest first; the lower key wins a tie."""

    def apart(handle: int) -> float:
        box = book.wants.boxes[handle]
        gap = np.maximum(0, np.maximum(box[0] - point, point - box[1])) * book.wants.scale
        return float((gap * gap).sum())

    return sorted(handles, key=lambda handle: (apart(handle), int(book.key[handle])))


@given(st.integers(0, 10_000))
def test_the_nearest_heard_of_are_kept_and_each_is_asked_once(seed: int) -> None:
    book, points, random = drawn(seed)
    it, heard, asked = search.seekers(points, search.Params(view=VIEW, fanout=2)), set[int](), list[int]()
    search.start(book, it, 0, 3)
    heard.add(3)
    to = np.zeros(2, np.int32)
    for _ in range(8):
        nearest = naive_order(book, points[0], heard)[:VIEW]
        assert it.handles[0, : it.size[0]].tolist() == nearest
        inside = (book.wants.boxes[nearest[0], 0] <= points[0]) & (points[0] <= book.wants.boxes[nearest[0], 1])
        assert search.found(it, 0) == (nearest[0] if inside.all() else NONE)
        count = search.request(it, 0, 2, to)
        still = [handle for handle in nearest if it.asked[0, nearest.index(handle)] == 0]
        assert count == 2 or not still
        asked += to[:count].tolist()
        named = random.integers(0, COUNT, ENTRIES).astype(np.int32)
        search.merge(book, it, 0, named, ENTRIES)
        heard |= set(named.tolist())
        # Who has fallen out of the view does not come back into it unasked: it is not nearer than it was.
    assert len(asked) == len(set(asked))


@given(st.integers(0, 10_000))
def test_an_answer_names_the_nearest_of_all_views(seed: int) -> None:
    book, points, random = drawn(seed)
    ring, near, sample = (
        links.links(1),
        vicinity.near(1, vicinity.Params(view=6, shuffle=3)),
        cyclon.samples(1, cyclon.Params()),
    )
    known = set[int]()
    for handles in (ring.handles, near.handles[0], sample.handles[0]):
        some = random.permutation(COUNT)[: random.integers(0, 6)].astype(np.int32)
        handles[: some.size] = some
        known |= set(some.tolist())
        if handles is ring.handles:
            ring.size[0] = some.size
    out, apart = np.zeros(ENTRIES, np.int32), np.zeros(ENTRIES)
    count = search.reply(book, points[0], ring, near, sample, 0, out, apart)
    assert out[:count].tolist() == naive_order(book, points[0], known)[:ENTRIES]


def test_of_two_versions_the_newer_is_kept_and_asked_again() -> None:
    book, points, _ = drawn(1, versioned=True)
    it, to = search.seekers(points, search.Params(view=VIEW)), np.zeros(5, np.int32)
    search.start(book, it, 0, 3)
    assert search.request(it, 0, 5, to) == 1
    search.merge(book, it, 0, np.array([3 + COUNT // 2, 3], np.int32), 2)
    assert it.handles[0, : it.size[0]].tolist() == [3 + COUNT // 2]
    assert search.request(it, 0, 5, to) == 1
