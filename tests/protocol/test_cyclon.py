"""Cyclon, move by move against lists; and a town of few peers in which everything happens at any time."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gossamer.arrays import NONE
from gossamer.draws import Purpose
from gossamer.protocol import cyclon
from gossamer.protocol.cyclon import Params
from gossamer.protocol.descriptor import Book
from gossamer.protocol.view import ANSWER, ASK, Mail, Now, empty_mail, pick
from tests.naive.protocol import Entry, NaiveSamples
from tests.protocol.peers import book_of

PEERS, VIEW, SHUFFLE = 9, 5, 3
BOOK = book_of(np.random.default_rng(1), np.zeros((2 * PEERS, 2, 1), np.int64), versioned=True)
"""Handles below PEERS are the first versions, those from there on the second."""
STATIC = book_of(np.random.default_rng(1), np.zeros((PEERS, 2, 1), np.int64))
KEY, VERSION = BOOK.key.tolist(), BOOK.version.tolist()
SEED = np.uint64(7)


def now(cycle: int) -> Now:
    return Now(SEED, cycle, 0)


def letter() -> Mail:
    """Room for a message: the first of two, for kernels take columns laid over more than one."""
    return empty_mail(2, SHUFFLE)


def read(mail: Mail) -> list[Entry]:
    """The entries of a message."""
    return [(int(h), int(b)) for h, b in zip(mail.handles[0], mail.born[0], strict=True) if h != NONE]


def state_of(view: NaiveSamples) -> cyclon.Samples:
    """The same view as columns."""
    state = cyclon.samples(1, Params(view=len(view.places), shuffle=SHUFFLE))
    for k, entry in enumerate(view.places):
        if entry is not None:
            state.handles[0, k], state.born[0, k] = entry
    pending = sum(1 << k for k in view.locked)
    state.pending[0] = pending if view.partner is None else pending | (view.partner + 1) << 56
    return state


def naive_of(state: cyclon.Samples, own: int, row: int = 0) -> NaiveSamples:
    """The same view as lists."""
    pending = int(state.pending[row])
    entries = zip(state.handles[row].tolist(), state.born[row].tolist(), strict=True)
    return NaiveSamples(
        own=own,
        key=KEY,
        version=VERSION,
        places=[None if handle == NONE else (handle, born) for handle, born in entries],
        locked={k for k in range(56) if pending >> k & 1},
        partner=(pending >> 56) - 1 if pending >> 56 else None,
    )


@st.composite
def entries(draw: st.DrawFn, most: int) -> list[Entry]:
    """Entries for distinct peers, in any version."""
    peers = draw(st.lists(st.integers(0, PEERS - 1), unique=True, max_size=most))
    return [(peer + PEERS * draw(st.integers(0, 1)), draw(st.integers(0, 20))) for peer in peers]


@st.composite
def views(draw: st.DrawFn, own: int = 0) -> NaiveSamples:
    """Any view of a row, in the middle of an exchange or not."""
    known = [entry for entry in draw(entries(VIEW)) if KEY[entry[0]] != KEY[own]]
    places: list[Entry | None] = [*known, *[None] * (VIEW - len(known))]
    order = draw(st.permutations(range(VIEW)))
    places = [places[k] for k in order]
    taken = [k for k, entry in enumerate(places) if entry is not None]
    view = NaiveSamples(own, KEY, VERSION, places)
    if draw(st.booleans()) and taken:
        view.partner = draw(st.sampled_from(taken))
        view.locked = set(draw(st.lists(st.sampled_from(taken), unique=True, max_size=SHUFFLE - 1)))
        if draw(st.booleans()):
            view.locked.add(view.partner)
    return view


def written(sender: int, to: int, asks: int, what: list[Entry], stamp: int) -> Mail:
    mail = letter()
    mail.sender[0], mail.to[0], mail.asks[0], mail.stamp[0] = sender, to, asks, stamp
    for e, (handle, born) in enumerate(what):
        mail.handles[0, e], mail.born[0, e] = handle, born
    return mail


@given(views(), st.integers(20, 70_000))
def test_a_request_goes_to_the_oldest_with_oneself_and_random_others(view: NaiveSamples, cycle: int) -> None:
    state, mail = state_of(view), letter()
    view.give_up()
    asked = cyclon.request(BOOK, now(cycle), state, 0, 0, mail, 0)
    found = naive_of(state, 0)
    assert found.places == view.places
    ages = [-1 if entry is None else (cycle - entry[1]) % 2**16 for entry in view.places]
    if max(ages) < 0:
        assert not asked
        assert (found.locked, found.partner, int(mail.to[0])) == (set(), None, NONE)
        return
    oldest = ages.index(max(ages))
    sent = [k for k in found.locked if k != oldest]
    assert asked
    assert (found.partner, int(mail.sender[0]), int(mail.asks[0])) == (oldest, 0, ASK)
    assert (int(mail.to[0]), int(mail.stamp[0])) == (view.places[oldest][0], cycle % 2**16)  # type: ignore[index]
    assert oldest in found.locked
    assert len(sent) == min(SHUFFLE - 1, sum(entry is not None for entry in view.places) - 1)
    assert read(mail) == [(0, cycle % 2**16), *(view.places[k] for k in sorted(sent))]


@given(views(), entries(SHUFFLE), st.integers(0, 3))
def test_a_reply_gives_away_what_is_not_locked_and_takes_in_what_is_new(
    view: NaiveSamples, request: list[Entry], n: int
) -> None:
    state, mail = state_of(view), written(5, 0, ASK, request, 21)
    unlocked = sum(1 << k for k, entry in enumerate(view.places) if entry is not None and k not in view.locked)
    giving = int(pick(np.uint64(unlocked), SHUFFLE, BOOK, now(21), 0, int(Purpose.CYCLON_ANSWERED), n << 3))
    had = sum(entry is not None for entry in view.places)
    answer = view.reply(request, {k for k in range(VIEW) if giving >> k & 1})
    cyclon.reply(BOOK, now(21), state, 0, 0, mail, 0, n)
    assert naive_of(state, 0) == view
    assert sorted(read(mail)) == sorted(answer)
    assert (int(mail.sender[0]), int(mail.to[0]), int(mail.asks[0]), int(mail.stamp[0])) == (0, 5, ANSWER, 21)
    assert sum(entry is not None for entry in view.places) >= had


@given(views(), st.integers(0, 2 * PEERS - 1), entries(SHUFFLE))
def test_an_answer_fills_free_places_then_the_partners_then_those_sent(
    view: NaiveSamples, sender: int, answer: list[Entry]
) -> None:
    if view.partner is not None and sender < PEERS:  # of most answers, let the one asked be the sender
        sender = (view.places[view.partner] or (sender, 0))[0]
    state = state_of(view)
    had = sum(entry is not None for entry in view.places)
    view.merge(sender, 21, answer)
    cyclon.merge(BOOK, now(22), state, 0, 0, written(sender, 0, ANSWER, answer, 21), 0)
    assert naive_of(state, 0) == view
    assert sum(entry is not None for entry in view.places) >= had


@given(views())
def test_an_exchange_given_up_costs_the_partner_alone(view: NaiveSamples) -> None:
    state = state_of(view)
    view.give_up()
    cyclon.give_up(state, 0)
    assert naive_of(state, 0) == view


@given(views(), st.integers(1, 2 * PEERS - 1))
def test_one_found_dead_goes_in_whatever_version_and_with_its_lock(view: NaiveSamples, dead: int) -> None:
    state = state_of(view)
    there = {k for k, entry in enumerate(view.places) if entry is not None and view.same(entry[0], dead)}
    view.places = [None if k in there else entry for k, entry in enumerate(view.places)]
    view.locked -= there
    cyclon.drop(BOOK, state, 0, dead)
    assert naive_of(state, 0) == view


def test_the_only_peer_known_is_not_given_up() -> None:
    state, mail = state_of(NaiveSamples(0, KEY, VERSION, [None, (1, 1), None, None, None])), letter()
    for cycle in (4, 5):
        assert cyclon.request(BOOK, now(cycle), state, 0, 0, mail, 0)
        assert int(mail.to[0]) == 1
    cyclon.meet(state, 0, 2, np.uint16(3))
    assert cyclon.request(BOOK, now(6), state, 0, 0, mail, 0)
    assert int(mail.to[0]) == 2
    assert naive_of(state, 0).places == [(2, 3), None, None, None, None]


def test_who_is_met_takes_a_free_place_once() -> None:
    state = cyclon.samples(1, Params(view=2, shuffle=1))
    for handle, born in ((3, 4), (3, 5), (6, 7), (8, 9)):
        cyclon.meet(state, 0, handle, np.uint16(born))
    assert (state.handles[0].tolist(), state.born[0].tolist()) == ([3, 6], [4, 7])


def test_a_sent_entry_that_comes_back_is_kept_and_no_longer_locked() -> None:
    view = NaiveSamples(0, KEY, VERSION, [(1, 1), (2, 5), (3, 6), None, None], {0, 1, 2}, 0)
    state = state_of(view)
    cyclon.reply(BOOK, now(9), state, 0, 0, written(4, 0, ASK, [(4, 9), (2, 7)], 9), 0, 0)
    found = naive_of(state, 0)
    assert found.places == [(1, 1), (2, 7), (3, 6), (4, 9), None]
    assert found.locked == {0, 2}
    cyclon.merge(BOOK, now(9), state, 0, 0, written(1, 0, ANSWER, [(5, 8), (6, 8), (7, 8)], 9), 0)
    assert naive_of(state, 0).places == [(6, 8), (2, 7), (7, 8), (4, 9), (5, 8)]


def test_an_answer_to_an_exchange_given_up_fills_free_places_only() -> None:
    view = NaiveSamples(0, KEY, VERSION, [(1, 1), (2, 5), (3, 6), (4, 6), None], {0, 1}, 0)
    state = state_of(view)
    cyclon.merge(BOOK, now(9), state, 0, 0, written(8, 0, ANSWER, [(5, 8), (6, 8)], 9), 0)
    found = naive_of(state, 0)
    assert found.places == [(1, 1), (2, 5), (3, 6), (4, 6), (5, 8)]
    assert (found.locked, found.partner) == ({0, 1}, 0)


def test_a_partner_whose_place_is_not_needed_stays_and_is_fresh() -> None:
    view = NaiveSamples(0, KEY, VERSION, [(1, 1), None, None, None, None], {0}, 0)
    state = state_of(view)
    cyclon.merge(BOOK, now(9), state, 0, 0, written(1, 0, ANSWER, [(2, 3)], 9), 0)
    assert naive_of(state, 0).places == [(1, 9), (2, 3), None, None, None]


class Town(RuleBasedStateMachine):
    """All views in one state; mail that waits, and is handed over in any order, or never, or comes back."""

    def __init__(self) -> None:
        """Nobody yet."""
        super().__init__()
        self.book: Book = STATIC
        self.cycle, self.answered = 1, 0
        self.own = list(range(PEERS))
        self.mail: list[Mail] = []
        self.state = cyclon.samples(PEERS, Params(view=VIEW, shuffle=SHUFFLE))

    @initialize(versioned=st.booleans(), step=st.integers(1, PEERS - 1))
    def found(self, versioned: bool, step: int) -> None:  # noqa: FBT001  (hypothesis hands it over)
        """Everybody knows two others."""
        self.book = BOOK if versioned else STATIC
        for i in range(PEERS):
            for other in {(i + step) % PEERS, (i + 1) % PEERS} - {i}:
                cyclon.meet(self.state, i, other, np.uint16(0))

    @rule(i=st.integers(0, PEERS - 1))
    def ask(self, i: int) -> None:
        """A timer fires."""
        self.cycle += 1
        mail = letter()
        if cyclon.request(self.book, now(self.cycle), self.state, i, self.own[i], mail, 0):
            self.mail.append(mail)

    @precondition(lambda self: self.mail)
    @rule(which=st.integers(0, 100))
    def hand_over(self, which: int) -> None:
        """Some message arrives."""
        mail = self.mail.pop(which % len(self.mail))
        i = int(mail.to[0]) % PEERS
        before = int((self.state.handles[i] != NONE).sum())
        if mail.asks[0] == ASK:
            self.answered += 1
            cyclon.reply(self.book, now(self.cycle), self.state, i, self.own[i], mail, 0, self.answered)
            self.mail.append(mail)
        else:
            cyclon.merge(self.book, now(self.cycle), self.state, i, self.own[i], mail, 0)
        assert int((self.state.handles[i] != NONE).sum()) >= before

    @precondition(lambda self: self.mail)
    @rule(which=st.integers(0, 100))
    def lose(self, which: int) -> None:
        """Some message is lost."""
        self.mail.pop(which % len(self.mail))

    @precondition(lambda self: self.mail)
    @rule(which=st.integers(0, 100))
    def bounce(self, which: int) -> None:
        """Some message comes back, its addressee taken for dead."""
        mail = self.mail.pop(which % len(self.mail))
        cyclon.drop(self.book, self.state, int(mail.sender[0]) % PEERS, int(mail.to[0]))

    @precondition(lambda self: self.book.versioned)
    @rule(i=st.integers(0, PEERS - 1))
    def change(self, i: int) -> None:
        """A peer wants something else from now on."""
        self.own[i] = i + PEERS

    @invariant()
    def nobody_is_known_twice_or_by_itself_and_no_free_place_is_locked(self) -> None:
        """What holds at any time."""
        for i in range(PEERS):
            view = naive_of(self.state, self.own[i], i)
            known = [entry[0] % PEERS for entry in view.places if entry is not None]
            assert i not in known
            assert len(known) == len(set(known))
            assert all(view.places[k] is not None for k in view.locked)
            assert view.locked == set() or view.partner is not None


TestTown = Town.TestCase
TestTown.settings = settings(max_examples=60, stateful_step_count=60)
