"""One machine: what it refuses and that it is then as before, what it forgets, and what it does when told nonsense."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.errors import CallerError
from gossamer.node import machine as machines
from gossamer.node import spreading
from gossamer.node.door import (
    Change,
    Command,
    Deliver,
    Descriptor,
    Drop,
    Due,
    Event,
    Frame,
    Mail,
    Meet,
    Publish,
    Record,
    Send,
    Subscribe,
    Timer,
    Unsubscribe,
    Wake,
    Word,
)
from gossamer.node.machine import MOST_PAYLOAD, Machine
from gossamer.protocol.spread import ARC, CLOSE, COPY, HINT, REPAIR, SEEK
from gossamer.protocol.view import ANSWER, ASK, BOUNCE
from tests.node.machines import ATTRIBUTES, HERE, TICKS, ask, box, frames, lived, machine, peer
from tests.parity.drivers import Machines, setting
from tests.sim.worlds import turmoil

EVENT = Event(77, (3, 4), b"payload")
NAME = Event(77, (3, 4))


def state(it: Machine) -> tuple[Any, ...]:
    """All there is to a machine, from outside and inside."""
    told = {handle: descriptor for handle, descriptor in enumerate(it.peers._told) if descriptor is not None}
    rows = {key: (row.descriptor, row.due, row.own) for key, row in it.rows.items()}
    return it.prints(), told, it.peers.book.versioned, dict(it.peers.mine), rows, dict(it._delivered)


def word(what: int, event: Event = EVENT, hop: int = 1, low: int = 0, high: int = 0) -> Word:
    """A word about an event."""
    return Word(what, event, hop, low, high)


SWAP = ask("cyclon", peer(50), 1, peer(50), peer(51), peer(52))
RINGS = ask("rings", peer(50), 1, peer(50), peer(53))
COPIED = replace(ask("spread", peer(50), 1), word=word(COPY))
HINTED = replace(ask("spread", peer(50), 1, peer(51)), word=word(HINT, NAME))
CLOSED = replace(ask("spread", peer(50), 1), word=word(CLOSE, NAME))
DIGEST = replace(ask("repair", peer(50), 1), events=(NAME, Event(78, (5, 5))), born=(0, 0))
GOOD = (SWAP, RINGS, COPIED, HINTED, CLOSED, DIGEST, replace(DIGEST, asks=ANSWER), replace(SWAP, asks=ANSWER))

MANY = tuple(peer(key) for key in range(100, 200))
BAD: dict[str, Frame] = {
    "no such row": replace(SWAP, to=99),
    "no such layer": replace(SWAP, layer="gossip"),
    "a layer without mail": replace(SWAP, layer="fingers"),
    "a layer that only listens": replace(SWAP, layer="alive"),
    "from the row itself": replace(SWAP, sender=peer(1)),
    "asks what is not asked": replace(SWAP, asks=3),
    "asks less than nothing": replace(SWAP, asks=-1),
    "written before all time": replace(SWAP, stamp=-1),
    "written too late": replace(SWAP, stamp=1 << 16),
    "written at no time": replace(SWAP, stamp="now"),  # type: ignore[arg-type]
    "too few dates": replace(SWAP, born=SWAP.born[:-1]),
    "too many dates": replace(SWAP, born=(*SWAP.born, 0)),
    "a date before all time": replace(SWAP, born=(0, 0, -1)),
    "a date too late": replace(SWAP, born=(0, 0, 1 << 16)),
    "a date that is none": replace(SWAP, born=(0, 0, None)),  # type: ignore[arg-type]
    "too many entries": replace(SWAP, who=MANY, born=(0,) * len(MANY)),
    "too many entries for a ring": replace(RINGS, who=MANY * 50, born=(0,) * 50 * len(MANY)),
    "one peer twice": replace(SWAP, who=(peer(51), peer(52), peer(51))),
    "one peer in two versions": replace(SWAP, who=(peer(51), peer(52), peer(51, 1))),
    "a box that is none": replace(SWAP, who=(peer(51), peer(52), replace(peer(53), box=box(4, 3)))),
    "a box of other attributes": replace(SWAP, who=(peer(51), peer(52), replace(peer(53), box=((0,), (0,))))),
    "a key too large": replace(SWAP, who=(peer(51), peer(52), replace(peer(53), key=1 << 64))),
    "a version too large": replace(SWAP, who=(peer(51), peer(52), replace(peer(53), version=1 << 32))),
    "contradicts what is known": replace(SWAP, who=(peer(51), peer(52), peer(60, 0, box(0, 11)))),
    "contradicts itself": replace(SWAP, who=(peer(51), peer(52), peer(50, 0, box(0, 11)))),
    "makes a newer version of us": replace(SWAP, who=(peer(51), peer(52), peer(1, 1))),
    "a sender who is nobody": replace(SWAP, sender=replace(peer(50), key=-1)),
    "a sender who contradicts": replace(SWAP, sender=peer(60, 0, box(0, 11))),
    "events among samples": replace(SWAP, events=(NAME,)),
    "a word among samples": replace(SWAP, word=word(COPY)),
    "no word about an event": replace(COPIED, word=None),
    "a word in an answer": replace(COPIED, asks=ANSWER),
    "a word of no kind": replace(COPIED, word=word(SEEK + 1)),
    "a word less than a copy": replace(COPIED, word=word(-1)),
    "hops back": replace(COPIED, word=word(COPY, hop=-1)),
    "hops for ever": replace(COPIED, word=word(COPY, hop=1 << 20)),
    "an arc from nowhere": replace(COPIED, word=word(ARC, low=-1)),
    "an arc to nowhere": replace(COPIED, word=word(ARC, high=1 << 64)),
    "an event without a key": replace(COPIED, word=word(COPY, replace(EVENT, key=-1))),
    "an event of other attributes": replace(COPIED, word=word(COPY, replace(EVENT, point=(3,)))),
    "an event beyond all": replace(COPIED, word=word(COPY, replace(EVENT, point=(3, 1 << 63)))),
    "an event in between": replace(COPIED, word=word(COPY, replace(EVENT, point=(3, 0.5)))),  # type: ignore[arg-type]
    "a payload of letters": replace(COPIED, word=word(COPY, replace(EVENT, payload="text"))),  # type: ignore[arg-type]
    "a payload too large": replace(COPIED, word=word(COPY, replace(EVENT, payload=bytes(MOST_PAYLOAD + 1)))),
    "a copy with an entry": replace(HINTED, word=word(COPY)),
    "a hint of nobody": replace(HINTED, who=(), born=()),
    "a hint of two": replace(HINTED, who=(peer(51), peer(52)), born=(0, 0)),
    "a hint with a payload": replace(HINTED, word=word(HINT)),
    "a close with a payload": replace(CLOSED, word=word(CLOSE)),
    "a digest of peers": replace(DIGEST, who=(peer(51),), events=(), born=(0,)),
    "a digest with peers too": replace(DIGEST, who=(peer(51),)),
    "a digest with a payload": replace(DIGEST, events=(EVENT,), born=(0,)),
    "a digest of one event twice": replace(DIGEST, events=(NAME, NAME)),
    "a digest of too many": replace(DIGEST, events=tuple(Event(n, (0, 0)) for n in range(65)), born=(0,) * 65),
    "a digest without dates": replace(DIGEST, born=()),
    "a digest of an event of other attributes": replace(DIGEST, events=(NAME, Event(78, (5,)))),
    "a word in a digest": replace(DIGEST, word=word(COPY)),
}


@pytest.mark.parametrize("frame", BAD.values(), ids=BAD)
def test_a_bad_frame_is_a_drop_and_a_record_and_nothing_else(frame: Frame) -> None:
    it = machine(1)
    it.handle(Meet(1, peer(60)), 0)
    it.handle(Due(Timer(1, 0)), 0)
    before = state(it)
    drop, record = it.handle(Mail((frame,)), 1)
    assert isinstance(drop, Drop)
    assert drop.frame is frame
    assert record == Record("dropped", frame.to, 1, str(drop.reason))
    assert state(it) == before


@pytest.mark.parametrize("frame", GOOD)
def test_what_the_bad_frames_are_made_from_is_good(frame: Frame) -> None:
    it = machine(1)
    it.handle(Meet(1, peer(60)), 0)
    assert not any(isinstance(action, Drop) for action in it.handle(Mail((frame,)), 1))


def test_a_bad_frame_among_good_ones_is_dropped_alone() -> None:
    one, other = machine(1), machine(1)
    actions = one.handle(Mail((SWAP, BAD["one peer twice"], RINGS)), 1)
    assert sum(isinstance(action, Drop) for action in actions) == 1
    rest = [action for action in actions if not isinstance(action, Drop | Record)]
    assert rest == other.handle(Mail((SWAP, RINGS)), 1)
    assert one.prints() == other.prints()


# ---------------------------------------------------------------------------------------------------- commands and timers


@pytest.mark.parametrize(
    "command",
    [
        Subscribe(1, box()),
        Subscribe(2, box(5, 4)),
        Subscribe(2, ((0,), (1,))),
        Subscribe(-1, box()),
        Subscribe(1 << 64, box()),
        Meet(2, peer(50)),
        Meet(1, peer(1, 0)),
        Meet(1, peer(60, 0, box(0, 11))),
        Meet(1, replace(peer(50), key=-1)),
        Change(2, box()),
        Change(1, box(5, 4)),
        Unsubscribe(2),
        Publish(2, EVENT),
        Publish(1, replace(EVENT, point=())),
        Publish(1, replace(EVENT, payload=bytes(MOST_PAYLOAD + 1))),
        Command(),
    ],
    ids=repr,
)
def test_a_command_in_error_says_so_and_changes_nothing(command: Command) -> None:
    it = machine(1)
    it.handle(Meet(1, peer(60)), 0)
    before = state(it)
    with pytest.raises(CallerError) as told:
        it.handle(command, 0)
    assert str(told.value)
    assert state(it) == before


def test_a_timer_fires_once_and_a_stale_one_not_at_all() -> None:
    it = machine(1)
    it.handle(Meet(1, peer(60)), 0)
    before = state(it)
    for stale in (Timer(1, 5), Timer(1, -2), Timer(2, 0)):
        assert it.handle(Due(stale), 0) == []
    assert state(it) == before
    due = Timer(1, 0)
    actions = it.handle(Due(due), 0)
    assert Wake(Timer(1, TICKS)) in actions
    assert frames(actions, "cyclon")
    assert it.handle(Due(due), 0) == []
    assert it.handle(Due(Timer(1, TICKS)), TICKS - 1) == []
    assert frames(it.handle(Due(Timer(1, TICKS)), TICKS), "cyclon")


def test_mail_of_a_tick_fires_the_timers_of_that_tick() -> None:
    one, other = machine(1), machine(1)
    for it in (one, other):
        it.handle(Meet(1, peer(60)), 0)
    together = one.handle(Mail((SWAP,)), 0)
    assert one.handle(Due(Timer(1, 0)), 0) == []
    assert {frame.asks for frame in frames(together, "cyclon")} == {ASK, ANSWER}


def test_a_timer_missed_for_long_fires_once_and_then_in_its_phase() -> None:
    it = machine()
    it.handle(Subscribe(1, box(), phase=1), 0)
    wakes = [action.timer.at for action in it.handle(Due(Timer(1, 1)), 40) if isinstance(action, Wake)]
    assert wakes == [41]


# ---------------------------------------------------------------------------------------------------- versions


def test_a_changed_subscription_is_the_next_version_and_nobody_elses_word() -> None:
    it = machine(1)
    it.handle(Meet(1, peer(60)), 0)
    it.handle(Change(1, box(2, 5)), 0)
    it.handle(Change(1, box(3, 5)), 0)
    sent = frames(it.handle(Due(Timer(1, 0)), 0), "cyclon")[0]
    assert (sent.sender.version, sent.sender.box) == (2, box(3, 5))
    assert sent.who[0] == sent.sender
    for version, refused in ((0, False), (1, False), (2, False), (3, True)):
        us = Descriptor(1, version, (box(), box(2, 5), box(3, 5), box())[version], HERE)
        actions = it.handle(Mail((replace(SWAP, who=(peer(51), peer(52), us)),)), 1)
        assert any(isinstance(action, Drop) for action in actions) == refused


def test_of_two_versions_the_newer_is_told_on() -> None:
    it = machine(1)
    it.handle(Mail((ask("rings", peer(50), 1, peer(51)),)), 1)
    changed = peer(51, 1, box(1, 9))
    it.handle(Mail((ask("rings", peer(50), 1, changed),)), 2)
    it.handle(Mail((ask("rings", peer(50), 1, peer(51)),)), 3)
    told = [entry for frame in frames(it.handle(Mail((ask("rings", peer(70), 1),)), 4), "rings") for entry in frame.who]
    assert changed in told
    assert peer(51) not in told


# ---------------------------------------------------------------------------------------------------- events


def receipts(actions: list[Any]) -> list[tuple[int, ...]]:
    """What was received: event, sender, hop, what, new."""
    return [it.numbers for it in actions if isinstance(it, Record) and it.what == "receipt"]


def test_an_event_is_delivered_once_a_node_and_only_where_it_is_wanted() -> None:
    it = machine(1, 2)
    it.handle(Subscribe(3, box(9, 10)), 0)
    copies = tuple(replace(COPIED, to=row, sender=peer(sender)) for row in (1, 2, 3) for sender in (50, 51))
    actions = it.handle(Mail(copies), 1)
    assert [action for action in actions if isinstance(action, Deliver)] == [Deliver(1, EVENT, 1)]
    assert [numbers[4] for numbers in receipts(actions)] == [1, 0, 1, 0, 1, 0]


def test_what_is_published_goes_out_whole_and_what_is_closed_goes_by_name() -> None:
    it = machine(1)
    far = 1 << 62
    it.handle(Mail((ask("rings", peer(far), 1, peer(2 * far), peer(3 * far)),)), 1)
    sent = [frame.word for frame in frames(it.handle(Publish(1, EVENT), 2), "spread")]
    assert {out.what for out in sent if out} == {ARC}
    assert all(out.event == EVENT for out in sent if out)
    assert receipts(it.handle(Publish(1, EVENT), 2)) == [(77, -1, 0, COPY, 0)]
    covered = replace(COPIED, sender=peer(9), word=word(ARC, Event(78, (3, 4), b"x"), low=0, high=5))
    closed = [frame.word for frame in frames(it.handle(Mail((covered,)), 3), "spread")]
    assert [(out.what, out.event) for out in closed if out] == [(CLOSE, Event(78, (3, 4)))]


def test_a_hint_brings_the_event_with_its_payload_to_whom_it_names() -> None:
    it = machine(1)
    hinted = replace(HINTED, who=(peer(55),))
    assert frames(it.handle(Mail((hinted,)), 1), "spread") == []
    it.handle(Publish(1, EVENT), 2)
    [sent] = frames(it.handle(Mail((hinted,)), 3), "spread")
    assert (sent.to, sent.word and sent.word.event) == (55, EVENT)


def test_whoever_does_not_list_an_event_is_sent_it_and_whoever_lists_more_is_asked_for_it() -> None:
    it, other = machine(1), Event(78, (5, 5))
    it.handle(Publish(1, EVENT), 1)
    lacking = replace(DIGEST, events=(other,), born=(0,))
    assert frames(it.handle(Mail((lacking,)), 1), "spread") == []  # what has just come is left to spreading
    actions = it.handle(Mail((lacking,)), 1 + 3 * TICKS)
    [answer] = frames(actions, "repair")[:1]
    assert (answer.asks, answer.events, answer.to) == (ANSWER, (other,), 50)
    [copy] = [frame for frame in frames(actions, "spread") if frame.word]
    assert copy.word == Word(REPAIR, EVENT, 0)
    assert copy.to == 50


def test_an_answer_is_followed_by_what_is_remembered_and_by_no_more() -> None:
    it = machine(1)
    it.handle(Publish(1, EVENT), 1)
    asked = replace(DIGEST, asks=ANSWER, events=(NAME, Event(78, (5, 5))))
    sent = frames(it.handle(Mail((asked,)), 1), "spread")
    assert [frame.word for frame in sent] == [Word(REPAIR, EVENT, 0)]


def test_a_digest_lists_by_name_what_its_reader_wants() -> None:
    it = machine(1)
    it.handle(Mail((ask("rings", peer(50, 0, box(0, 4)), 1),)), 1)
    for n in range(4):
        it.handle(Publish(1, Event(n, (2 * n, 2 * n), b"x")), 1)
    listed = []
    for cycle in range(1, 4):
        sent = frames(it.handle(Due(Timer(1, cycle * TICKS)), cycle * TICKS), "repair")
        listed.append([frame.events for frame in sent if frame.asks == ASK])
        answer = replace(ask("rings", peer(50, 0, box(0, 4)), 1, cycle=cycle), asks=ANSWER)  # who is silent is forgotten
        it.handle(Mail((answer,)), cycle * TICKS + 1)
    rested = tuple(Event(n, (2 * n, 2 * n)) for n in range(3))
    assert listed == [[()] * 3, [rested] * 3, [rested] * 3]


# ---------------------------------------------------------------------------------------------------- the dead


def known(it: Machine, key: int) -> set[str]:
    """The layers in which somebody stands."""
    book, found = it.peers.book, set()
    for row in it.rows.values():
        for bench in it._benches:
            if bench.name not in {"alive", "spread", "repair"}:
                held = bench.held(row.states[bench.name])[0].ravel()
                if (book.key[held[held >= 0]] == key).any():
                    found.add(bench.name)
    return found


@pytest.mark.parametrize("layer", ["cyclon", "vicinity", "rings", "repair", "spread"])
def test_one_message_that_comes_back_tells_all_layers_of_a_death(layer: str) -> None:
    it = machine(1)
    told = {name: ask(name, peer(50), 1, peer(50), peer(51)) for name in ("cyclon", "vicinity", "rings")}
    it.handle(Mail(tuple(told.values())), 1)
    assert known(it, 51) == {"cyclon", "vicinity", "rings"}
    back = Frame(layer, BOUNCE, peer(51), 1, 0, word=word(COPY) if layer == "spread" else None)
    it.handle(Mail((back,)), 1)
    assert known(it, 51) == set()
    it.handle(Mail((told[layer] if layer in told else told["rings"],)), 1)
    assert known(it, 51) == set()
    it.handle(Mail((ask("cyclon", peer(51), 1, peer(51, 0), cycle=1),)), TICKS)
    assert "cyclon" in known(it, 51)


# ---------------------------------------------------------------------------------------------------- bounds


def test_what_is_remembered_of_events_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreading, "MOST_SEEN", 100)
    monkeypatch.setattr(spreading, "MOST_KEPT", 10)
    monkeypatch.setattr(machines, "_MOST_DELIVERED", 50)
    it = machine(1)
    delivered = sum(
        isinstance(action, Deliver) for n in range(300) for action in it.handle(Publish(1, Event(n, (1, 1))), 1 + n % TICKS)
    )
    states = it.rows[1].states
    assert delivered == 300
    assert list(states["spread"].seen) == list(range(200, 300))
    assert list(states["spread"].kept) == list(range(290, 300))
    assert list(it._delivered) == list(range(250, 300))
    assert sorted(event.key for event in states["repair"].events) == list(range(236, 300))


def test_a_book_holds_no_more_than_the_node_knows_however_much_it_is_told() -> None:
    it = machine(1)
    for n in range(600):
        it.handle(Mail((ask("cyclon", peer(1000 + 8 * n), 1, *(peer(1000 + 8 * n + k) for k in range(8))),)), 1)
    assert len(it.peers) < 300
    assert it.peers.book.key.shape[0] <= 512


def test_a_row_that_is_no_more_is_forgotten() -> None:
    it = machine(1, 2)
    it.handle(Unsubscribe(1), 0)
    assert set(it.prints()) == {2}
    assert isinstance(it.handle(Mail((SWAP,)), 1)[0], Drop)
    assert it.handle(Due(Timer(1, 2)), 2) == []


# ---------------------------------------------------------------------------------------------------- sweeping


def test_sweeping_changes_nothing_but_the_book(monkeypatch: pytest.MonkeyPatch) -> None:
    it = setting(turmoil(nodes=30))
    told, sizes = [], []
    for crowded in (True, False):
        monkeypatch.setattr("gossamer.node.peers.Peers.crowded", crowded)
        run = Machines(it)
        for _ in range(it.scenario.cycles):
            run.run_cycle()
        told.append((run.prints(), run.receipts))
        sizes.append(sum(len(one.peers) for one in run.world.machines.values()))
    assert told[0] == told[1]
    assert sizes[0] < sizes[1]


def test_a_machine_that_has_lived_drops_nothing_of_its_peers_mail() -> None:
    it, key, mail, tick = lived()
    before = it.prints()[key]
    actions = it.handle(Mail(tuple(mail)), tick)
    assert mail
    assert not any(isinstance(action, Drop) for action in actions)
    assert any(isinstance(action, Send) for action in actions)
    assert it.prints()[key] != before


def test_the_order_in_which_mail_of_a_tick_is_handed_over_does_not_matter() -> None:
    changes: list[Callable[[list[Frame]], list[Frame]]] = [list, lambda mail: sorted(mail, key=lambda it: -it.sender.key)]
    told = []
    for change in changes:
        it, key, mail, tick = lived()
        it.handle(Mail(tuple(change(mail))), tick)
        told.append(it.prints()[key])
    assert told[0] == told[1]


# ---------------------------------------------------------------------------------------------------- anything


@st.composite
def anything(draw: st.DrawFn) -> Frame:
    """A frame of which each part for itself may be right."""
    layer = draw(st.sampled_from(["cyclon", "vicinity", "rings", "repair", "spread", "spread", "alive", "none"]))
    peers = st.builds(peer, st.integers(1, 12), st.integers(0, 1))
    who = tuple(draw(st.lists(peers, max_size=4)))
    events = st.builds(
        Event, st.integers(0, 5), st.just((3, 4)) | st.just((12, 0)) | st.just((3,)), st.sampled_from([b"", b"x"])
    )
    listed = tuple(draw(st.lists(events, max_size=3))) if layer == "repair" or draw(st.integers(0, 9)) == 0 else ()
    words = st.builds(word, st.integers(0, 5), events, st.integers(0, 3), st.integers(0, 1), st.integers(0, 1 << 63))
    dated = len(listed if layer == "repair" else who) + (draw(st.integers(0, 19)) == 0)
    return Frame(
        layer,
        draw(st.sampled_from([ASK, ASK, ANSWER, BOUNCE, 3])),
        draw(peers),
        draw(st.sampled_from([1, 2, 2, 99])),
        draw(st.integers(0, 1 << 16)),
        () if layer == "repair" and draw(st.booleans()) else who,
        tuple(draw(st.lists(st.integers(0, 3), min_size=dated, max_size=dated))),
        draw(words) if layer == "spread" or draw(st.integers(0, 9)) == 0 else None,
        listed,
    )


def faults(it: Machine) -> list[str]:
    """What is wrong with a machine, at any moment."""
    found = []
    for key, row in it.rows.items():
        for bench in it._benches:
            handles = [handle for held in bench.held(row.states[bench.name]) for handle in held.ravel().tolist() if handle >= 0]
            if any(it.peers._told[handle] is None for handle in handles):
                found.append(f"{bench.name} holds one who was swept")
        for name in ("cyclon", "vicinity", "fingers", "rings"):
            view = next(bench for bench in it._benches if bench.name == name).held(row.states[name])[0].ravel()
            keys = [it.peers.told(handle).key for handle in view.tolist() if handle >= 0]
            if key in keys:
                found.append(f"{name} of {key} knows itself")
            if len(set(keys)) < len(keys):
                found.append(f"{name} of {key} knows somebody twice")
    return found


@settings(max_examples=40)
@given(st.lists(anything(), min_size=5, max_size=40), st.booleans())
def test_whatever_comes_in_a_machine_stays_whole(mail: list[Frame], crowded: bool) -> None:  # noqa: FBT001
    it = machine(1, 2)
    with pytest.MonkeyPatch.context() as patch:
        if crowded:
            patch.setattr("gossamer.node.peers.Peers.crowded", True)
        for tick, frame in enumerate(mail):
            for row in (1, 2):
                it.handle(Due(Timer(row, it.rows[row].due)), tick)
            before = state(it)
            actions = it.handle(Mail((frame,)), tick)
            if any(isinstance(action, Drop) for action in actions):
                assert len(actions) == 2
                assert crowded or state(it) == before
            for sent in frames(actions):
                assert sent.sender.owner == HERE
                assert all(len(entry.box[0]) == ATTRIBUTES for entry in sent.who)
            assert faults(it) == []
