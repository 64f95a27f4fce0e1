"""The ring view against its definition, learned in any order and in any pieces."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.protocol import links, selection
from tests.naive.protocol import naive_ring
from tests.protocol.peers import View, book_of, random_boxes

CELLS = {1: 12, 2: 6, 3: 4, 4: 3}
SHAPES = [(attributes, depth) for attributes in CELLS for depth in (1, 2, 3, 4)]


@pytest.mark.parametrize(("attributes", "depth"), SHAPES)
def test_a_ring_view_is_what_its_one_sentence_says(attributes: int, depth: int) -> None:
    random = np.random.default_rng(10 * attributes + depth)
    for _ in range(150):
        count = int(random.integers(2, 32))
        boxes = random_boxes(random, count, attributes, CELLS[attributes])
        book = book_of(random, boxes)
        view = View(book, 0, depth).learn(random.permutation(count).tolist())
        assert view.chosen == naive_ring(boxes, book.key, 0, range(count), depth)


@pytest.mark.parametrize(("attributes", "depth"), SHAPES)
def test_what_is_learned_in_batches_is_what_is_learned_at_once(attributes: int, depth: int) -> None:
    random = np.random.default_rng(100 + 10 * attributes + depth)
    for _ in range(60):
        boxes = random_boxes(random, 40, attributes, CELLS[attributes])
        book = book_of(random, boxes)
        view, heard = View(book, 0, depth), set()
        for _ in range(5):
            batch = random.integers(0, 40, 10).tolist()
            heard |= set(batch)
            assert view.learn(batch).chosen == naive_ring(boxes, book.key, 0, heard, depth)


@pytest.mark.parametrize("depth", [1, 2])
def test_selection_is_order_free_and_idempotent(depth: int) -> None:
    random = np.random.default_rng(depth)
    for _ in range(100):
        boxes = random_boxes(random, 30, 2, 6)
        book = book_of(random, boxes)
        some, more = random.integers(1, 30, 12).tolist(), random.integers(1, 30, 12).tolist()
        both = View(book, 0, depth).learn(some + more)
        one, other = View(book, 0, depth).learn(some), View(book, 0, depth).learn(more)
        assert View(book, 0, depth).learn(one.ordered + other.ordered).ordered == both.ordered
        assert View(book, 0, depth).learn(both.ordered[::-1]).ordered == both.ordered
        assert one.learn(other.ordered).ordered == other.learn(some).ordered == both.ordered


@pytest.mark.parametrize("depth", [1, 3])
def test_after_a_loss_whoever_was_covered_is_taken_again(depth: int) -> None:
    random = np.random.default_rng(20 + depth)
    for _ in range(100):
        boxes = random_boxes(random, 30, 2, 6)
        book = book_of(random, boxes)
        view, left = View(book, 0, depth).learn(list(range(30))), set(range(30))
        for _ in range(3):
            if not view.ordered:
                break
            lost = int(random.choice(view.ordered))
            left.discard(lost)
            assert links.drop(book, view.state, 0, 0, lost)
            assert not links.drop(book, view.state, 0, 0, lost)
            assert view.learn([]).chosen <= left
            assert view.learn(sorted(left)).chosen == naive_ring(boxes, book.key, 0, left, depth)


@pytest.mark.parametrize("depth", [1, 2])
def test_of_a_peer_that_changed_its_mind_the_newer_version_counts(depth: int) -> None:
    random = np.random.default_rng(30 + depth)
    for _ in range(100):
        boxes = random_boxes(random, 40, 2, 6)
        book = book_of(random, boxes, versioned=True)
        view = View(book, 0, depth).learn(list(range(1, 20)))
        changed = random.choice(np.arange(1, 20), 4, replace=False)
        latest = [handle + 20 if handle in changed else handle for handle in range(1, 20)]
        view.learn((changed + 20).tolist()).learn(list(range(1, 20)) + latest)
        stale = view.chosen & set(changed.tolist())
        assert {handle for handle in view.chosen if handle >= 20} <= set(latest)
        if not stale:  # an old version may come back where the newer one was no link; whoever speaks with it learns better
            assert view.chosen == naive_ring(boxes, book.key, 0, latest, depth)
        for handle in stale:
            view.learn([handle + 20])
        assert view.learn(latest).chosen == naive_ring(boxes, book.key, 0, latest, depth)


def test_a_peer_that_changed_its_mind_is_weighed_like_any_other_from_then_on() -> None:
    random, back = np.random.default_rng(33), 0
    for _ in range(60):
        boxes = random_boxes(random, 40, 2, 6)
        book = book_of(random, boxes, versioned=True)
        view, latest = View(book, 0, 1).learn(list(range(1, 20))), list(range(21, 40))
        view.learn(latest)
        before = view.chosen
        while view.ordered:
            lost = int(random.choice(view.ordered))
            latest.remove(lost)
            links.drop(book, view.state, 0, 0, lost)
            assert view.learn(latest).chosen == naive_ring(boxes, book.key, 0, latest, 1)
            back += len(view.chosen - before)
    assert back > 60


def test_a_row_that_wants_something_else_chooses_anew() -> None:
    random = np.random.default_rng(40)
    for _ in range(100):
        boxes = random_boxes(random, 40, 2, 6)
        book = book_of(random, boxes, versioned=True)
        view = View(book, 0, 1).learn(list(range(1, 20)))
        view.own = 20
        links.reselect(view.state, 0)
        assert view.learn(list(range(1, 20))).chosen == naive_ring(boxes, book.key, 20, range(1, 20), 1)


def test_a_link_is_brought_up_to_date() -> None:
    book = book_of(np.random.default_rng(0), np.zeros((2, 2, 1), np.int64))
    view = View(book, 0, 1).learn([1], born=5).learn([1], born=9).learn([1], born=7)
    assert view.state.born[view.state.start[0]] == 9


def test_what_a_row_wants_wholly_wanted_by_a_neighbour_is_its_horizon() -> None:
    boxes = np.array([[[2], [3]], [[0], [9]], [[2], [2]], [[0], [9]]])
    book = book_of(np.random.default_rng(1), boxes)._replace(key=np.array([10, 20, 30, 40], np.uint64))
    view = View(book, 0, 1).learn([1, 2, 3])
    assert view.ordered == [1, 3]
    assert (view.state.ahead[0], view.state.behind[0]) == (10, 30)


def test_new_links_bear_the_number_of_the_news_they_came_with() -> None:
    book = book_of(np.random.default_rng(1), np.array([[[0], [9]], [[0], [3]], [[4], [6]], [[7], [9]]]))
    view = View(book, 0, 1).learn([1])
    assert view.state.news[0] == 1
    view.learn([1]).learn([2, 3])
    start = view.state.start[0]
    since = dict(zip(view.ordered, view.state.since[start : start + 3].tolist(), strict=True))
    assert (view.state.news[0], since) == (2, {1: 1, 2: 2, 3: 2})


def test_an_arena_that_is_full_is_widened_and_loses_nothing() -> None:
    boxes = np.array([[[0], [99]]] + [[[k], [k]] for k in range(100)])
    book = book_of(np.random.default_rng(2), boxes)
    view = View(book, 0, 1)
    view.desk = selection.desk(1, 256)
    for handle in range(1, 101):
        view.learn([handle])
    assert view.chosen == set(range(1, 101))
    assert view.state.handles.shape[0] > links.links(1).handles.shape[0]
