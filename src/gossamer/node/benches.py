"""One bench a protocol: how a node makes its moves, row by row, on the states and with the kernels of every driver.

What a layer needs stands on its bench and nowhere else in the room: an empty state, the room its moves work in, which of a
state's columns hold handles, and a turn: deal with the mail of a tick, then with the timer. Nothing is kept on a bench
between two turns, so all machines of a thread may share one set; what a row knows is its own, in blocks of a single row.

Here are the benches of gossip; those of events are in ``spreading``, those that mend in ``mending``, as in the simulator.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gossamer.arrays import NONE, Handles
from gossamer.node.door import Event, Word
from gossamer.protocol import cyclon, fingers, links, rings, selection, vicinity
from gossamer.protocol.descriptor import Book
from gossamer.protocol.spread import Copies
from gossamer.protocol.view import ANSWER, ASK, Mail, Now, Parcels, empty_mail, empty_parcels
from gossamer.protocol.views import Views
from gossamer.system.plan import EVENT, Layer

__all__ = [
    "ENTRIES",
    "MESSAGES",
    "Bench",
    "CyclonBench",
    "FingersBench",
    "Letter",
    "Receipt",
    "RingsBench",
    "Self",
    "VicinityBench",
    "grown",
    "parcels",
    "views",
]

MESSAGES, ENTRIES = 64, 4096
"""Room for what is written in a turn, to begin with."""
_NO_FINGERS = fingers.no_fingers(1)

Columns = TypeVar("Columns", Parcels, Copies)


class Letter(NamedTuple):
    """A message in terms of the node's own book, coming in or going out."""

    peer: int
    """The handle of who wrote it; of whom it is for, when it goes out."""
    asks: int
    stamp: int
    handles: list[int]
    """Entries; NONE for one that was struck out at the door."""
    born: list[int]
    """The cycle of each entry, or of each event."""
    word: Word | None = None
    events: tuple[Event, ...] = ()


class Receipt(NamedTuple):
    """A message about an event that a row has received."""

    peer: int
    """The handle of who wrote it; NONE for the publisher."""
    word: Word
    new: bool
    """Whether the row saw the event for the first time."""


class Self(NamedTuple):
    """A row, as its moves see it."""

    own: Any
    """Its own handle: an int32, as in any driver's columns, so that no kernel is compiled anew for us."""
    states: dict[str, Any]
    """What it knows, by layer: the layer's state for a single row."""
    receipts: list[Receipt]
    """Written to by layers that carry events."""


def views(row: Self) -> Views:
    """Everything in which a row may stand to know somebody."""
    it = row.states
    return Views(it["rings"], it["vicinity"], it["cyclon"], it.get("fingers", _NO_FINGERS))


class Bench:
    """Where one layer's moves are made."""

    most: int
    """Entries a frame may have, or events."""
    lists_events = False
    """Whether its frames list events instead of peers."""
    guards = False
    """Whether it looks through the mail of all layers, at the door of each."""

    def __init__(self, layer: Layer, number: int, attributes: int) -> None:
        self.name, self.number, self.attributes = layer.name, number, attributes
        self.params: Any = layer.params
        self.mailed, self.timed, self.worded = bool(layer.mail), bool(layer.timer), layer.mail == EVENT
        """Whether there is mail of this layer, whether a timer of it, whether its mail is about events."""

    def blank(self) -> Any:  # noqa: ANN401  (each bench knows the state of its layer)
        """What a new row knows: nothing."""
        raise NotImplementedError

    def held(self, state: Any) -> tuple[Handles, ...]:  # noqa: ANN401
        """All that may hold handles, caches too; more than those that count is no harm."""
        raise NotImplementedError

    def printed(self, state: Any) -> tuple[Any, ...]:  # noqa: ANN401
        """What of a state goes into the fingerprint."""
        return (state,)

    def meet(self, book: Book, now: Now, row: Self, peer: int) -> None:
        """Take in a peer that the row was told of by its owner."""

    def changed(self, row: Self) -> None:
        """The row wants something else from now on."""

    def door(self, book: Book, now: Now, row: Self, letters: list[Letter]) -> list[Letter]:
        """The mail of a layer, looked through before that layer sees it. Asked of a bench that guards."""
        raise NotImplementedError

    def turn(self, book: Book, now: Now, row: Self, letters: list[Letter], *, due: bool) -> list[Letter]:
        """Deal with the row's mail of a tick, given in its order, then with its timer; what is to be written."""
        raise NotImplementedError


