"""The blindfold driver: each move sees a book of its own, in which nothing stands but what its row and its message name.

A move may index the book only with handles that stand in its row or its message, may compare them for equality and no more,
and must not care what a cache remembers. So before each move its handles are given other numbers, drawn anew, all else in the
book is poison, and what the ring layer remembers having rejected is forgotten; afterwards the numbers are turned back. A run
that ends in the same state as with open eyes has kept the rule, for whoever peeps sees what is not true.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from gossamer.arrays import NONE
from gossamer.interest.ask import Interests
from gossamer.node import benches, mending, spreading
from gossamer.protocol import alive, cyclon, fingers, links, relay, repair, rings, vicinity
from gossamer.protocol.descriptor import Book
from gossamer.protocol.spread import Copies
from gossamer.protocol.view import Mail, Parcels
from gossamer.protocol.views import Views

__all__ = ["Blindfold", "blindfolded"]

Columns = list[NDArray[np.int32]]

_PEERS = ("own", "handle", "dead")
"""Arguments that are handles."""
_NOWHERE = -2


class Blindfold:
    """Makes moves blindfold, and counts them."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.moves = 0
        self._poison: dict[tuple[int, ...], tuple[Book, Book]] = {}

    def over(self, module: ModuleType) -> Any:  # noqa: ANN401  (stands in for the module)
        """The module, with all its moves made blindfold."""
        names = [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]
        moves = {name: self._move(module, name) for name in names}
        return SimpleNamespace(**{**vars(module), **moves})

    def _move(self, module: ModuleType, name: str) -> Callable[..., Any]:
        move = getattr(module, name)
        function = getattr(move, "py_func", move)
        if not inspect.isfunction(function):
            return move  # type: ignore[no-any-return]
        names = list(inspect.signature(function).parameters)
        if "book" not in names:
            return move  # type: ignore[no-any-return]

        def blind(*args: Any) -> Any:  # noqa: ANN401  (whatever the move takes)
            return self._make(move, dict(zip(names, args, strict=True)), writes=name == "request", events=module is repair)

        return blind

    def _make(self, move: Callable[..., Any], given: dict[str, Any], *, writes: bool, events: bool) -> Any:  # noqa: ANN401
        """Make one move. `writes`: that its mail is what it writes; `events`: that entries are numbers of events."""
        self.moves += 1
        book: Book = given["book"]
        room = book.key.shape[0]
        if writes and isinstance(given.get("mail"), Mail):
            mail, m = given["mail"], given["m"]
            mail.sender[m], mail.to[m], mail.handles[m] = NONE, NONE, NONE
        outs = {name: int(it.used[0]) for name, it in given.items() if _is_out(name, it, writes=writes)}
        told = _states(given) + _messages(given, writes=writes, events=events)
        scalars = [name for name in _PEERS if name in given]
        named = np.concatenate([*[column.ravel() for column in told], np.array([given[name] for name in scalars], np.int32)])
        known = np.unique(named[named != NONE])
        private = self.random.permutation(2 * room)[: known.shape[0]].astype(np.int32)
        there, back = np.full(room + 1, _NOWHERE, np.int32), np.full(2 * room + 1, _NOWHERE, np.int32)
        there[known], back[private] = private, known
        there[NONE] = back[NONE] = NONE  # the last of each, where no handle points
        for column in told:
            column[...] = there[column]
        changed = {name: np.int32(there[given[name]]) for name in scalars}
        blind, poison = self._poisoned(book)
        _write_over(blind, private, book, known)
        seen = blind._replace(versioned=book.versioned, wants=blind.wants._replace(scale=book.wants.scale))
        answer = move(*(given | changed | {"book": seen}).values())
        _write_over(blind, private, poison, private)
        told = _states(given) + _messages(given, writes=writes, events=events)
        told += [column for name, used in outs.items() for column in _written(given[name], used, events=events)]
        for column in told:
            column[...] = back[column]
            assert (column != _NOWHERE).all(), f"{move} wrote of somebody who stands neither in its row nor in its message"
        return answer

    def _poisoned(self, like: Book) -> tuple[Book, Book]:
        """Two books of twice the size in which nothing is true; the second is to remember it by."""
        shape = (2 * like.key.shape[0], *like.wants.boxes.shape[1:])
        if shape not in self._poison:
            draw = self.random.integers
            book = Book(
                key=draw(0, 2**64, shape[0], np.uint64),
                version=draw(0, 2**32, shape[0], np.uint32),
                owner=np.full(shape[0], NONE, np.int32),
                wants=Interests(draw(-(2**62), 2**62, shape), like.wants.scale),
                versioned=0,
            )
            wants = book.wants._replace(boxes=book.wants.boxes.copy())
            self._poison[shape] = book, book._replace(key=book.key.copy(), version=book.version.copy(), wants=wants)
        return self._poison[shape]


