"""One node, without clock, socket or task: feed it what happened and when; do what it answers, in order.

It walks the same wiring table as the simulator, with the same moves. The mail of a tick comes together, before the tick's
timers, and is dealt with row by row, layer by layer, in the order of the senders' keys and then of writing. In each layer
mail goes before the timer, so the call that brings the mail fires the timers due in that tick as well; their own Due, which
follows, is then stale. So a tick is one step, however the shell cuts it into calls.

The surprising thing is what the machine does not have: randomness (all draws come from the seed of its birth), a notion of
real time, and any trust. A frame that does not fit is a Drop and a Record, and the state is as before it came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np

from gossamer.arrays import NONE
from gossamer.errors import CallerError, PeerError
from gossamer.node.benches import Bench, Letter, Receipt, Self
from gossamer.node.door import (
    Action,
    Address,
    Box,
    Change,
    Command,
    Deliver,
    Descriptor,
    Drop,
    Due,
    Event,
    Frame,
    Input,
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
from gossamer.node.peers import Peers, check_box, whole
from gossamer.node.wired import benches
from gossamer.protocol.fingerprint import of_rows
from gossamer.protocol.spread import CLOSE, COPY, HINT, SEEK
from gossamer.protocol.view import ANSWER, ASK, BOUNCE, Now
from gossamer.system.plan import Plan

__all__ = ["MOST_PAYLOAD", "Machine", "Row"]

MOST_PAYLOAD = 1 << 20
"""Bytes that travel with an event. A guess; what is larger is better fetched from where it lies."""
_CYCLES, _KEYS = 1 << 16, 1 << 64
_REACH = 1 << 63
_MOST_HOPS = 1 << 20
_ENTRIES_OF = {HINT: (1,), CLOSE: (0, 1)}
"""The words that speak of a peer, and of how many; those bring no payload."""
_MOST_DELIVERED = 1 << 14
"""Events a node remembers having delivered; the oldest are forgotten first."""


@dataclass(slots=True)
class Row:
    """One of the node's rows: what it wants, what it knows, and when its timers fire next."""

    descriptor: Descriptor
    own: Any
    """Its own handle, an int32."""
    states: dict[str, Any]
    due: int

    def seen_by_moves(self) -> Self:
        """The row as its moves see it."""
        return Self(self.own, self.states, [])


