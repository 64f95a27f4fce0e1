"""Ring exchanges: what a reader is told is enough, whatever was told before, lost on the way or forgotten since."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.arrays import NONE
from gossamer.protocol import cyclon, links, rings, selection, vicinity
from gossamer.protocol.descriptor import Book
from gossamer.protocol.selection import ASKED, DONE, MET, WHOLE
from gossamer.protocol.view import ANSWER, ASK, BOUNCE, Now, Parcels, empty_parcels
from tests.naive.protocol import naive_ring
from tests.protocol.peers import View, book_of, random_boxes

COUNT = 16


class Circle:
    """Some rows with ring views alone, and exchanges between two of them at a time."""

    def __init__(self, random: np.random.Generator, *, count: int = COUNT, depth: int = 1, samples_too: bool = False) -> None:
        self.random, self.count, self.depth, self.samples_too = random, count, depth, int(samples_too)
        self.boxes = random_boxes(random, count, 2, 4)
        self.book: Book = book_of(random, self.boxes)
        self.state = links.widen(links.widen(links.links(count)))
        self.near = vicinity.near(count, vicinity.Params(view=4, shuffle=2))
        self.sample = cyclon.samples(count, cyclon.Params(view=4, shuffle=2))
        self.desk = selection.desk(2, 256, 4096)
        self.cycle = 1

    @property
    def now(self) -> Now:
        """The moment; each is another one."""
        self.cycle += 1
        return Now(np.uint64(5), self.cycle, self.cycle)

    def known(self, i: int) -> set[int]:
        """The links of a row."""
        start = int(self.state.start[i])
        return {int(handle) for handle in self.state.handles[start : start + int(self.state.size[i])]}

    def link(self, i: int, j: int) -> int:
        """Where the link from one to another stands."""
        return links.find(self.book, self.state, i, i, j)

    def all_of(self, i: int) -> set[int]:
        """Everybody a row could tell of."""
        others = {*self.near.handles[i].tolist(), *self.sample.handles[i].tolist()} - {NONE} if self.samples_too else set()
        return {i} | self.known(i) | others

    def best(self, i: int, known: set[int]) -> set[int]:
        """What a row should select."""
        return naive_ring(self.boxes, self.book.key, i, known, self.depth)

    def learn(self, i: int, handles: list[int]) -> None:
        """Hear of some from elsewhere."""
        fresh = 0
        for handle in handles:
            fresh = links.consider(self.book, self.state, i, i, handle, np.uint16(self.cycle), self.desk, fresh)
        assert links.settle(self.book, self.state, i, i, fresh, self.depth, self.desk) == DONE

    def ask(self, i: int, j: int) -> Parcels:
        """A request to a link."""
        self.state.turn[i] = self.state.offset[self.link(i, j)] - np.uint64(1)
        mail = empty_parcels(2, 512)
        args = (self.near, self.sample, i, i, mail, 0, 1, 0, 0.0, self.samples_too, self.depth, self.desk)
        assert rings.request(self.book, self.now, self.state, *args) == DONE
        assert (int(mail.to[0]), int(mail.sender[0]), int(mail.asks[0])) == (j, i, ASK)
        return mail

    def answer(self, j: int, mail: Parcels) -> Parcels:
        """The answer to a request, built before the request is merged."""
        out = empty_parcels(2, 512)
        args = (self.near, self.sample, j, j, mail, 0, out, self.samples_too, self.depth, self.desk)
        assert rings.reply(self.book, self.now, self.state, *args) == DONE
        return out

    def merge(self, i: int, mail: Parcels) -> None:
        """Take in a message."""
        order, args = np.zeros(1, np.int32), (0, 1, self.depth, self.desk)
        assert rings.merge(self.book, self.state, self.near, self.sample, i, i, mail, order, *args) == DONE

    def exchange(self, i: int, j: int) -> tuple[set[int], set[int]]:
        """A whole exchange; the entries of both messages."""
        request = self.ask(i, j)
        reply = self.answer(j, request)
        self.merge(j, request)
        self.merge(i, reply)
        return entries(request), entries(reply)


def entries(mail: Parcels) -> set[int]:
    """Whom a message speaks of."""
    return {int(handle) for handle in mail.handles[: mail.start[1]]}


@pytest.mark.parametrize("samples_too", [False, True])
@pytest.mark.parametrize("depth", [1, 2])
def test_what_a_reader_is_told_suffices_however_much_it_was_told_before(depth: int, samples_too: bool) -> None:  # noqa: FBT001
    random = np.random.default_rng(depth)
    sent = bound = 0
    for _ in range(12):
        circle = Circle(random, depth=depth, samples_too=samples_too)
        for i in range(COUNT):
            circle.learn(i, random.integers(0, COUNT, 4).tolist())
        for _ in range(60):
            i = int(random.integers(0, COUNT))
            circle.learn(i, random.integers(0, COUNT, 1).tolist())
            if samples_too:
                circle.near.handles[i] = random.permutation([k for k in range(COUNT) if k != i])[:4]
                circle.learn(i, circle.near.handles[i].tolist())
            if not circle.known(i):
                continue
            j = int(random.choice(sorted(circle.known(i))))
            mine, theirs = circle.all_of(i), circle.all_of(j)
            request, reply = circle.exchange(i, j)
            assert circle.known(i) == circle.best(i, mine | theirs)
            assert circle.known(j) == circle.best(j, mine | theirs)
            assert request <= circle.best(j, mine) | {i, j}
            assert reply <= circle.best(i, theirs) | {i, j}
            sent += len(request | reply)
            bound += len(circle.best(j, mine)) + len(circle.best(i, theirs))
    assert samples_too or sent < 0.7 * bound  # most has been told before


@pytest.mark.parametrize("depth", [1, 2])
def test_what_is_lost_or_forgotten_is_told_again(depth: int) -> None:
    """After any mishaps, two rounds of exchanges leave nobody who could tell a neighbour anything it wants."""
    random = np.random.default_rng(10 + depth)
    for _ in range(12):
        circle = Circle(random, depth=depth)
        for i in range(COUNT):
            circle.learn(i, random.integers(0, COUNT, 4).tolist())
        for _ in range(80):
            i = int(random.integers(0, COUNT))
            circle.learn(i, random.integers(0, COUNT, 1).tolist())
            if not circle.known(i):
                continue
            j = int(random.choice(sorted(circle.known(i))))
            match int(random.integers(0, 5)):
                case 0:
                    circle.ask(i, j)  # lost on its way
                case 1:
                    request = circle.ask(i, j)
                    circle.answer(j, request)  # lost on its way back
                    circle.merge(j, request)
                case 2:
                    assert links.drop(circle.book, circle.state, i, i, j)
                    circle.learn(i, [])
                case _:
                    circle.exchange(i, j)
        for _ in range(4):
            for i in range(COUNT):
                for j in sorted(circle.known(i)):
                    if j in circle.known(i):
                        circle.exchange(i, j)
        for i in range(COUNT):
            for j in circle.known(i):
                assert circle.known(i) == circle.best(i, circle.known(i) | circle.known(j) | {j})


def test_nothing_is_told_twice_where_nothing_is_new() -> None:
    random = np.random.default_rng(3)
    for _ in range(20):
        circle = Circle(random)
        for i in range(COUNT):
            circle.learn(i, list(range(COUNT)))
        i = int(np.argmax(circle.state.size))
        for j in sorted(circle.known(i)):
            circle.exchange(i, j)
            circle.exchange(i, j)
            assert circle.exchange(i, j) == (set(), set())


def test_a_request_that_cannot_be_handed_over_costs_the_link() -> None:
    circle = Circle(np.random.default_rng(4))
    circle.learn(0, list(range(COUNT)))
    for j in sorted(circle.known(0)):
        before, request = circle.known(0), circle.ask(0, j)
        request.sender[0], request.to[0], request.asks[0] = j, 0, BOUNCE
        circle.merge(0, request)
        assert j not in circle.known(0)
        assert circle.known(0) == before - {j}
        circle.learn(0, [k for k in range(COUNT) if k != j])
        assert circle.known(0) == circle.best(0, set(range(COUNT)) - {j})
        circle.learn(0, [j])


def test_marks_tell_who_was_asked_who_was_met_and_who_was_heard_out() -> None:
    random = np.random.default_rng(5)
    circle = Circle(random)
    for i in range(COUNT):
        circle.learn(i, list(range(COUNT)))
    i = int(np.argmax(circle.state.size))
    j = min(circle.known(i))
    assert i in circle.known(j)
    flags = int(ASKED | MET | WHOLE)
    assert int(circle.state.marks[circle.link(i, j)]) & flags == 0
    request = circle.ask(i, j)
    assert i in entries(request)
    assert int(circle.state.marks[circle.link(i, j)]) & flags == int(ASKED | MET)
    reply = circle.answer(j, request)
    assert i in entries(reply)  # all there is
    circle.merge(j, request)
    assert int(circle.state.marks[circle.link(j, i)]) & int(MET)
    circle.merge(i, reply)
    assert int(circle.state.marks[circle.link(i, j)]) & flags == int(MET | WHOLE)
    circle.learn(i, [])
    links.reselect(circle.state, i)
    assert int(circle.state.marks[circle.link(i, j)]) & int(WHOLE) == 0


def asked_by(circle: Circle, i: int, *, times: int, in_turn: int = 0, haste: int = 0, stray: float = 0.0) -> list[int]:
    """To whom a row writes, one cycle after the other."""
    found = []
    for _ in range(times):
        mail = empty_parcels(2, 512)
        args = (circle.near, circle.sample, i, i, mail, 0, in_turn, haste, stray, 0, 1, circle.desk)
        assert rings.request(circle.book, circle.now, circle.state, *args) == DONE
        found.append(int(mail.to[0]) if mail.used[0] else NONE)
    return found


def hub() -> Circle:
    """A circle whose row 0 links to all others, whom nobody else covers."""
    circle = Circle(np.random.default_rng(6))
    circle.boxes[0] = [[0, 0], [COUNT, 0]]
    for k in range(1, COUNT):
        circle.boxes[k] = [[k, 0], [k, 0]]
    circle.book.wants.boxes[:] = circle.boxes
    circle.learn(0, list(range(1, COUNT)))
    assert circle.known(0) == set(range(1, COUNT))
    return circle


def test_in_turn_every_link_is_asked_once_in_a_round_by_key() -> None:
    circle = hub()
    asked = asked_by(circle, 0, times=2 * (COUNT - 1), in_turn=1)
    offsets = [(int(circle.book.key[j]) - int(circle.book.key[0])) % 2**64 for j in asked]
    assert offsets[: COUNT - 1] == sorted(offsets[: COUNT - 1])
    assert set(asked[: COUNT - 1]) == set(range(1, COUNT))
    assert asked[: COUNT - 1] == asked[COUNT - 1 :]


def test_at_random_every_link_is_asked_as_often() -> None:
    asked = np.bincount(asked_by(hub(), 0, times=3000), minlength=COUNT)
    assert asked[0] == 0
    assert (abs(asked[1:] - 200) < 5 * np.sqrt(200)).all()


def test_with_haste_links_never_met_are_asked_first() -> None:
    circle = hub()
    first = circle.state.start[0]
    circle.state.marks[first : first + COUNT - 1] |= MET
    strangers = {3, 7, 11}
    for j in strangers:
        circle.state.marks[circle.link(0, j)] &= ~MET
    assert rings.exchanges(circle.state, 0, 0, 8) == 1 + 3
    assert rings.exchanges(circle.state, 0, 0, 2) == 1 + 1
    assert rings.exchanges(circle.state, 0, 0, 0) == 1
    assert rings.exchanges(circle.state, 0, 5, 0) == 1 + (COUNT - 1) // 5
    assert set(asked_by(circle, 0, times=3, in_turn=1, haste=8)) == strangers
    assert rings.exchanges(circle.state, 0, 0, 8) == 1


def test_a_row_that_knows_nobody_looks_around_in_haste() -> None:
    circle = hub()
    assert rings.exchanges(circle.state, 1, 0, 8) == 8
    assert asked_by(circle, 1, times=3, haste=8) == [NONE] * 3
    circle.near.handles[1] = [2, 3, 4, 5]  # none of them overlaps
    assert asked_by(circle, 1, times=3) == [NONE] * 3
    assert set(asked_by(circle, 1, times=3, haste=8)) <= {2, 3, 4, 5}
    circle.sample.handles[1, 2] = 0  # the hub does
    assert asked_by(circle, 1, times=3) == [0] * 3


def test_astray_one_asks_any_that_overlaps() -> None:
    circle = hub()
    circle.near.handles[0] = [2, 3, 4, NONE]
    asked = np.bincount(asked_by(circle, 0, times=3000, in_turn=1, stray=0.5), minlength=COUNT)
    inside, outside = asked[[2, 3, 4]].sum(), asked[[1, *range(5, COUNT)]].sum()
    assert abs(outside - 1500 * 12 / 15) < 5 * np.sqrt(1500)
    assert inside + outside == 3000


def test_a_message_that_finds_no_room_is_not_written() -> None:
    circle = hub()
    before = [column.copy() for column in circle.state]
    small, cramped = empty_parcels(2, 4), selection.desk(2, 8, 4096)

    def asked(mail: Parcels, desk: selection.Desk) -> int:
        return rings.request(
            circle.book, circle.now, circle.state, circle.near, circle.sample, 0, 0, mail, 0, 0, 0, 0.0, 0, 1, desk
        )

    assert asked(small, circle.desk) == selection.NO_MAIL
    assert asked(empty_parcels(2, 512), cramped) == selection.NO_DESK
    assert int(small.used[0]) == 0
    for column, now in zip(before, circle.state, strict=True):
        np.testing.assert_array_equal(column, now)


def test_an_answer_says_so() -> None:
    circle = hub()
    circle.learn(3, [0])
    reply = circle.answer(3, circle.ask(0, 3))
    assert (int(reply.sender[0]), int(reply.to[0]), int(reply.asks[0])) == (3, 0, ANSWER)


def test_who_changes_its_mind_tells_every_link_before_it_is_judged_and_they_let_go_of_it_at_once() -> None:
    random, gone = np.random.default_rng(8), 0
    for _ in range(40):
        boxes = random_boxes(random, 40, 2, 6)
        book = book_of(random, boxes, versioned=True)
        changed, now = View(book, 0, 1).learn(list(range(1, 20))), Now(np.uint64(5), 7, 14)
        before, mail = changed.ordered, empty_parcels(len(changed.ordered), 1)
        assert rings.tell(now, changed.state, 0, 0, mail) == DONE
        assert int(mail.used[0]) == 0  # nothing has changed yet
        links.change(changed.state, 0)
        links.reselect(changed.state, 0)  # a link found dead meanwhile changes nothing about that
        if before:
            assert rings.tell(now, changed.state, 0, 20, empty_parcels(len(before) - 1, 1)) == selection.NO_MAIL
        assert rings.tell(now, changed.state, 0, 20, mail) == DONE
        assert mail.to[: mail.used[0]].tolist() == before
        told = {(int(mail.sender[m]), int(mail.stamp[m]), int(mail.asks[m])) for m in range(len(before))}
        assert told <= {(20, 7, ANSWER)}
        assert mail.start[: len(before) + 1].tolist() == [0] * (len(before) + 1)
        assert rings.tell(now, changed.state, 0, 20, mail) == DONE
        assert int(mail.used[0]) == len(before)  # once is enough
        changed.own = 20
        assert changed.learn(list(range(1, 20))).chosen == naive_ring(boxes, book.key, 20, range(1, 20), 1)
        others = list(range(1, 20))
        for other in before:
            view = View(book, other, 1).learn([0, *others])
            assert 0 in view.chosen
            view.learn([20])  # as the sender of a message with nothing in it is considered
            assert 0 not in view.chosen
            view.learn([0, *others])  # nor is it believed again
            assert view.chosen == naive_ring(boxes, book.key, other, [20, *others], 1)
            gone += 20 not in view.chosen
    assert gone > 20
