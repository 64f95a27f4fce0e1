"""Arcs and the papers' way of spreading: who is written to by a row that knows some others, and what for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.arrays import NONE
from gossamer.interest.ask import Interests
from gossamer.protocol import arcs, cyclon, fingers, links, relay, spread, vicinity
from gossamer.protocol.descriptor import Book
from gossamer.protocol.spread import ARC, CLOSE, COPY, DONE, HINT, REPAIR, SEEK, Copies, Happenings, empty_copies
from gossamer.protocol.view import ASK, Now
from gossamer.protocol.views import Views

CIRCLE = 2**64


class Known:
    """Row 0 of a world in which every peer wants 0, or only 1; and whom it knows, in which view."""

    def __init__(self, keys: list[int], wants: list[int]) -> None:
        boxes = np.repeat(np.array(wants, np.int64), 2).reshape(-1, 2, 1)
        count = len(keys)
        self.keys, self.wants = keys, wants
        self.book = Book(
            np.array(keys, np.uint64),
            np.zeros(count, np.uint32),
            np.arange(count, dtype=np.int32),
            Interests(boxes, np.ones(1)),
            0,
        )
        self.happenings = Happenings(np.array([77], np.uint64), np.zeros((1, 1), np.int64))
        self.links = links.links(2)
        self.near = vicinity.near(1, vicinity.Params(view=8, shuffle=4))
        self.sample = cyclon.samples(1, cyclon.Params(view=8, shuffle=4))
        self.fingers = fingers.fingers(1, fingers.Params(levels=4, places=2))
        self.views = Views(self.links, self.near, self.sample, self.fingers)
        self.desk, self.out = arcs.desk(), empty_copies(64)

    def offset(self, handle: int) -> int:
        """How far up from row 0 somebody stands."""
        return (self.keys[handle] - self.keys[0]) % CIRCLE

    def link(self, handles: list[int]) -> None:
        """Know some by ring links."""
        for k, handle in enumerate(sorted(set(handles), key=self.offset)):
            self.links.handles[k], self.links.offset[k] = handle, self.offset(handle)
        self.links.size[0] = len(set(handles))

    def cover(self, low: int, high: int, *, fanout: int = 4, close: int = 1, source: int = NONE) -> list[dict[str, int]]:
        """What is written to see to an arc."""
        book, told, ends = self.book, self.happenings, (np.uint64(low), np.uint64(high))
        answer = arcs.cover(
            book, told, self.views, 0, 0, source, 0, 3, ends[0], ends[1],
            fanout, close, self.desk, self.out,
        )  # fmt: skip
        assert answer == DONE
        return written(self.out)


def written(out: Copies) -> list[dict[str, int]]:
    """The messages, and nobody writes them twice."""
    names = ("to", "what", "hop", "low", "high", "other")
    found = [{name: int(getattr(out, name)[m]) for name in names} for m in range(int(out.used[0]))]
    out.used[0] = 0
    return found


@st.composite
def peers(draw: st.DrawFn) -> Known:
    """A row and others of whom most want the event, known in all ways."""
    keys = draw(st.lists(st.integers(0, 40) | st.integers(0, CIRCLE - 1), min_size=2, max_size=25, unique=True))
    wants = [0, *draw(st.lists(st.sampled_from([0, 0, 0, 1]), min_size=len(keys) - 1, max_size=len(keys) - 1))]
    it = Known(keys, wants)
    others = st.lists(st.integers(1, len(keys) - 1), max_size=8, unique=True)
    it.link(draw(others))
    for handles in (it.near.handles, it.sample.handles, it.fingers.handles):
        some = draw(others)
        handles[0, : len(some)] = some
    return it


def inside(key: int, low: int, high: int) -> bool:
    """Whether a key lies above low and up to high, cyclically; of an empty arc, the whole circle is meant."""
    return 0 < (key - low) % CIRCLE <= ((high - low) % CIRCLE or CIRCLE)


def everybody(it: Known) -> set[int]:
    """Whom row 0 knows to want the event."""
    linked = it.links.handles[: it.links.size[0]].tolist()
    known = {*linked, *it.near.handles[0].tolist(), *it.sample.handles[0].tolist(), *it.fingers.handles[0].tolist()} - {NONE}
    return {handle for handle in known if it.wants[handle] == 0}


@given(peers(), st.integers(2, 8), st.integers(0, CIRCLE // 2 - 1), st.integers(1, CIRCLE // 2))
def test_arcs_given_out_are_parts_of_the_arc_each_around_its_receiver(it: Known, fanout: int, up: int, down: int) -> None:
    low, high = (it.keys[0] - down) % CIRCLE, (it.keys[0] + up) % CIRCLE
    known = {handle for handle in everybody(it) if inside(it.keys[handle], low, high)}
    given_out = [m for m in it.cover(low, high, fanout=fanout, close=0) if m["what"] == ARC]
    receivers = [m["to"] for m in given_out]
    assert set(receivers) <= known
    assert len(set(receivers)) == len(receivers) <= fanout
    assert all(inside(it.keys[m["to"]], m["low"], m["high"]) for m in given_out)
    assert all(m["hop"] == 4 for m in given_out)
    above = [handle for handle in known if it.offset(handle) <= up]
    below = [handle for handle in known if it.offset(handle) > up]
    for side, length in ((above, up), (below, down - 1)):
        mine = [m for m in given_out if m["to"] in side]
        assert bool(mine) == bool(side)
        if side:
            nearest = min(side, key=lambda handle: min(it.offset(handle), CIRCLE - it.offset(handle)))
            assert nearest in receivers
            assert sum((m["high"] - m["low"]) % CIRCLE for m in mine) == length  # no gap, no overlap: the ends meet, too
            ends = sorted(m["low"] for m in mine) + sorted(m["high"] for m in mine)
            assert len(set(ends)) == len(mine) + 1
    if len(known) <= 1:
        assert set(receivers) == known


@given(peers())
def test_the_first_sees_to_the_whole_circle(it: Known) -> None:
    end = int(arcs.whole(np.uint64(it.keys[0])))
    given_out = it.cover(end, end, close=0)
    total = sum((m["high"] - m["low"]) % CIRCLE for m in given_out)
    above = any(it.offset(handle) <= CIRCLE // 2 for handle in everybody(it))
    below = any(it.offset(handle) > CIRCLE // 2 for handle in everybody(it))
    assert total == CIRCLE // 2 * above + (CIRCLE // 2 - 1) * below


def test_the_last_of_an_arc_tells_the_next_one_beyond() -> None:
    it = Known([100, 200, 300, 400], [0, 1, 0, 0])
    it.link([1, 2, 3])
    assert [(m["what"], m["to"]) for m in it.cover(50, 250)] == [(CLOSE, 2)]
    assert it.cover(50, 250, source=2) == []
    assert it.cover(50, 250, close=0) == []
    assert [m["what"] for m in it.cover(50, 300)] == [ARC]


@pytest.mark.parametrize("way", [arcs.UP, arcs.DOWN])
def test_who_knows_of_somebody_in_between_says_so_or_sees_to_it(way: np.uint64) -> None:
    """Row 0 is asked by row 1 whether somebody lies between them."""
    keys = [1000, 500, 700] if way == arcs.UP else [1000, 1500, 1300]
    it = Known(keys, [0, 0, 0])
    it.link([1])
    for known, held in ((False, 0), (True, 0), (True, 1)):
        it.link([1, 2] if known else [1])
        arcs.answer_close(it.book, it.happenings, it.links, 0, 0, 1, NONE, 0, 5, way, held, it.out)
        found = written(it.out)
        if not known:
            assert found == []
        elif not held:
            assert [(m["what"], m["to"], m["other"], m["low"]) for m in found] == [(HINT, 1, 2, int(way))]
        else:
            low, high = (500, 999) if way == arcs.UP else (1000, 1499)
            assert [(m["what"], m["to"], m["low"], m["high"]) for m in found] == [(ARC, 2, low, high)]
    arcs.answer_close(it.book, it.happenings, it.links, 0, 0, 1, 2, 0, 5, way, 1, it.out)
    assert written(it.out) == []  # the one in between is who was found dead


def test_a_hint_is_followed_to_whoever_wants_the_event() -> None:
    it, nowhere = Known([100, 300, 200, 250], [0, 0, 0, 1]), np.uint64(0)
    arcs.follow_hint(it.book, it.happenings, 0, 1, 2, 0, 5, arcs.UP, nowhere, it.out)
    assert [(m["what"], m["to"], m["low"], m["high"], m["hop"]) for m in written(it.out)] == [(ARC, 2, 100, 299, 6)]
    arcs.follow_hint(it.book, it.happenings, 0, 1, 3, 0, 5, arcs.UP, nowhere, it.out)
    arcs.follow_hint(it.book, it.happenings, 0, 1, 2, 0, 200, arcs.UP, nowhere, it.out)
    assert written(it.out) == []


def bounced(it: Known, low: int, high: int) -> list[dict[str, int]]:
    book, told, ends = it.book, it.happenings, (np.uint64(low), np.uint64(high))
    answer = arcs.bounced(book, told, it.views, 0, 0, 0, 3, ends[0], ends[1], it.desk, it.out)
    assert answer == DONE
    return written(it.out)


def test_the_arc_of_one_found_dead_goes_whole_to_another_inside_or_those_inside_are_sought_from_beyond() -> None:
    it = Known([100, 200, 240, 290, 400, 900], [0, 0, 0, 0, 0, 0])
    it.link([2, 3, 4])
    assert [(m["what"], m["to"], m["low"], m["high"], m["hop"]) for m in bounced(it, 150, 300)] == [(ARC, 2, 150, 300, 3)]
    it.link([3, 4])
    assert [(m["what"], m["to"]) for m in bounced(it, 150, 300)] == [(ARC, 3)]
    it.link([5])
    it.near.handles[0, 0] = 4  # whoever is nearest behind the gap, in whatever view
    across = (SEEK, 4, int(arcs.DOWN | arcs._FIRST), 151)
    assert [(m["what"], m["to"], m["low"], m["high"]) for m in bounced(it, 150, 300)] == [across]
    it.near.handles[0, 0] = NONE
    it.link([])
    assert bounced(it, 150, 300) == []


def sought(it: Known, way: np.uint64, end: int, *, held: int = 1, hop: int = 5) -> list[dict[str, int]]:
    """What row 0 writes when row 1 asks it to go on with a search."""
    answer = arcs.go_on(it.book, it.happenings, it.views, 0, 0, 1, 0, hop, way, np.uint64(end), held, it.desk, it.out)
    assert answer == DONE
    return written(it.out)


@pytest.mark.parametrize("up", [True, False])
def test_a_search_goes_to_whoever_is_nearest_to_the_end_of_the_gap_and_not_beyond(up: bool) -> None:  # noqa: FBT001
    way, sign = (arcs.UP, 1) if up else (arcs.DOWN, -1)
    it = Known([1000, 500, *(1000 + sign * n for n in (100, 200, 300, 150))], [0, 0, 0, 0, 0, 1])
    it.link([2, 4, 5])
    it.near.handles[0, 0] = 3
    first = way | arcs._FIRST
    assert [(m["what"], m["to"], m["low"], m["hop"]) for m in sought(it, first, 1000 + sign * 250)] == [(SEEK, 3, int(way), 6)]
    assert [m["to"] for m in sought(it, way, 1000 + sign * 300)] == [4]
    assert sought(it, way, 1000 + sign * 50) == []
    assert sought(it, way, 1000 + sign * 250, hop=200) == []


@given(peers(), st.integers(0, 3), st.integers(1, CIRCLE // 2))
def test_every_step_of_a_search_is_nearer_to_its_end(it: Known, way: int, length: int) -> None:
    up = way & 1 == int(arcs.UP)
    end = (it.keys[0] + length if up else it.keys[0] - length) % CIRCLE
    found = sought(it, np.uint64(way), end)
    between = {
        handle for handle in everybody(it) if 0 < (it.offset(handle) if up else CIRCLE - it.offset(handle)) <= length
    } - {0}
    assert bool(found) == bool(between)
    for message in found:
        assert message["to"] == max(between, key=lambda handle: it.offset(handle) if up else CIRCLE - it.offset(handle))


def test_who_is_sought_says_so_and_gets_what_is_left_of_the_gap() -> None:
    it = Known([1000, 500], [0, 0])
    for first in (np.uint64(0), arcs._FIRST):
        (told,) = sought(it, arcs.UP | first, 2000, held=0)
        assert (told["what"], told["to"], told["other"], told["high"]) == (HINT, 1, 0, 2000)
    walker = Known([100, 300], [0, 0])  # row 0 has been answered by row 1
    cases = [
        (arcs.UP, 400, 100, 400),  # it went up: from us to the gap's end
        (arcs.DOWN, 250, 249, 99),
        (arcs.UP | arcs._FIRST, 90, 299, 90),  # it stands beyond a gap below us: from it to the gap's near end
        (arcs.DOWN | arcs._FIRST, 150, 149, 300),
    ]
    for way, end, low, high in cases:
        arcs.follow_hint(
            walker.book, walker.happenings, 0, 1, 1, 0, 5, way | arcs._SOUGHT, np.uint64(end), walker.out
        )  # fmt: skip
        assert [(m["what"], m["to"], m["low"], m["high"]) for m in written(walker.out)] == [(ARC, 1, low, high)]


@pytest.mark.parametrize("first", [False, True])
def test_a_search_goes_around_the_dead(first: bool) -> None:  # noqa: FBT001
    it = Known([1000, 1400, 1300, 1500], [0, 0, 0, 0])
    it.link([2, 3])  # row 1 was asked, and has just been forgotten
    way = (arcs.DOWN | arcs._FIRST) if first else arcs.UP
    end = np.uint64(1350 if first else 1450)
    assert arcs.step_around(it.book, it.happenings, it.views, 0, 0, 1, 0, 5, way, end, it.desk, it.out) == DONE
    assert [(m["what"], m["to"], m["low"]) for m in written(it.out)] == [(SEEK, 3 if first else 2, int(way))]


# ---------------------------------------------------------------------------------------------------- the papers' way


def forwarded(it: Known, *, source: int = NONE, shortcuts: int = 1, cycle: int = 1) -> list[int]:
    """To whom a row passes the event on."""
    args = (it.links, it.near, 0, 0, source, 0, 3, shortcuts, it.out)
    assert spread.forward(it.book, Now(np.uint64(9), cycle, cycle), it.happenings, *args) == DONE
    found = written(it.out)
    assert all(m["what"] == COPY and m["hop"] == 4 for m in found)
    return [m["to"] for m in found]


@given(peers(), st.integers(0, 4), st.data())
def test_ring_neighbours_and_some_others_get_it_and_never_the_sender(it: Known, shortcuts: int, data: st.DataObject) -> None:
    source = data.draw(st.sampled_from([NONE, *range(1, len(it.keys))]))
    linked = [h for h in it.links.handles[: it.links.size[0]].tolist() if it.wants[h] == 0]
    ring = {linked[0], linked[-1]} if linked else set()
    near = {h for h in it.near.handles[0].tolist() if h != NONE and it.wants[h] == 0} - ring - {source}
    found = forwarded(it, source=source, shortcuts=shortcuts)
    assert len(set(found)) == len(found)
    assert source not in found
    assert set(found) & ring == ring - {source}
    assert set(found) - ring <= near
    assert len(set(found) - ring) == min(shortcuts, len(near))


@pytest.mark.parametrize("shortcuts", [1, 2])
def test_every_matching_peer_of_the_view_is_a_shortcut_as_often(shortcuts: int) -> None:
    it = Known(list(range(100, 110)), [0] * 8 + [1] * 2)
    it.near.handles[0] = [1, 2, 8, 3, 4, 9, 5, 6]
    it.link([7])
    count = np.zeros(10)
    for cycle in range(3000):
        count[forwarded(it, source=6, shortcuts=shortcuts, cycle=cycle)] += 1
    assert count[[0, 6, 8, 9]].sum() == 0
    assert count[7] == 3000
    expected = 3000 * shortcuts / 5
    assert (abs(count[1:6] - expected) < 5 * np.sqrt(expected)).all()


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(1, 2)), max_size=190))
def test_how_far_a_row_is_with_an_event_is_remembered(noted: list[tuple[int, int, int]]) -> None:
    it, known = spread.seen(4), dict[tuple[int, int], int]()
    for event, row, state in noted:
        assert spread.known(it, event, row) == known.get((event, row), spread.UNKNOWN)
        spread.note(it, event, row, state)
        known[event, row] = state
    assert {pair: spread.known(it, *pair) for pair in known} == known
    assert int(it.used[0]) == len(known)


def test_a_row_asked_again_and_again_does_no_more_for_an_event() -> None:
    assert spread.further(spread.UNKNOWN, REPAIR) == spread.HELD
    assert spread.further(spread.PASSED, REPAIR) == spread.PASSED
    state = spread.further(spread.HELD, ARC)
    assert state == spread.PASSED
    for _ in range(10):
        state = spread.further(state, ARC)
    assert state == spread.WEARY


@given(peers(), st.data())
def test_what_one_found_dead_was_to_pass_on_goes_to_who_comes_next_behind_it(it: Known, data: st.DataObject) -> None:
    linked = it.links.handles[: it.links.size[0]].tolist()
    dead = data.draw(st.integers(1, len(it.keys) - 1).filter(lambda handle: handle not in linked))  # forgotten by now
    wanting = [handle for handle in linked if it.wants[handle] == 0]
    above = [handle for handle in wanting if it.offset(handle) > it.offset(dead)]
    below = [handle for handle in wanting if it.offset(handle) < it.offset(dead)]
    expected = []
    if above and not below:  # nobody stood before it going up: it was the next
        expected.append(min(above, key=it.offset))
    if len(below) > 1 and not above:  # one alone was the next going up as well, and has it already
        expected.append(max(below, key=it.offset))
    assert spread.bounced(it.book, it.happenings, it.links, 0, 0, dead, 0, 6, it.out) == DONE
    told = written(it.out)
    assert [m["to"] for m in told] == expected
    assert {(m["what"], m["hop"]) for m in told} <= {(COPY, 6)}
    it.out.used[0] = it.out.to.shape[0] - 1
    assert spread.bounced(it.book, it.happenings, it.links, 0, 0, dead, 0, 6, it.out) == spread.NO_MAIL


@pytest.mark.parametrize(
    ("state", "asks_beyond"), [(spread.UNKNOWN, True), (spread.HELD, True), (spread.PASSED, False), (spread.WEARY - 1, False)]
)
def test_with_one_more_arc_a_row_sees_to_it_and_asks_nobody_beyond(state: int, asks_beyond: bool) -> None:  # noqa: FBT001
    it = Known([100, 200, 300, 90], [0, 0, 0, 0])
    it.link([1, 2, 3])
    mail, how = empty_copies(1), relay.rules(spread.Params(mode="arcs"))
    mail.sender[0], mail.to[0], mail.asks[0], mail.what[0] = 2, 0, ASK, ARC
    mail.low[0], mail.high[0] = 80, 150
    args = (it.book, Now(np.uint64(1), 3, 6), it.happenings, it.views, how, 0, 0, mail, 0, state, it.desk, it.out)
    assert relay.receive(*args) == DONE
    told = [(m["to"], m["what"]) for m in written(it.out)]
    assert told == [(3, ARC), (1, CLOSE)][: 1 + asks_beyond]
