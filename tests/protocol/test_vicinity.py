"""Vicinity against its definition: of all one knows and hears, the nearest stay."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.arrays import NONE
from gossamer.protocol import cyclon, links, vicinity
from gossamer.protocol.descriptor import Book
from gossamer.protocol.view import ANSWER, ASK, Mail, Now, empty_mail
from tests.naive.protocol import Entry, naive_distance, naive_latest
from tests.protocol.peers import book_of, random_boxes

VIEW, SHUFFLE = 6, 4


class Row:
    """One row: Vicinity, the samples beside it, and ring links."""

    def __init__(self, book: Book, own: int = 0, view: int = VIEW) -> None:
        self.book, self.own = book, own
        self.params = vicinity.Params(view=view, shuffle=SHUFFLE)
        self.near = vicinity.near(1, self.params)
        self.sample = cyclon.samples(1, cyclon.Params(view=8, shuffle=4))
        self.links = links.links(1)
        self.desk = vicinity.desk(self.params)

    def knows(self, samples: list[Entry], ring: list[Entry] | None = None) -> Row:
        """Samples, and ring links."""
        for k, (handle, born) in enumerate(samples):
            self.sample.handles[0, k], self.sample.born[0, k] = handle, born
        for k, (handle, born) in enumerate(ring or []):
            self.links.handles[k], self.links.born[k] = handle, born
        self.links.size[0] = len(ring or [])
        return self

    def merge(self, entries: list[Entry], *, sender: int = 0, cycle: int = 50, n: int = 0) -> Row:
        """Hear an answer."""
        mail = letter(sender, self.own, ANSWER, entries)
        vicinity.merge(self.book, Now(np.uint64(3), cycle, 0), self.near, self.sample, 0, self.own, mail, 0, self.desk, n)
        return self

    @property
    def view(self) -> list[Entry]:
        """The view, nearest first."""
        return [(int(h), int(b)) for h, b in zip(self.near.handles[0], self.near.born[0], strict=True) if h != NONE]


def letter(sender: int, to: int, asks: int, entries: list[Entry]) -> Mail:
    mail = empty_mail(2, max(SHUFFLE, len(entries)))
    mail.sender[0], mail.to[0], mail.asks[0] = sender, to, asks
    for e, (handle, born) in enumerate(entries):
        mail.handles[0, e], mail.born[0, e] = handle, born
    return mail


def told(mail: Mail) -> list[Entry]:
    return [(int(h), int(b)) for h, b in zip(mail.handles[0], mail.born[0], strict=True) if h != NONE]


def check_nearest(book: Book, target: int, chosen: list[Entry], known: list[Entry], most: int) -> None:
    """The chosen are the latest entries of so many nearest peers, nearest first; who is as near as the last may vary."""
    key, version = book.key.tolist(), book.version.tolist()
    latest = naive_latest(known, key, version, target)
    apart = [naive_distance(book.wants.boxes, book.wants.scale, target, handle) for handle, _ in chosen]
    every = sorted(naive_distance(book.wants.boxes, book.wants.scale, target, handle) for handle, _ in latest.values())
    np.testing.assert_allclose(apart, every[:most], rtol=1e-9)
    assert len({key[handle] for handle, _ in chosen}) == len(chosen)
    assert all(latest[key[handle]] == (handle, born) for handle, born in chosen)


worlds = st.tuples(st.integers(0, 10_000), st.booleans(), st.integers(1, 3))


def drawn(seed: int, versioned: bool, attributes: int) -> tuple[np.random.Generator, Book]:  # noqa: FBT001
    random = np.random.default_rng(seed)
    return random, book_of(random, random_boxes(random, 24, attributes, 6), versioned=versioned)


def entries_of(random: np.random.Generator, most: int, *, distinct: bool = True) -> list[Entry]:
    """Random entries, in random versions where there are versions; a view's speak of distinct peers."""
    peers = random.permutation(12)[: random.integers(0, most + 1)] if distinct else random.integers(0, 12, most)
    return [(int(peer) + 12 * int(random.integers(0, 2)), int(random.integers(0, 50))) for peer in peers]


@given(worlds)
def test_the_nearest_of_all_that_is_known_stay(world: tuple[int, bool, int]) -> None:
    random, book = drawn(*world)
    row, samples = Row(book), entries_of(random, 8)
    row.knows(samples)
    for n in range(4):
        before, heard = row.view, entries_of(random, SHUFFLE)
        row.merge(heard, n=n)
        check_nearest(book, 0, row.view, [*before, *samples, *heard], VIEW)


@given(worlds, st.booleans())
def test_a_peer_is_written_what_is_nearest_to_it(world: tuple[int, bool, int], rings_too: bool) -> None:  # noqa: FBT001
    random, book = drawn(*world)
    samples, ring = entries_of(random, 8), entries_of(random, 8)
    row = Row(book).knows(samples, ring).merge(entries_of(random, SHUFFLE))
    known = [*row.view, *samples, *(ring if rings_too else [])]
    mail, now = letter(0, 0, ASK, []), Now(np.uint64(3), 51, 0)
    asked = vicinity.request(book, now, row.near, row.sample, row.links, 0, 0, mail, 0, int(rings_too), row.desk)
    others = [entry for entry in samples if book.key[entry[0]] != book.key[0]]
    assert asked == bool(row.view or samples)
    if not asked:
        return
    to = int(mail.to[0])
    assert told(mail)[0] == (0, 51)
    assert to in [handle for handle, _ in row.view or others or samples]
    check_nearest(book, to, told(mail)[1:], known, SHUFFLE - 1)