class _Swap(Bench):
    """A protocol whose messages have a fixed size, and whose answers take the place of their requests."""

    def __init__(self, layer: Layer, number: int, attributes: int) -> None:
        super().__init__(layer, number, attributes)
        self.most = self.params.shuffle
        self._mail = empty_mail(MESSAGES, self.most)

    def turn(self, book: Book, now: Now, row: Self, letters: list[Letter], *, due: bool) -> list[Letter]:
        """Answer and merge message after message, then start an exchange."""
        if len(letters) > self._mail.to.shape[0]:
            self._mail = empty_mail(2 * len(letters), self.most)
        mail, written = self._mail, []
        for m, letter in enumerate(letters):
            mail.sender[m], mail.to[m], mail.stamp[m], mail.asks[m] = letter.peer, row.own, letter.stamp, letter.asks
            count = len(letter.handles)
            mail.handles[m, :count], mail.handles[m, count:], mail.born[m, :count] = letter.handles, NONE, letter.born
        for n, letter in enumerate(letters):
            at: Any = np.int32(n)  # as it comes out of any post
            if letter.asks == ASK:
                self._reply(book, now, row, mail, at, n)
                written.append(_read(mail, n))
            elif letter.asks == ANSWER:
                self._merge(book, now, row, mail, at, n)
            else:
                self._drop(book, row, mail.sender[n])
        if due and self._request(book, now, row, mail, 0):
            written.append(_read(mail, 0))
        return written

    def _request(self, book: Book, now: Now, row: Self, mail: Mail, m: int) -> bool:
        raise NotImplementedError

    def _reply(self, book: Book, now: Now, row: Self, mail: Mail, m: Any, n: int) -> None:  # noqa: ANN401  (int32, as in any post)
        raise NotImplementedError

    def _merge(self, book: Book, now: Now, row: Self, mail: Mail, m: Any, n: int) -> None:  # noqa: ANN401
        raise NotImplementedError

    def _drop(self, book: Book, row: Self, peer: int) -> None:
        raise NotImplementedError


def _read(mail: Mail, m: int) -> Letter:
    there = mail.handles[m] != NONE  # there may be gaps, where more was taken in than given
    handles, born = mail.handles[m][there].tolist(), mail.born[m][there].tolist()
    return Letter(int(mail.to[m]), int(mail.asks[m]), int(mail.stamp[m]), handles, born)


class CyclonBench(_Swap):
    """Random samples."""

    def blank(self) -> cyclon.Samples:
        """An empty view."""
        return cyclon.samples(1, self.params)

    def held(self, state: cyclon.Samples) -> tuple[Handles, ...]:
        """The view."""
        return (state.handles,)

    def meet(self, book: Book, now: Now, row: Self, peer: int) -> None:
        """Every row joins through its samples."""
        del book
        cyclon.meet(row.states[self.name], 0, peer, np.uint16(now.cycle & 0xFFFF))

    def _request(self, book: Book, now: Now, row: Self, mail: Mail, m: int) -> bool:
        return cyclon.request(book, now, row.states[self.name], 0, row.own, mail, m)

    def _reply(self, book: Book, now: Now, row: Self, mail: Mail, m: Any, n: int) -> None:  # noqa: ANN401
        cyclon.reply(book, now, row.states[self.name], 0, row.own, mail, m, n)

    def _merge(self, book: Book, now: Now, row: Self, mail: Mail, m: Any, n: int) -> None:  # noqa: ANN401
        del n
        cyclon.merge(book, now, row.states[self.name], 0, row.own, mail, m)

    def _drop(self, book: Book, row: Self, peer: int) -> None:
        cyclon.drop(book, row.states[self.name], 0, peer)


