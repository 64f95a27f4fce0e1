"""Leaving: what becomes of the views of those who are gone, and how a row and all links to it are taken out.

The dead are not told of here: the living find out by themselves. But what a dead row knew is cleared, so that nobody
measures it; and a row that is to join again (``rejoin``) is struck from everybody's views, as the paper has it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gossamer.arrays import NONE, Flags, Handles, Rows
from gossamer.jit import sweep
from gossamer.protocol import alive, cyclon, fingers, links, repair, vicinity
from gossamer.protocol.descriptor import Book
from gossamer.protocol.spread import Copies
from gossamer.protocol.view import Mail, Parcels

__all__ = ["forget", "strike", "strike_mail"]

_NOTHING = np.uint64(0)
_EVERYTHING = ~np.uint64(0)


def forget(state: NamedTuple, rows: Rows) -> None:
    """Empty the views of some rows of a block."""
    if not rows.size:
        return
    match state:
        case cyclon.Samples():
            state.handles[rows], state.born[rows], state.pending[rows] = NONE, 0, _NOTHING
        case vicinity.Near():
            state.handles[rows], state.born[rows], state.partner[rows] = NONE, 0, NONE
        case links.Links():
            state.size[rows], state.turn[rows], state.news[rows], state.stale[rows] = 0, _NOTHING, 0, 0
            state.ahead[rows], state.behind[rows], state.known[rows], state.changed[rows] = _EVERYTHING, _NOTHING, NONE, NONE
        case fingers.Fingers():
            state.handles[rows], state.born[rows] = NONE, 0
        case alive.Graves():
            state.handles[rows], state.since[rows], state.last[rows] = NONE, 0, NONE
        case repair.History():
            state.events[rows], state.when[rows], state.turn[rows] = NONE, 0, 0
        case _:
            pass


def strike(book: Book, own: Handles, gone: Flags, state: NamedTuple) -> None:
    """Take all links to some rows out of a block's views.

    own  : (n,) int32  what each row of the block is called
    gone : (R,) uint8  which rows of the world are taken out
    """
    match state:
        case cyclon.Samples():
            _strike_samples(book, gone, state)
        case vicinity.Near():
            _strike_near(book, gone, state)
        case links.Links():
            _strike_links(book, own, gone, state)
        case fingers.Fingers() | alive.Graves():
            state.handles[(state.handles != NONE) & (gone[book.owner[state.handles]] != 0)] = NONE
        case _:
            pass


def strike_mail(book: Book, gone: Flags, mail: Mail | Parcels | Copies) -> None:
    """Take messages from and to some rows, and entries that speak of them, out of what is in flight."""
    touched = (mail.to != NONE) & ((gone[book.owner[mail.to]] | gone[book.owner[mail.sender]]) != 0)
    mail.to[touched] = NONE
    if isinstance(mail, Copies):
        return
    entries = mail.handles
    entries[(entries != NONE) & (gone[book.owner[entries]] != 0)] = NONE


@sweep
def _strike_samples(book: Book, gone: Flags, view: cyclon.Samples) -> None:
    for i in range(view.handles.shape[0]):
        for k in range(view.handles.shape[1]):
            handle = view.handles[i, k]
            if handle != NONE and gone[book.owner[handle]] != 0:
                cyclon.drop(book, view, i, handle)


@sweep
def _strike_near(book: Book, gone: Flags, view: vicinity.Near) -> None:
    for i in range(view.handles.shape[0]):
        k = 0
        while k < view.handles.shape[1] and view.handles[i, k] != NONE:
            if gone[book.owner[view.handles[i, k]]] != 0:
                vicinity.drop(book, view, i, view.handles[i, k])
            else:
                k += 1
        if view.partner[i] != NONE and gone[book.owner[view.partner[i]]] != 0:
            view.partner[i] = NONE


@sweep
def _strike_links(book: Book, own: Handles, gone: Flags, it: links.Links) -> None:
    for i in range(own.shape[0]):
        k = 0
        while k < it.size[i]:
            handle = it.handles[it.start[i] + k]
            if gone[book.owner[handle]] != 0:
                links.drop(book, it, i, own[i], handle)
            else:
                k += 1
        for cache in (it.known, it.changed):
            for k in range(cache.shape[1]):
                handle = cache[i, k]
                if handle != NONE and gone[book.owner[handle]] != 0:
                    cache[i, k] = NONE
