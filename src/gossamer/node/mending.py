"""The benches that mend: who is found dead, and what is fetched because it did not arrive.

Finding the dead has no mail of its own: it stands at the door of every layer, as in the simulator. Digests list events by
key and point, for whoever reads one must see whether it wants them; what is lacking travels in the layer of events.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np

from gossamer.arrays import NONE, Handles
from gossamer.node.benches import ENTRIES, MESSAGES, Bench, Letter, Self, grown, parcels, views
from gossamer.node.door import Event, Word
from gossamer.node.spreading import Memory, happenings
from gossamer.protocol import alive, repair, spread
from gossamer.protocol.descriptor import Book
from gossamer.protocol.fingerprint import Past
from gossamer.protocol.spread import Happenings, Seen
from gossamer.protocol.view import ANSWER, ASK, BOUNCE, Now, Parcels, empty_parcels
from gossamer.system.plan import Layer

__all__ = ["AliveBench", "RepairBench"]


class AliveBench(Bench):
    """Who is dead."""

    most = 0
    guards = True

    def blank(self) -> alive.Graves:
        """Nobody is."""
        return alive.graves(1, self.params)

    def held(self, state: alive.Graves) -> tuple[Handles, ...]:
        """The dead."""
        return (state.handles,)

    def door(self, book: Book, now: Now, row: Self, letters: list[Letter]) -> list[Letter]:
        """Whatever came back tells of a death; whoever writes is alive; and no entry about the dead gets in."""
        it, let_in = row.states[self.name], []
        for letter in letters:
            peer: Any = np.int32(letter.peer)
            if letter.asks == BOUNCE:
                alive.lose(book, now, it, views(row), 0, row.own, peer, self.params.alarm)
            elif letter.word is None:
                alive.absolve(book, it, 0, peer)
                letter = self._struck(book, now, it, letter)  # noqa: PLW2901
            let_in.append(letter)
        return let_in

    def _struck(self, book: Book, now: Now, it: alive.Graves, letter: Letter) -> Letter:
        """The letter without the dead."""
        if not letter.handles or it.last[0] == NONE:
            return letter
        handles, born = np.array(letter.handles, np.int32), np.array(letter.born, np.uint16)
        alive.strike(book, now, it, 0, handles, born, self.params.forget_cycles)
        return letter._replace(handles=handles.tolist())

    def turn(self, book: Book, now: Now, row: Self, letters: list[Letter], *, due: bool) -> list[Letter]:
        """Listen for the silent."""
        del letters
        if due:
            it, patience = row.states[self.name], int(self.params.patience)
            alive.listen(book, now, it, views(row), 0, row.own, patience, self.params.alarm)
        return []


class RepairBench(Bench):
    """What is fetched because it did not arrive."""

    lists_events = True

    def __init__(self, layer: Layer, number: int, attributes: int) -> None:
        super().__init__(layer, number, attributes)
        self.most = self.params.history
        self._out = empty_parcels(MESSAGES, max(ENTRIES, 2 * self.most))
        self._copies = spread.empty_copies(max(MESSAGES, self.most))

    def blank(self) -> Memory:
        """No events."""
        return Memory(self.params.history)

    def held(self, state: Memory) -> tuple[Handles, ...]:
        """No peers."""
        del state
        return ()

    def printed(self, state: Memory) -> tuple[Any, ...]:
        """The history, and what its events are called."""
        return (Past(state.history, np.array([0 if it is None else it.key for it in state.events], np.uint64)),)

    def turn(self, book: Book, now: Now, row: Self, letters: list[Letter], *, due: bool) -> list[Letter]:
        """Answer digests and send what is lacked, then send digests."""
        memory: Memory = row.states[self.name]
        events, numbers = _numbered(memory, letters)
        mail = parcels([letter._replace(handles=[numbers[event.key] for event in letter.events]) for letter in letters])
        told, seen, past = happenings(events, self.attributes), _seen(row.states["spread"].seen, numbers), memory.history
        self._out.used[0] = self._copies.used[0] = 0
        for m, letter in enumerate(letters):
            if letter.asks == ASK:
                self._make(partial(self._reply, book, now, told, past, seen, row, mail, m))
            elif letter.asks == ANSWER:
                self._make(partial(self._merge, past, row, mail, m))
        for n in range(self.params.partners if due else 0):
            self._make(partial(self._request, book, now, told, past, row, n))
        listed = [self._listed(m, events) for m in range(int(self._out.used[0]))]
        return listed + [self._copy(m, events, now) for m in range(int(self._copies.used[0]))]

    def _reply(
        self, book: Book, now: Now, told: Happenings, past: repair.History, seen: Seen, row: Self, mail: Parcels, m: int
    ) -> int:
        rest, window = self.params.rest_cycles, self.params.window_cycles
        return repair.reply(book, now, told, past, seen, 0, row.own, mail, m, rest, window, self._out, self._copies)

    def _merge(self, past: repair.History, row: Self, mail: Parcels, m: int) -> int:
        return repair.merge(past, 0, row.own, mail, m, self._copies)

    def _request(self, book: Book, now: Now, told: Happenings, past: repair.History, row: Self, n: int) -> int:
        it, rest, window = views(row), self.params.rest_cycles, self.params.window_cycles
        return repair.request(book, now, told, past, it.links, it.fingers, 0, row.own, n, rest, window, self._out)

    def _make(self, move: Callable[[], int]) -> None:
        """Make a move until it is through, with twice the room each time it lacks some."""
        while move() != spread.DONE:
            out, copies = self._out, self._copies
            self._out = grown(out, empty_parcels(2 * out.to.shape[0], 2 * out.handles.shape[0]))
            self._copies = grown(copies, spread.empty_copies(2 * copies.to.shape[0]))

    def _listed(self, m: int, events: list[Event | None]) -> Letter:
        """A digest, or the answer to one: events without their payloads."""
        out = self._out
        part = slice(int(out.start[m]), int(out.start[m + 1]))
        listed = [events[n] for n in out.handles[part].tolist()]
        told = tuple(Event(event.key, event.point) for event in listed if event is not None)
        return Letter(int(out.to[m]), int(out.asks[m]), int(out.stamp[m]), [], out.born[part].tolist(), None, told)

    def _copy(self, m: int, events: list[Event | None], now: Now) -> Letter:
        """An event that was missed."""
        event = cast("Event", events[self._copies.event[m]])
        return Letter(int(self._copies.to[m]), ASK, now.cycle & 0xFFFF, [], [], Word(spread.REPAIR, event, 0))


def _numbered(memory: Memory, letters: list[Letter]) -> tuple[list[Event | None], dict[int, int]]:
    """The events of a turn by number, those remembered first, and the number of each by key."""
    events = list(memory.events)
    numbers = {event.key: n for n, event in enumerate(events) if event is not None}
    for letter in letters:
        for event in letter.events:
            if event.key not in numbers:
                numbers[event.key] = len(events)
                events.append(event)
    return events, numbers


def _seen(seen: dict[int, int], numbers: dict[int, int]) -> Seen:
    """How far the row is with the events of a turn."""
    those = [(number, seen[key]) for key, number in numbers.items() if key in seen]
    it = spread.seen(len(those))
    for number, state in those:
        spread.note(it, number, 0, state)
    return it
