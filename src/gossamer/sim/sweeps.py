"""A move for every row of a block. An iteration writes its own row, and its own messages; nothing else.

Rows are numbered within the block, and `first` begins with its first row; `base` is the number of that row among all, `at` its
place among those that the world holds. A message that has been dealt with loses its addressee; an answer takes the place of
its request.
"""

from __future__ import annotations

from gossamer.arrays import NONE, Flags, Handles, Numbers, Offsets, Rows
from gossamer.jit import prefetch, sweep
from gossamer.protocol import cyclon, rings, vicinity
from gossamer.protocol.descriptor import Book
from gossamer.protocol.links import Links
from gossamer.protocol.selection import DONE, Desk
from gossamer.protocol.view import ANSWER, ASK, Mail, Now, Parcels

__all__ = [
    "cyclon_mail",
    "cyclon_timers",
    "rings_merge",
    "rings_reply",
    "rings_timers",
    "vicinity_mail",
    "vicinity_timers",
]

_AHEAD = 8
"""So many messages before its turn one is asked of the memory."""


@sweep
def cyclon_timers(book: Book, now: Now, view: cyclon.Samples, own: Handles, due: Flags, mail: Mail, at: int) -> int:
    """Start an exchange in every row that is due; how many."""
    written = 0
    for i in range(own.shape[0]):
        if due[i] != 0 and cyclon.request(book, now, view, i, own[i], mail, at + i):
            written += 1
        else:
            mail.to[at + i] = NONE
    return written


@sweep
def cyclon_mail(book: Book, now: Now, view: cyclon.Samples, own: Handles, mail: Mail, first: Offsets, order: Handles) -> int:
    """Deal with every message, row by row; how many answers there are."""
    written, last = 0, int(first[own.shape[0]]) - 1
    for i in range(own.shape[0]):
        start = first[i]
        for q in range(start, first[i + 1]):
            prefetch(mail.handles, order[min(q + _AHEAD, last)])
            m = order[q]
            if mail.asks[m] == ASK:
                cyclon.reply(book, now, view, i, own[i], mail, m, q - start)
                written += 1
            else:
                if mail.asks[m] == ANSWER:
                    cyclon.merge(book, now, view, i, own[i], mail, m)
                else:
                    cyclon.drop(book, view, i, mail.sender[m])
                mail.to[m] = NONE
    return written


@sweep
def vicinity_timers(
    book: Book,
    now: Now,
    view: vicinity.Near,
    sample: cyclon.Samples,
    links: Links,
    own: Handles,
    due: Flags,
    mail: Mail,
    at: int,
    rings_too: int,
    desk: vicinity.Desk,
) -> int:
    """Start an exchange in every row that is due; how many."""
    written = 0
    for i in range(own.shape[0]):
        if due[i] != 0 and vicinity.request(book, now, view, sample, links, i, own[i], mail, at + i, rings_too, desk):
            written += 1
        else:
            mail.to[at + i] = NONE
    return written


@sweep
def vicinity_mail(
    book: Book,
    now: Now,
    view: vicinity.Near,
    sample: cyclon.Samples,
    links: Links,
    own: Handles,
    mail: Mail,
    first: Offsets,
    order: Handles,
    rings_too: int,
    desk: vicinity.Desk,
) -> int:
    """Deal with every message, row by row; how many answers there are."""
    written = 0
    for i in range(own.shape[0]):
        start = first[i]
        for q in range(start, first[i + 1]):
            m = order[q]
            if mail.asks[m] == ASK:
                vicinity.reply(book, now, view, sample, links, i, own[i], mail, m, rings_too, desk, q - start)
                written += 1
            else:
                if mail.asks[m] == ANSWER:
                    vicinity.merge(book, now, view, sample, i, own[i], mail, m, desk, q - start)
                else:
                    vicinity.drop(book, view, i, mail.sender[m])
                mail.to[m] = NONE
    return written


@sweep
def rings_tell(now: Now, links: Links, own: Handles, due: Flags, first: Offsets, out: Parcels, done: Numbers) -> int:
    """Let every row that acts in this tick and has changed its mind say so, from row done[0] on."""
    for i in range(done[0], own.shape[0]):
        if due[i] != 0 or first[i + 1] > first[i]:
            answer = rings.tell(now, links, i, own[i], out)
            if answer != DONE:
                done[0] = i
                return answer
    return DONE


@sweep
def rings_reply(
    book: Book,
    now: Now,
    links: Links,
    near: vicinity.Near,
    sample: cyclon.Samples,
    own: Handles,
    mail: Parcels,
    first: Offsets,
    order: Handles,
    base: int,
    owner: Rows,
    out: Parcels,
    samples_too: int,
    depth: int,
    desk: Desk,
    done: Numbers,
) -> int:
    """Answer every request to the block from where done[0] says, and say there how far it got."""
    while done[0] < first[own.shape[0]]:
        m = order[done[0]]
        if mail.asks[m] == ASK:
            i = owner[mail.to[m]] - base
            answer = rings.reply(book, now, links, near, sample, i, own[i], mail, m, out, samples_too, depth, desk)
            if answer != DONE:
                return answer
        done[0] += 1
    return DONE


@sweep
def rings_merge(
    book: Book,
    links: Links,
    near: vicinity.Near,
    sample: cyclon.Samples,
    own: Handles,
    mail: Parcels,
    first: Offsets,
    order: Handles,
    depth: int,
    desk: Desk,
    done: Numbers,
) -> int:
    """Select anew in every row that has ring mail, from row done[0] on."""
    for i in range(done[0], own.shape[0]):
        start, stop = first[i], first[i + 1]
        if stop > start:
            answer = rings.merge(book, links, near, sample, i, own[i], mail, order, start, stop, depth, desk)
            if answer != DONE:
                done[0] = i
                return answer
    return DONE


@sweep
def rings_timers(
    book: Book,
    now: Now,
    links: Links,
    near: vicinity.Near,
    sample: cyclon.Samples,
    own: Handles,
    due: Flags,
    out: Parcels,
    links_per_exchange: int,
    in_turn: int,
    haste: int,
    stray: float,
    samples_too: int,
    depth: int,
    desk: Desk,
    done: Numbers,
) -> int:
    """Start the exchanges of every row that is due, from exchange done[1] of row done[0] on, which starts done[2] of them.

    How many it starts is asked once, for each that is started makes for fewer.
    """
    for i in range(done[0], own.shape[0]):
        if due[i] == 0:
            continue
        if done[1] == 0:
            done[2] = rings.exchanges(links, i, links_per_exchange, haste)
        for n in range(done[1], done[2]):
            answer = rings.request(
                book, now, links, near, sample, i, own[i], out, n, in_turn, haste, stray, samples_too, depth, desk
            )
            if answer != DONE:
                done[0], done[1] = i, n
                return answer
        done[1] = 0
    return DONE