@given(worlds)
def test_a_reply_is_chosen_before_the_request_is_merged(world: tuple[int, bool, int]) -> None:
    random, book = drawn(*world)
    samples, heard, reader = entries_of(random, 8), entries_of(random, SHUFFLE), int(random.integers(1, 12))
    row = Row(book).knows(samples).merge(entries_of(random, SHUFFLE))
    before, mail, now = row.view, letter(reader, 0, ASK, heard), Now(np.uint64(3), 51, 0)
    vicinity.reply(book, now, row.near, row.sample, row.links, 0, 0, mail, 0, 0, row.desk, 0)
    assert (int(mail.to[0]), int(mail.sender[0]), int(mail.asks[0])) == (reader, 0, ANSWER)
    assert told(mail)[0] == (0, 51)
    check_nearest(book, reader, told(mail)[1:], [*before, *samples], SHUFFLE - 1)
    check_nearest(book, 0, row.view, [*before, *samples, *heard], VIEW)


def test_who_of_those_that_overlap_stays_is_drawn_anew_at_each_merge() -> None:
    book = book_of(np.random.default_rng(0), np.zeros((13, 2, 1), np.int64))
    row, kept = Row(book), np.zeros(13)
    everybody: list[Entry] = [(handle, 1) for handle in range(1, 9)]
    row.knows(everybody)
    orders = set()
    for cycle in range(2000):
        row.merge([], cycle=cycle + 10)
        orders.add(tuple(handle for handle, _ in row.view))
        kept[[handle for handle, _ in row.view]] += 1
    assert len(orders) > 1500
    assert kept[1:9].sum() == 2000 * VIEW
    assert (abs(kept[1:9] - 1500) < 5 * np.sqrt(2000 * 0.75 * 0.25)).all()
    assert row.merge([], cycle=9, n=0).view != row.merge([], cycle=9, n=1).view


def test_two_rows_draw_apart() -> None:
    book = book_of(np.random.default_rng(0), np.zeros((13, 2, 1), np.int64))
    everybody: list[Entry] = [(handle, 1) for handle in range(1, 9)]
    assert Row(book, 9).knows(everybody).merge([]).view != Row(book, 10).knows(everybody).merge([]).view


def test_one_who_now_wants_something_far_away_is_gone_in_every_version() -> None:
    boxes = np.zeros((20, 2, 1), np.int64)
    boxes[10:] = 100
    book = book_of(np.random.default_rng(0), boxes, versioned=True)
    row = Row(book).merge([(handle, 5) for handle in range(1, 8)])
    assert len(row.view) == VIEW
    changed = row.view[0][0]
    row.knows([(handle, 5) for handle in range(1, 8) if handle != changed]).merge([(changed + 10, 6)])
    assert changed not in [handle for handle, _ in row.view]
    row.merge([(changed, 7), (changed + 10, 6)])
    assert changed not in [handle for handle, _ in row.view]


@pytest.mark.parametrize("silent", [True, False])
def test_a_partner_that_does_not_answer_is_dropped_at_the_next_request(silent: bool) -> None:  # noqa: FBT001
    book = book_of(np.random.default_rng(0), np.zeros((12, 2, 1), np.int64))
    row = Row(book).merge([(1, 1), (2, 2), (3, 3)])
    for cycle in (60, 61):
        mail = letter(0, 0, ASK, [])
        assert vicinity.request(book, Now(np.uint64(3), cycle, 0), row.near, row.sample, row.links, 0, 0, mail, 0, 0, row.desk)
        assert int(mail.to[0]) == (2 if silent and cycle == 61 else 1)
        if not silent:
            row.merge([], sender=1, cycle=cycle)
            assert row.near.partner[0] == NONE
    assert (1 in [handle for handle, _ in row.view]) != silent


def test_a_row_that_knows_nobody_alike_asks_a_random_sample() -> None:
    book = book_of(np.random.default_rng(0), np.zeros((12, 2, 1), np.int64))
    row, asked = Row(book).knows([(1, 1), (2, 2), (3, 3), (4, 4)]), set()
    for cycle in range(60):
        row.near.partner[0] = NONE
        mail = letter(0, 0, ASK, [])
        assert vicinity.request(book, Now(np.uint64(3), cycle, 0), row.near, row.sample, row.links, 0, 0, mail, 0, 0, row.desk)
        asked.add(int(mail.to[0]))
    assert asked == {1, 2, 3, 4}


def test_a_dropped_peer_goes_and_those_behind_it_move_up() -> None:
    book = book_of(np.random.default_rng(0), np.zeros((12, 2, 1), np.int64), versioned=True)
    row = Row(book).merge([(1, 1), (2, 2), (3, 3), (4, 4)])
    order = [entry for entry in row.view if entry[0] != 2]
    vicinity.drop(book, row.near, 0, 8)  # the second version of 2
    assert row.view == order
    assert row.near.handles[0, 3:].tolist() == [NONE] * 3
