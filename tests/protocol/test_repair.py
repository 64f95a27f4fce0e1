"""What is remembered, told, asked for and sent, against lists."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.arrays import NONE
from gossamer.protocol import fingers, links, repair
from gossamer.protocol.descriptor import Book
from gossamer.protocol.repair import History
from gossamer.protocol.spread import DONE, HELD, NO_MAIL, PASSED, REPAIR, Copies, Happenings, Seen, empty_copies, note, seen
from gossamer.protocol.view import ANSWER, ASK, Now, Parcels, empty_parcels
from tests.naive.protocol import naive_digest, naive_pull, naive_push
from tests.protocol.peers import book_of

PEERS, EVENTS, REST, WINDOW, ROW = 12, 8, 2, 6, 1
BOOK: Book = book_of(np.random.default_rng(3), np.array([[[p % 4], [p % 4 + p // 3]] for p in range(PEERS)], np.int64))
HAPPENINGS = Happenings(np.arange(EVENTS, dtype=np.uint64), np.arange(EVENTS, dtype=np.int64).reshape(-1, 1))
NEWS = st.lists(st.tuples(st.integers(0, EVENTS - 1), st.integers(0, 2)), max_size=30)
"""Events, and how many cycles after the one before each came."""
PEER = st.integers(0, PEERS - 1)


def now(cycle: int, seed: int = 1) -> Now:
    return Now(np.uint64(seed), cycle, 2 * cycle)


def wants(peer: int, event: int) -> bool:
    low, high = BOOK.wants.boxes[peer, :, 0].tolist()
    return bool(low <= event <= high)


def lived(news: list[tuple[int, int]], size: int = 5, start: int = 65_530) -> tuple[History, list[tuple[int, int]], int]:
    """A history, what it should hold by place in its circle, and the cycle it is then; cycles pass 2**16."""
    it, circle, cycle = repair.history(2, size), dict[int, tuple[int, int]](), start
    for n, (event, later) in enumerate(news):
        cycle += later
        repair.remember(it, ROW, event, cycle & 0xFFFF)
        circle[n % size] = (event, cycle)
    return it, [circle[place] for place in sorted(circle)], cycle


def linked(handles: list[int]) -> links.Links:
    """Some ring links of the row; their order is no matter here."""
    state = links.links(2)
    start = int(state.start[ROW])
    state.handles[start : start + len(handles)] = handles
    state.size[ROW] = len(handles)
    return state


def fingered(handles: list[int]) -> fingers.Fingers:
    """Some fingers of the row, with gaps between them."""
    it = fingers.fingers(2, fingers.Params(levels=6, places=2))
    it.handles[ROW, 1 : 2 * len(handles) : 2] = handles
    return it


def digest(it: History, cycle: int, partners: links.Links, far: fingers.Fingers, out: Parcels, n: int = 0, own: int = 0) -> int:
    return repair.request(BOOK, now(cycle), HAPPENINGS, it, partners, far, ROW, own, n, REST, WINDOW, out)


def read(mail: Parcels, m: int) -> list[tuple[int, int]]:
    start, stop = int(mail.start[m]), int(mail.start[m + 1])
    return list(zip(mail.handles[start:stop].tolist(), mail.born[start:stop].tolist(), strict=True))


def written(copies: Copies) -> list[tuple[int, int, int, int, int]]:
    """Sender, addressee, kind, event and hop of each copy."""
    columns = (copies.sender, copies.to, copies.what, copies.event, copies.hop)
    return [tuple(int(column[m]) for column in columns) for m in range(int(copies.used[0]))]  # type: ignore[misc]


def short(listed: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same, with cycles as they stand in a message."""
    return [(event, when & 0xFFFF) for event, when in listed]


@given(NEWS, st.integers(1, 6))
def test_the_latest_events_are_remembered_in_a_circle(news: list[tuple[int, int]], size: int) -> None:
    it, circle, _ = lived(news, size)
    kept = it.events[ROW] != NONE
    assert list(zip(it.events[ROW][kept].tolist(), it.when[ROW][kept].tolist(), strict=True)) == short(circle)
    assert sorted(event for event, _ in circle) == sorted(event for event, _ in news[-size:])
    assert (it.events[0] == NONE).all()


def test_who_has_no_memory_remembers_nothing() -> None:
    it = repair.history(1, 0)
    repair.remember(it, 0, 3, 5)
    assert it.turn.tolist() == [0]


@given(NEWS, st.integers(0, 9), PEER)
def test_a_digest_lists_what_its_reader_wants_and_is_neither_too_young_nor_too_old(
    news: list[tuple[int, int]], later: int, reader: int
) -> None:
    it, circle, cycle = lived(news)
    out, own = empty_parcels(2, 16), (reader + 1) % PEERS
    assert digest(it, cycle + later, linked([reader]), fingers.no_fingers(2), out, own=own) == DONE
    assert int(out.used[0]) == 1
    assert (int(out.sender[0]), int(out.to[0]), int(out.asks[0])) == (own, reader, ASK)
    assert int(out.stamp[0]) == (cycle + later) & 0xFFFF
    assert read(out, 0) == short(naive_digest(circle, cycle + later, REST, WINDOW, lambda event: wants(reader, event)))