class Machine:
    """One node. Times are ticks, of which a cycle has ``ticks``; the seed is the run's."""

    def __init__(
        self,
        plan: Plan,
        *,
        address: Address,
        scale: tuple[float, ...],
        seed: int,
        ticks: int,
        shared: tuple[Bench, ...] | None = None,
    ) -> None:
        """``shared``: benches that other machines of the same plan and thread work on too."""
        self.address, self.ticks = address, ticks
        self.peers = Peers(scale)
        self.rows: dict[int, Row] = {}
        self._seed = np.uint64(seed)
        self._benches = benches(plan, len(scale)) if shared is None else shared
        self._number = {bench.name: bench.number for bench in self._benches}
        self._worded = next((bench for bench in self._benches if bench.worded), None)
        self._guards = tuple(bench for bench in self._benches if bench.guards)
        self._delivered: dict[int, None] = {}

    def handle(self, what: Input, now: int) -> list[Action]:
        """What is to be done about something that happened in this tick."""
        match what:
            case Mail(frames):
                return self._on_mail(frames, now)
            case Due(timer):
                return self._on_timer(timer, now)
            case Command():
                return self._on_command(what, now)
            case _:
                assert_never(what)

    def fingerprint(self) -> int:
        """The wrapping sum of the rows' fingerprints, as every driver tells it."""
        return sum(self.prints().values()) % (1 << 64)

    def prints(self) -> dict[int, int]:
        """The fingerprint of each row, by key."""
        prints = {}
        for key, row in self.rows.items():
            states = [part for bench in self._benches for part in bench.printed(row.states[bench.name])]
            prints[key] = int(of_rows(self.peers.book, np.array([row.own]), states)[0])
        return prints

    # ------------------------------------------------------------------------------------------------ what comes in

    def _on_mail(self, frames: tuple[Frame, ...], tick: int) -> list[Action]:
        actions: list[Action] = []
        inbox: dict[int, list[tuple[int, int, Letter]]] = {}
        for frame in frames:
            try:
                key, number, letter = self._admit(frame)
            except PeerError as reason:
                actions += (Drop(frame, reason), Record("dropped", frame.to, tick, str(reason)))
            else:
                inbox.setdefault(key, []).append((number, frame.sender.key, letter))
        for key in sorted(self.rows):
            row = self.rows[key]
            if key in inbox or row.due <= tick:
                actions += self._step(row, inbox.get(key, []), tick)
        self._tidy()
        return actions

    def _on_timer(self, timer: Timer, tick: int) -> list[Action]:
        row = self.rows.get(timer.row)
        if row is None or row.due != timer.at or row.due > tick:
            return []
        return self._step(row, [], tick)

    def _on_command(self, command: Command, tick: int) -> list[Action]:
        try:
            match command:
                case Subscribe(key, box, phase):
                    return self._subscribe(key, box, phase, tick)
                case Meet(key, peer):
                    self._meet(self._row(key), peer, tick)
                case Change(key, box):
                    self._change(self._row(key), box)
                case Unsubscribe(key):
                    self._unsubscribe(self._row(key))
                case Publish(key, event):
                    return self._publish(self._row(key), event, tick)
                case _:
                    raise CallerError(f"found {command!r}, expected one of the commands of gossamer.node.door")
        except PeerError as wrong:  # what a peer must not send, our own side must not say
            raise CallerError(str(wrong)) from wrong
        return []

    def _row(self, key: int) -> Row:
        if key not in self.rows:
            known = ", ".join(map(str, sorted(self.rows))) or "none"
            raise CallerError(f"no row with the key {key}; there are {known}")
        return self.rows[key]

    def _subscribe(self, key: int, box: Box, phase: int, tick: int) -> list[Action]:
        if key in self.rows:
            raise CallerError(f"there is a row with the key {key} already\nHint: change it instead")
        check_box(box, self.peers.attributes)
        descriptor = Descriptor(key, 0, box, self.address)
        handle = np.int32(self.peers.intern(descriptor))
        self.peers.mine[key] = 0
        due = tick + (phase - tick) % self.ticks
        self.rows[key] = Row(descriptor, handle, {bench.name: bench.blank() for bench in self._benches}, due)
        return [Wake(Timer(key, due))]

    def _meet(self, row: Row, peer: Descriptor, tick: int) -> None:
        if peer.key == row.descriptor.key:
            raise CallerError(f"the row {peer.key} is to meet itself\nHint: it has to be told of another")
        handle = self.peers.intern(peer)
        for bench in self._benches:
            bench.meet(self.peers.book, self._now(tick), row.seen_by_moves(), handle)

    def _unsubscribe(self, row: Row) -> None:
        del self.rows[row.descriptor.key], self.peers.mine[row.descriptor.key]

    def _change(self, row: Row, box: Box) -> None:
        check_box(box, self.peers.attributes)
        it = row.descriptor
        row.descriptor = Descriptor(it.key, it.version + 1, box, self.address)
        self.peers.mine[it.key] = row.descriptor.version
        row.own = np.int32(self.peers.intern(row.descriptor))
        for bench in self._benches:
            bench.changed(row.seen_by_moves())

    def _publish(self, row: Row, event: Event, tick: int) -> list[Action]:
        if self._worded is None:
            raise CallerError("the plan has no layer that carries events")
        self._check_event(event)
        letter = Letter(NONE, ASK, tick // self.ticks % _CYCLES, [], [], Word(COPY, event, 0))
        return self._turn(self._worded, row, [letter], tick, due=False)

    # ------------------------------------------------------------------------------------------------ the door

    def _admit(self, frame: Frame) -> tuple[int, int, Letter]:
        """The row, the layer and the letter of a frame, its descriptors interned; or a PeerError, and nothing has changed."""
        row, number = self.rows.get(frame.to), self._number.get(frame.layer)
        if row is None:
            raise PeerError(f"no row with the key {frame.to}")
        if number is None or not self._benches[number].mailed:
            raise PeerError(f"no mail for a layer {frame.layer!r}; there is for {', '.join(self._number)}")
        if frame.sender.key == frame.to:
            raise PeerError(f"a frame from the row's own key {frame.to}")
        if frame.asks not in (ASK, ANSWER, BOUNCE) or not whole(frame.stamp, _CYCLES):
            raise PeerError(f"asks {frame.asks!r} and stamp {frame.stamp!r} are none of a frame's")
        bench = self._benches[number]
        self._check_word(frame, bench)
        self._check_entries(frame, bench)
        sender, *handles = self.peers.intern_all((frame.sender, *frame.who))
        return frame.to, number, Letter(sender, frame.asks, frame.stamp, handles, list(frame.born), frame.word, frame.events)

    def _check_entries(self, frame: Frame, bench: Bench) -> None:
        """Refuse entries that are too many, of peers twice, of no cycle, or of the wrong sort."""
        listed, others = (frame.events, frame.who) if bench.lists_events else (frame.who, frame.events)
        if others:
            raise PeerError(f"{len(others)} {'peers' if bench.lists_events else 'events'} listed in a frame of {frame.layer}")
        if len(listed) != len(frame.born) or len(listed) > bench.most:
            raise PeerError(f"{len(listed)} entries, {len(frame.born)} dates; expected as many, and at most {bench.most}")
        if not all(whole(born, _CYCLES) for born in frame.born):
            raise PeerError("an entry minted in no cycle; expected 0..65535")
        for event in frame.events:
            self._check_event(event)
            if event.payload:
                raise PeerError(f"a payload of {len(event.payload)} bytes in a frame of {frame.layer}, which lists events only")
        if len({it.key for it in listed}) < len(listed):
            raise PeerError("an entry for the same key twice")

    def _check_word(self, frame: Frame, bench: Bench) -> None:
        word = frame.word
        if word is None:
            if bench.worded:
                raise PeerError(f"a frame of {frame.layer} without a word about an event")
            return
        if not bench.worded or frame.asks == ANSWER:
            raise PeerError(f"a word about an event in a frame of {frame.layer} that asks {frame.asks}")
        self._check_event(word.event)
        fits = whole(word.low, _KEYS) and whole(word.high, _KEYS) and whole(word.hop, _MOST_HOPS)
        if not (fits and whole(word.what, SEEK + 1)):
            raise PeerError(f"what {word.what!r}, hop {word.hop!r} and an arc {word.low!r} to {word.high!r} are no word's")
        expected = _ENTRIES_OF.get(word.what, (0,))
        if len(frame.who) not in expected:
            raise PeerError(f"{len(frame.who)} entries with a word of kind {word.what}; expected {expected}")
        if word.what in _ENTRIES_OF and word.event.payload:
            raise PeerError(f"a payload of {len(word.event.payload)} bytes with a word of kind {word.what}, which brings none")

    def _check_event(self, event: Event) -> None:
        coordinates = len(event.point) == self.peers.attributes and all(
            type(x) is int and -_REACH <= x < _REACH for x in event.point
        )
        if not (whole(event.key, _KEYS) and coordinates and isinstance(event.payload, bytes)):
            raise PeerError(f"an event has a key of 64 bits and {self.peers.attributes} coordinates; found {event!r}")
        if len(event.payload) > MOST_PAYLOAD:
            raise PeerError(f"a payload of {len(event.payload)} bytes; expected at most {MOST_PAYLOAD}")

    def _layer_of(self, letter: Letter, bench: Bench) -> str:
        """A word about an event travels in the layer of events, whichever layer has written it."""
        return bench.name if letter.word is None or self._worded is None else self._worded.name

    def _send(self, row: Row, layer: str, letter: Letter) -> Send:
        to = self.peers.told(letter.peer)
        who, born = tuple(map(self.peers.told, letter.handles)), tuple(letter.born)
        frame = Frame(layer, letter.asks, row.descriptor, to.key, letter.stamp, who, born, letter.word, letter.events)
        return Send(to, frame)

    # ------------------------------------------------------------------------------------------------ a step

    def _now(self, tick: int) -> Now:
        return Now(self._seed, tick // self.ticks, tick)

    def _step(self, row: Row, inbox: list[tuple[int, int, Letter]], tick: int) -> list[Action]:
        """Let a tick happen to one row: layer by layer its mail, then its timer."""
        due, actions = row.due <= tick, list[Action]()
        inbox.sort(key=lambda it: (*it[:2], it[2].asks == BOUNCE))  # what comes back from one that is gone stands last
        for bench in self._benches:
            letters = [letter for number, _, letter in inbox if number == bench.number]
            fires = due and bench.timed
            if letters or fires:
                actions += self._turn(bench, row, letters, tick, due=fires)
        if due:
            row.due += self.ticks * ((tick - row.due) // self.ticks + 1)
            actions.append(Wake(Timer(row.descriptor.key, row.due)))
        return actions

    def _turn(self, bench: Bench, row: Row, letters: list[Letter], tick: int, *, due: bool) -> list[Action]:
        """Let one layer of a row act."""
        it, now = row.seen_by_moves(), self._now(tick)
        for guard in self._guards:
            letters = guard.door(self.peers.book, now, it, letters)
        written = bench.turn(self.peers.book, now, it, letters, due=due)
        actions: list[Action] = [self._send(row, self._layer_of(letter, bench), letter) for letter in written]
        for receipt in it.receipts:
            actions += self._received(row, receipt, tick)
        return actions

    def _received(self, row: Row, receipt: Receipt, tick: int) -> list[Action]:
        """A line in the trace, and the event for the application when the row is the first of the node's to want it."""
        word, key = receipt.word, row.descriptor.key
        sender = NONE if receipt.peer == NONE else self.peers.told(receipt.peer).key
        numbers = (word.event.key, sender, word.hop, word.what, int(receipt.new))
        actions: list[Action] = [Record("receipt", key, tick, numbers=numbers)]
        low, high = row.descriptor.box
        wanted = all(a <= x <= b for a, x, b in zip(low, word.event.point, high, strict=True))
        if receipt.new and wanted and word.event.key not in self._delivered:
            self._delivered[word.event.key] = None
            if len(self._delivered) > _MOST_DELIVERED:
                del self._delivered[next(iter(self._delivered))]
            actions.append(Deliver(key, word.event, word.hop))
        return actions

    def _tidy(self) -> None:
        """Forget who stands in no row any more, when there are many of them."""
        if self.peers.crowded:
            rows, held = self.rows.values(), list[Any]()
            for row in rows:
                held.append(np.array([row.own]))
                for bench in self._benches:
                    held += bench.held(row.states[bench.name])
            self.peers.sweep(held)