def _write_over(book: Book, rows: NDArray[np.int32], other: Book, those: NDArray[np.int32]) -> None:
    """Put some rows of another book into some of this."""
    book.key[rows], book.version[rows] = other.key[those], other.version[those]
    book.wants.boxes[rows] = other.wants.boxes[those]


def _is_out(name: str, it: object, *, writes: bool) -> bool:
    """Whether messages are written behind those that are there."""
    return isinstance(it, Parcels | Copies) and (name != "mail" or writes)


def _states(given: dict[str, Any]) -> Columns:
    """The columns of a row's states that hold handles. Caches are emptied, free places of an arena poisoned."""
    found: Columns = []
    todo = list(given.values())
    while todo:
        match it := todo.pop():
            case Views():
                todo += it
            case cyclon.Samples() | fingers.Fingers() | alive.Graves():
                found.append(it.handles)
            case vicinity.Near():
                found += [it.handles, it.partner]
            case links.Links():
                live = slice(int(it.start[0]), int(it.start[0] + it.size[0]))
                it.known[...] = NONE
                it.handles[: live.start] = it.handles[live.stop :] = NONE
                found += [it.handles[live], it.changed]
    return found


def _messages(given: dict[str, Any], *, writes: bool, events: bool) -> Columns:
    """The columns of the messages that a move reads, or of the one it writes into its place."""
    if "handles" in given:
        return [given["handles"]]
    it, m = given.get("mail"), given.get("m", NONE)
    match it:
        case Mail():
            return [it.sender[m : m + 1], it.to[m : m + 1], it.handles[m : m + 1]]
        case Parcels() if not writes:
            if m == NONE:
                return [it.sender, it.handles]
            entries = slice(int(it.start[m]), int(it.start[m + 1]))
            return [it.sender[m : m + 1]] + ([] if events else [it.handles[entries]])
        case Copies():
            return [it.sender[m : m + 1], it.other[m : m + 1]]
    return []


def _written(out: Any, used: int, *, events: bool) -> Columns:  # noqa: ANN401  (Parcels or Copies)
    """The columns of the messages a move has written."""
    new = slice(used, int(out.used[0]))
    if isinstance(out, Copies):
        return [out.sender[new], out.to[new], out.other[new]]
    entries = slice(int(out.start[new.start]), int(out.start[new.stop]))
    return [out.sender[new], out.to[new]] + ([] if events else [out.handles[entries]])


@contextmanager
def blindfolded(seed: int = 0) -> Iterator[Blindfold]:
    """All machines make their moves blindfold."""
    fold = Blindfold(seed)
    with ExitStack() as stack:
        for room, modules in ((benches, (cyclon, vicinity, rings, fingers)), (spreading, (relay,)), (mending, (alive, repair))):
            for module in modules:
                stack.enter_context(patch.object(room, module.__name__.rpartition(".")[2], fold.over(module)))
        yield fold
