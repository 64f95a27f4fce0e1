"""The dead: buried, refused, absolved; and the silent, who are heard out before they count as dead."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.arrays import NONE
from gossamer.protocol import alive, cyclon, fingers, links, vicinity
from gossamer.protocol.selection import ASKED, MET
from gossamer.protocol.view import Now
from gossamer.protocol.views import Views
from tests.protocol.peers import book_of

COUNT = 40
BOOK = book_of(np.random.default_rng(0), np.zeros((2 * COUNT, 2, 1), np.int64), versioned=True)
OFFSET = BOOK.key - BOOK.key[:1]
FORGET = 30


def now(cycle: int) -> Now:
    return Now(np.uint64(1), cycle, cycle)


def graves(places: int = 256) -> alive.Graves:
    return alive.graves(1, alive.Params(places=places))


def refused(it: alive.Graves, cycle: int, handle: int, born: int) -> bool:
    return bool(alive.refused(BOOK, now(cycle), it, 0, handle, np.uint16(born), FORGET))


def test_the_dead_are_refused_in_every_version_unless_minted_since() -> None:
    it = graves()
    alive.bury(BOOK, now(10), it, 0, 3)
    for handle in (3, 3 + COUNT):
        assert refused(it, 12, handle, 9)
        assert refused(it, 12, handle, 10)
        assert not refused(it, 12, handle, 11)
    assert not refused(it, 12, 4, 1)
    assert refused(it, 10 + FORGET, 3, 1)
    assert not refused(it, 11 + FORGET, 3, 1)


def test_who_writes_lives() -> None:
    it = graves()
    alive.bury(BOOK, now(10), it, 0, 3)
    alive.absolve(BOOK, it, 0, 4)
    assert refused(it, 12, 3, 9)
    alive.absolve(BOOK, it, 0, 3 + COUNT)
    assert not refused(it, 12, 3, 9)


@given(st.lists(st.integers(0, COUNT - 1), max_size=80))
def test_graves_are_bounded_and_the_first_buried_makes_room(buried: list[int]) -> None:
    it = graves(8)
    for cycle, handle in enumerate(buried):
        alive.bury(BOOK, now(cycle), it, 0, handle)
    end = len(buried)
    kept = it.handles[0][it.handles[0] != NONE].tolist()
    assert len(kept) == len(set(kept)) <= 8
    latest = sorted(set(buried), key=lambda handle: -(end - buried[::-1].index(handle)))
    assert set(latest[:4]) <= set(kept)  # a set has four places


def test_the_dead_are_struck_from_what_comes_in() -> None:
    it = graves()
    handles, born = np.array([3, NONE, 4, 3 + COUNT], np.int32), np.array([5, 0, 5, 11], np.uint16)
    alive.strike(BOOK, now(12), it, 0, handles, born, FORGET)
    assert handles.tolist() == [3, NONE, 4, 3 + COUNT]
    alive.bury(BOOK, now(10), it, 0, 3)
    alive.strike(BOOK, now(12), it, 0, handles, born, FORGET)
    assert handles.tolist() == [NONE, NONE, 4, 3 + COUNT]


def world(linked: int) -> Views:
    """Views of row 0, which knows some in every way."""
    views = Views(
        links.links(1),
        vicinity.near(1, vicinity.Params(view=8, shuffle=4)),
        cyclon.samples(1, cyclon.Params(view=8, shuffle=4)),
        fingers.fingers(1, fingers.Params(levels=4, places=2)),
    )
    order = sorted(range(1, linked + 1), key=lambda handle: int(OFFSET[handle]))
    for k, handle in enumerate(order):
        views.links.handles[k], views.links.offset[k] = handle, OFFSET[handle]
        views.links.marks[k] = MET
    views.links.size[0] = linked
    for view in (views.near, views.sample, views.fingers):
        view.handles[0, :3] = [1, 2, 3]
    return views


def marked(views: Views, mark: np.uint8) -> list[int]:
    size = int(views.links.size[0])
    return [int(h) for h, m in zip(views.links.handles[:size], views.links.marks[:size], strict=True) if m & mark]


@pytest.mark.parametrize("alarm", [0, 3, 20])
def test_one_found_dead_is_forgotten_everywhere_and_those_behind_it_are_asked_anew(alarm: int) -> None:
    it, views = graves(), world(8)
    order = views.links.handles[:8].tolist()
    at = order.index(2)
    alive.lose(BOOK, now(9), it, views, 0, 0, 2 + COUNT, alarm)
    assert refused(it, 9, 2, 9)
    for view in (views.near, views.sample, views.fingers):
        assert set(view.handles[0].tolist()) == {1, 3, NONE}
    behind = order[at + 1 :] + order[:at]
    assert set(marked(views, MET)) == set(behind[alarm:])
    assert 2 not in views.links.handles[: views.links.size[0]]


@pytest.mark.parametrize("patience", [0, 1])
def test_silence_counts_after_one_question_or_two(patience: int) -> None:
    it, views = graves(), world(6)
    places = {int(handle): k for k, handle in enumerate(views.links.handles[:6])}
    for handle in (2, 5):
        views.links.marks[places[handle]] |= ASKED
    alive.listen(BOOK, now(5), it, views, 0, 0, patience, 0)
    if patience:
        assert int(views.links.size[0]) == 6
        assert marked(views, ASKED) == []
        assert set(marked(views, MET)) == {1, 3, 4, 6}  # those two are asked before all others
        for handle in (2, 4, 5):
            views.links.marks[places[handle]] |= ASKED
        views.links.marks[places[5]] &= ~ASKED  # it has answered
        alive.listen(BOOK, now(6), it, views, 0, 0, patience, 0)
        assert set(views.links.handles[: views.links.size[0]].tolist()) == {1, 3, 4, 5, 6}
        assert refused(it, 7, 2, 6)
    else:
        assert set(views.links.handles[: views.links.size[0]].tolist()) == {1, 3, 4, 6}
        assert refused(it, 7, 2, 5)
        assert refused(it, 7, 5, 5)