class VicinityBench(_Swap):
    """The peers most alike."""

    def __init__(self, layer: Layer, number: int, attributes: int) -> None:
        super().__init__(layer, number, attributes)
        self._desk = vicinity.desk(self.params)
        self._no_links = links.links(1)
        self._rings_too = int(self.params.rings_too)

    def blank(self) -> vicinity.Near:
        """An empty view."""
        return vicinity.near(1, self.params)

    def held(self, state: vicinity.Near) -> tuple[Handles, ...]:
        """The view, and who is yet to answer."""
        return state.handles, state.partner

    def _views(self, row: Self) -> tuple[Any, Any, Any]:
        return row.states[self.name], row.states["cyclon"], row.states.get("rings", self._no_links)

    def _request(self, book: Book, now: Now, row: Self, mail: Mail, m: int) -> bool:
        view, sample, ring = self._views(row)
        return vicinity.request(book, now, view, sample, ring, 0, row.own, mail, m, self._rings_too, self._desk)

    def _reply(self, book: Book, now: Now, row: Self, mail: Mail, m: Any, n: int) -> None:  # noqa: ANN401
        view, sample, ring = self._views(row)
        vicinity.reply(book, now, view, sample, ring, 0, row.own, mail, m, self._rings_too, self._desk, n)

    def _merge(self, book: Book, now: Now, row: Self, mail: Mail, m: Any, n: int) -> None:  # noqa: ANN401
        view, sample, _ = self._views(row)
        vicinity.merge(book, now, view, sample, 0, row.own, mail, m, self._desk, n)

    def _drop(self, book: Book, row: Self, peer: int) -> None:
        vicinity.drop(book, row.states[self.name], 0, peer)


