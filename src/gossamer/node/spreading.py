"""Events on a machine: the bench that carries copies, and what a row remembers of the events it has had.

A machine names events by key, as the wire does; a number lasts for one turn. The payload travels with copies alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gossamer.arrays import NONE, Handles
from gossamer.node.benches import MESSAGES, Bench, Letter, Receipt, Self, grown, views
from gossamer.node.door import Event, Word
from gossamer.protocol import arcs, relay, repair, spread
from gossamer.protocol.descriptor import Book
from gossamer.protocol.view import ASK, Now
from gossamer.system.plan import Layer

__all__ = ["MOST_KEPT", "MOST_SEEN", "Had", "Memory", "SpreadBench", "happenings"]

MOST_SEEN, MOST_KEPT = 1 << 14, 1 << 8
"""Events a row remembers having seen, and those it could still pass on, payload and all; the oldest are forgotten first."""
_COPIES = (spread.COPY, spread.ARC, spread.REPAIR)
"""The words that bring the event itself."""


def happenings(events: Sequence[Event | None], attributes: int) -> spread.Happenings:
    """The events of a turn, numbered in their order; at some numbers there is none."""
    out = spread.Happenings(np.zeros(len(events), np.uint64), np.zeros((len(events), attributes), np.int64))
    for n, event in enumerate(events):
        if event is not None:
            out.key[n], out.points[n] = event.key, event.point
    return out


class Memory:
    """The latest events a row has had, payload and all. Their numbers are their places in the history's circle."""

    def __init__(self, places: int) -> None:
        self.history = repair.history(1, places)
        self.events: list[Event | None] = [None] * places

    def keep(self, event: Event, now: Now) -> None:
        """Remember an event, and forget the oldest."""
        at = int(self.history.turn[0])
        self.events[at] = event
        repair.remember(self.history, 0, at, now.cycle)


class Had:
    """How far a row is with the events it has had, by key, oldest first; and the latest of them."""

    def __init__(self) -> None:
        self.seen: dict[int, int] = {}
        self.kept: dict[int, Event] = {}

    def add(self, event: Event, state: int) -> None:
        """One more, or further with one."""
        self.seen[event.key], self.kept[event.key] = state, event
        if len(self.seen) > MOST_SEEN:
            del self.seen[next(iter(self.seen))]
        if len(self.kept) > MOST_KEPT:
            del self.kept[next(iter(self.kept))]


class SpreadBench(Bench):
    """Events on their way. What a row knows here is which it has had."""

    most = 1

    def __init__(self, layer: Layer, number: int, attributes: int) -> None:
        super().__init__(layer, number, attributes)
        self._rules = relay.rules(self.params)
        self._desk = arcs.desk()
        self._out = spread.empty_copies(MESSAGES)

    def blank(self) -> Had:
        """None."""
        return Had()

    def held(self, state: Had) -> tuple[Handles, ...]:
        """No peers."""
        del state
        return ()

    def printed(self, state: Had) -> tuple[Any, ...]:
        """Nothing: what became of events is compared by receipts."""
        del state
        return ()

    def turn(self, book: Book, now: Now, row: Self, letters: list[Letter], *, due: bool) -> list[Letter]:
        """Deal with message after message."""
        del due
        words = [letter.word for letter in letters if letter.word is not None]
        mail, told = _copies(letters), happenings([word.event for word in words], self.attributes)
        had: Had = row.states[self.name]
        memory: Memory | None = row.states.get("repair")
        self._out.used[0] = 0
        for m, (letter, word) in enumerate(zip(letters, words, strict=True)):
            copy, kept = word.what in _COPIES, word.event.key in had.kept
            state = had.seen.get(word.event.key, spread.UNKNOWN) if copy or kept else spread.UNKNOWN
            if kept or word.what != spread.HINT or letter.asks != ASK:  # else there is word of one to whom we cannot pass it on
                self._receive(book, now, told, row, mail, m, state)
            brings = copy and letter.asks == ASK
            new = brings and state == spread.UNKNOWN
            if new and memory is not None:
                memory.keep(word.event, now)
            if brings:
                had.add(word.event, int(spread.further(state, word.what)))
            if letter.asks == ASK:
                row.receipts.append(Receipt(letter.peer, word, new))
        return [self._read(m, had, words, now) for m in range(int(self._out.used[0]))]

    def _receive(
        self, book: Book, now: Now, told: spread.Happenings, row: Self, mail: spread.Copies, m: int, state: int
    ) -> None:
        """Deal with one message until it is through. `state`: how far we are with its event."""
        at: Any = np.int32(m)
        while True:
            lacks = relay.receive(book, now, told, views(row), self._rules, 0, row.own, mail, at, state, self._desk, self._out)
            if lacks == spread.DONE:
                return
            if lacks == arcs.NO_DESK:
                self._desk = arcs.desk(2 * self._desk.handles.shape[0])
            else:
                self._out = grown(self._out, spread.empty_copies(2 * self._out.to.shape[0]))

    def _read(self, m: int, had: Had, words: list[Word], now: Now) -> Letter:
        out = self._out
        what, event, other = int(out.what[m]), words[out.event[m]].event, int(out.other[m])
        # A close or a hint has brought no payload, but what it is answered with may have to.
        event = had.kept.get(event.key, event) if what in _COPIES else Event(event.key, event.point)
        word = Word(what, event, int(out.hop[m]), int(out.low[m]), int(out.high[m]))
        about = [] if other == NONE else [other]
        return Letter(int(out.to[m]), int(out.asks[m]), now.cycle & 0xFFFF, about, [0] * len(about), word)


def _copies(letters: list[Letter]) -> spread.Copies:
    """Messages about events that came in, as columns; their events are numbered as they are."""
    out = spread.empty_copies(len(letters))
    out.used[0] = len(letters)
    for m, letter in enumerate(letters):
        out.sender[m], out.asks[m], out.event[m] = letter.peer, letter.asks, m
        if letter.word is not None:
            out.what[m], out.hop[m] = letter.word.what, letter.word.hop
            out.low[m], out.high[m] = letter.word.low, letter.word.high
        if letter.handles:
            out.other[m] = letter.handles[0]
    return out