@pytest.mark.parametrize(("near", "far"), [([3, 7, 9], []), ([], [2, 5]), ([3, 7, 9], [2, 5]), ([4], [])])
def test_the_reader_is_a_random_one_of_links_and_fingers(near: list[int], far: list[int]) -> None:
    it, _, _ = lived([])
    state, some, told, rounds = linked(near), fingered(far), Counter[int](), 2000
    for n in range(rounds):
        out = empty_parcels(1, 16)
        digest(it, 100 + n // 4, state, some, out, n % 4)
        told[int(out.to[0])] += 1
    assert set(told) == set(near + far)
    expected = rounds / len(near + far)
    assert all(abs(many - expected) < 5 * expected**0.5 for many in told.values())  # five standard deviations


def test_who_knows_nobody_sends_no_digest_and_who_lacks_room_asks_for_it() -> None:
    it, _, _ = lived([(2, 0)])
    out = empty_parcels(1, 5)
    assert digest(it, 3, linked([]), fingered([]), out) == DONE
    assert int(out.used[0]) == 0
    assert digest(it, 3, linked([4]), fingered([]), out) == DONE
    assert digest(it, 3, linked([4]), fingered([]), out) == NO_MAIL  # no message left
    assert digest(it, 3, linked([4]), fingered([]), empty_parcels(1, 4)) == NO_MAIL  # no room for all that may be listed
    assert int(out.used[0]) == 1


def had(events: dict[int, int]) -> Seen:
    it = seen(16)
    for event, state in events.items():
        note(it, event, ROW, state)
        note(it, (event + 1) % EVENTS, 0, PASSED)  # what another row has had says nothing
    return it


LISTED = st.lists(st.tuples(st.integers(0, EVENTS - 1), st.integers(0, 65_535)), max_size=8, unique_by=lambda it: it[0])


@given(
    NEWS, st.integers(0, 9), LISTED, st.dictionaries(st.integers(0, EVENTS - 1), st.sampled_from([HELD, PASSED])), PEER, PEER
)
def test_an_answer_asks_for_what_is_lacked_and_sends_what_the_writer_seems_to_lack(
    news: list[tuple[int, int]], later: int, listed: list[tuple[int, int]], held: dict[int, int], own: int, writer: int
) -> None:
    it, circle, cycle = lived(news)
    mail = empty_parcels(2, 16)
    mail.sender[1], mail.to[1], mail.asks[1] = writer, own, ASK
    mail.start[1:] = 3, 3 + len(listed)
    for e, (event, when) in enumerate(listed):
        mail.handles[3 + e], mail.born[3 + e] = event, when
    out, copies, then = empty_parcels(2, 16), empty_copies(8), now(cycle + later)
    answer = repair.reply(BOOK, then, HAPPENINGS, it, had(held), ROW, own, mail, 1, REST, WINDOW, out, copies)
    assert answer == DONE
    lacked = naive_pull(listed, lambda event: wants(own, event), set(held))
    assert int(out.used[0]) == bool(lacked)  # nothing to ask for is no message
    if lacked:
        assert (int(out.sender[0]), int(out.to[0]), int(out.asks[0])) == (own, writer, ANSWER)
        assert int(out.stamp[0]) == (cycle + later) & 0xFFFF
        assert read(out, 0) == lacked
    sent = naive_push(circle, listed, cycle + later, REST, WINDOW, lambda event: wants(writer, event))
    assert written(copies) == [(own, writer, REPAIR, event, 0) for event in sent]


@given(NEWS, st.lists(st.integers(0, EVENTS - 1), max_size=8, unique=True), PEER)
def test_of_what_is_asked_for_is_sent_once_what_is_still_remembered(
    news: list[tuple[int, int]], lacked: list[int], reader: int
) -> None:
    it, circle, _ = lived(news)
    mail, copies = empty_parcels(1, 16), empty_copies(8)
    mail.sender[0], mail.start[1] = reader, len(lacked)
    mail.handles[: len(lacked)] = lacked
    assert repair.merge(it, ROW, 5, mail, 0, copies) == DONE
    there = {event for event, _ in circle}
    assert written(copies) == [(5, reader, REPAIR, event, 0) for event in lacked if event in there]


def test_who_lacks_room_for_copies_writes_nothing() -> None:
    it, _, cycle = lived([(4, 0), (5, 0)], 2)
    mail, out = empty_parcels(1, 4), empty_parcels(1, 4)
    mail.sender[0], mail.start[1], mail.handles[:2] = 9, 2, [4, 5]
    full = empty_copies(2)
    full.used[0] = 1
    assert repair.merge(it, ROW, 5, mail, 0, full) == NO_MAIL
    for crowded, room in ((full, out), (empty_copies(2), empty_parcels(0, 4)), (empty_copies(2), empty_parcels(1, 1))):
        answer = repair.reply(BOOK, now(cycle + 3), HAPPENINGS, it, had({}), ROW, 5, mail, 0, REST, WINDOW, room, crowded)
        assert answer == NO_MAIL
        assert int(room.used[0]) == 0
    assert int(full.used[0]) == 1


@pytest.mark.parametrize(
    ("name", "value"), [("history", 0), ("history", 65_537), ("window_cycles", 0), ("partners", 65), ("rest_cycles", -1)]
)
def test_settings_out_of_bounds_are_refused_by_name(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"^{name}: {value}; expected"):
        repair.Params(**{name: value})