class RingsBench(Bench):
    """The next ones, for every event."""

    most = 4096

    def __init__(self, layer: Layer, number: int, attributes: int) -> None:
        super().__init__(layer, number, attributes)
        self._candidates, self._stack = 256, 256
        self._desk = selection.desk(attributes, self._candidates, self._stack)
        self._out = empty_parcels(MESSAGES, ENTRIES)

    def blank(self) -> links.Links:
        """No links."""
        return links.links(1)

    def held(self, state: links.Links) -> tuple[Handles, ...]:
        """The links, and those rejected before, so that they are known again."""
        return state.handles[state.start[0] : state.start[0] + state.size[0]], state.known, state.changed

    def changed(self, row: Self) -> None:
        """Whoever is linked to is told, and judged anew."""
        links.change(row.states[self.name], 0)

    def turn(self, book: Book, now: Now, row: Self, letters: list[Letter], *, due: bool) -> list[Letter]:
        """Tell of a changed mind, answer all requests from the view as it is, merge all mail at once, start what is due."""
        self._out.used[0] = 0
        self._make(row, partial(self._tell, now, row))
        if letters:
            mail, order = parcels(letters), np.arange(len(letters), dtype=np.int32)
            for m, letter in enumerate(letters):
                if letter.asks == ASK:
                    self._make(row, partial(self._reply, book, now, row, mail, np.int32(m)))
            self._make(row, partial(self._merge, book, row, mail, order))
        if due:
            it = self.params
            for n in range(rings.exchanges(row.states[self.name], 0, it.links_per_exchange, it.haste)):
                self._make(row, partial(self._request, book, now, row, n))
        return [self._read(m) for m in range(int(self._out.used[0]))]

    def _tell(self, now: Now, row: Self) -> int:
        return rings.tell(now, row.states[self.name], 0, row.own, self._out)

    def _reply(self, book: Book, now: Now, row: Self, mail: Parcels, m: Any) -> int:  # noqa: ANN401
        state, near, sample = (row.states[name] for name in (self.name, "vicinity", "cyclon"))
        return rings.reply(
            book, now, state, near, sample, 0, row.own, mail, m, self._out, int(self.params.samples_too), self.params.depth,
            self._desk,
        )  # fmt: skip

    def _merge(self, book: Book, row: Self, mail: Parcels, order: Handles) -> int:
        state, near, sample = (row.states[name] for name in (self.name, "vicinity", "cyclon"))
        return rings.merge(book, state, near, sample, 0, row.own, mail, order, 0, order.shape[0], self.params.depth, self._desk)

    def _request(self, book: Book, now: Now, row: Self, n: int) -> int:
        state, near, sample = (row.states[name] for name in (self.name, "vicinity", "cyclon"))
        it = self.params
        return rings.request(
            book, now, state, near, sample, 0, row.own, self._out, n, int(it.in_turn), it.haste, it.stray,
            int(it.samples_too), it.depth, self._desk,
        )  # fmt: skip

    def _make(self, row: Self, move: Callable[[], int]) -> None:
        """Make a move until it is through, giving it more of what it runs out of."""
        while (lacks := move()) != selection.DONE:
            match lacks:
                case selection.NO_ARENA:
                    row.states[self.name] = links.widen(row.states[self.name])
                case selection.NO_DESK:
                    self._candidates *= 2
                    self._desk = selection.desk(self.attributes, self._candidates, self._stack)
                case selection.NO_PIECES:
                    self._stack *= 4
                    self._desk = selection.desk(self.attributes, self._candidates, self._stack)
                case _:
                    out = self._out
                    self._out = grown(out, empty_parcels(2 * out.to.shape[0], 2 * out.handles.shape[0]))

    def _read(self, m: int) -> Letter:
        out = self._out
        part = slice(int(out.start[m]), int(out.start[m + 1]))
        handles, born = out.handles[part].tolist(), out.born[part].tolist()
        return Letter(int(out.to[m]), int(out.asks[m]), int(out.stamp[m]), handles, born)


class FingersBench(Bench):
    """Peers at every distance. No mail of its own."""

    most = 0

    def blank(self) -> fingers.Fingers:
        """No fingers."""
        return fingers.fingers(1, self.params)

    def held(self, state: fingers.Fingers) -> tuple[Handles, ...]:
        """The fingers."""
        return (state.handles,)

    def turn(self, book: Book, now: Now, row: Self, letters: list[Letter], *, due: bool) -> list[Letter]:
        """Look through the other views."""
        del letters
        if due:
            it, near, sample = row.states[self.name], row.states["vicinity"], row.states["cyclon"]
            levels, places, forget = self.params.levels, self.params.places, self.params.forget_cycles
            fingers.learn(book, now, it, near, sample, 0, row.own, levels, places, forget)
        return []


def grown(full: Columns, wide: Columns) -> Columns:
    """Wider columns, with what the others hold at their beginning."""
    columns: list[tuple[Any, Any]] = list(zip(wide, full, strict=True))
    for wider, column in columns:
        wider[: column.shape[0]] = column
    return wide


def parcels(letters: list[Letter]) -> Parcels:
    """Messages that came in, as columns."""
    start = np.cumsum([0] + [len(letter.handles) for letter in letters], dtype=np.int64)
    return Parcels(
        sender=np.array([letter.peer for letter in letters], np.int32),
        to=np.zeros(len(letters), np.int32),
        stamp=np.array([letter.stamp for letter in letters], np.uint16),
        asks=np.array([letter.asks for letter in letters], np.uint8),
        start=start,
        handles=np.array([handle for letter in letters for handle in letter.handles], np.int32),
        born=np.array([born for letter in letters for born in letter.born], np.uint16),
        used=np.array([len(letters)], np.int64),
    )
