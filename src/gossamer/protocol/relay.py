"""What a row does with one message about an event: pass it on, answer it, or turn elsewhere when it came back.

Which move a message meets (``system.plan.EVENT``) is decided here, once for every driver; how far the row is with the event
already, the driver says, since each keeps its own memory of that.
"""

from __future__ import annotations

from typing import NamedTuple

from gossamer.arrays import NONE
from gossamer.jit import tiny
from gossamer.protocol import arcs, spread
from gossamer.protocol.descriptor import Book
from gossamer.protocol.spread import ARC, CLOSE, COPY, HINT, PASSED, SEEK, UNKNOWN, WEARY, Copies, Happenings
from gossamer.protocol.view import ASK, Now
from gossamer.protocol.views import Views, forget

__all__ = ["Rules", "receive", "rules"]


class Rules(NamedTuple):
    """spread.Params, for kernels."""

    arcs: int
    shortcuts: int
    fanout: int
    close: int
    fail_over: int


def rules(params: spread.Params) -> Rules:
    """The settings, as kernels take them."""
    return Rules(int(params.mode == "arcs"), params.shortcuts, params.fanout, int(params.close), int(params.fail_over))


@tiny
def _pass_on(
    book: Book,
    now: Now,
    happenings: Happenings,
    views: Views,
    rules: Rules,
    i: int,
    own: int,
    mail: Copies,
    m: int,
    state: int,
    desk: arcs.Desk,
    out: Copies,
) -> int:
    """What a row does with an event it has not passed on yet, or with one more arc of it.

    With one more arc it asks nobody beyond: where views contradict each other, after subscriptions have changed, two who each
    know of somebody that the other's neighbours do not would send the event round the ring for ever.
    """
    source, event, hop = mail.sender[m], mail.event[m], mail.hop[m]
    if rules.arcs == 0 or (mail.what[m] == COPY and source != NONE):
        return spread.forward(book, now, happenings, views.links, views.near, i, own, source, event, hop, rules.shortcuts, out)
    low, high = mail.low[m], mail.high[m]
    if source == NONE:
        low = high = arcs.whole(book.key[own])
    return arcs.cover(
        book, happenings, views, i, own, source, event, hop, low, high,
        rules.fanout, int(rules.close != 0 and state < PASSED), desk, out,
    )  # fmt: skip


@tiny
def _turned_back(
    book: Book,
    happenings: Happenings,
    views: Views,
    rules: Rules,
    i: int,
    own: int,
    mail: Copies,
    m: int,
    desk: arcs.Desk,
    out: Copies,
) -> int:
    """What a row does when one it wrote to is gone."""
    if rules.fail_over == 0:
        return spread.DONE
    dead, event, hop = mail.sender[m], mail.event[m], mail.hop[m]
    if mail.what[m] == COPY:
        forget(book, views, i, own, dead)
        return spread.bounced(book, happenings, views.links, i, own, dead, event, hop, out)
    if mail.what[m] == ARC:
        forget(book, views, i, own, dead)
        return arcs.bounced(
            book, happenings, views, i, own, event, hop,
            mail.low[m], mail.high[m], desk, out,
        )  # fmt: skip
    if mail.what[m] == SEEK:
        forget(book, views, i, own, dead)
        return arcs.step_around(
            book, happenings, views, i, own, dead, event, hop,
            mail.low[m], mail.high[m], desk, out,
        )  # fmt: skip
    if mail.what[m] == CLOSE:
        forget(book, views, i, own, dead)
        if out.used[0] + 1 > out.to.shape[0]:
            return spread.NO_MAIL
        offset = book.key[dead] - book.key[own]
        arcs.ask_beyond(book, happenings, views.links, i, own, mail.other[m], event, hop, offset, mail.low[m], out)
    return spread.DONE


@tiny
def receive(
    book: Book,
    now: Now,
    happenings: Happenings,
    views: Views,
    rules: Rules,
    i: int,
    own: int,
    mail: Copies,
    m: int,
    state: int,
    desk: arcs.Desk,
    out: Copies,
) -> int:
    """Deal with message m, where `state` is how far the row is with the event, from UNKNOWN to WEARY."""
    what = mail.what[m]
    if mail.asks[m] != ASK:
        return _turned_back(book, happenings, views, rules, i, own, mail, m, desk, out)
    if what in (COPY, ARC):
        if state >= (PASSED if what == COPY else WEARY):  # nobody else has been given an arc, so it is seen to again
            return spread.DONE
        return _pass_on(book, now, happenings, views, rules, i, own, mail, m, state, desk, out)
    if what == CLOSE:
        return arcs.answer_close(
            book,
            happenings,
            views.links,
            i,
            own,
            mail.sender[m],
            mail.other[m],
            mail.event[m],
            mail.hop[m],
            mail.low[m],
            int(state != UNKNOWN),
            out,
        )
    if what == HINT:
        return arcs.follow_hint(
            book, happenings, own, mail.sender[m], mail.other[m], mail.event[m], mail.hop[m], mail.low[m], mail.high[m], out
        )
    if what == SEEK:
        return arcs.go_on(
            book, happenings, views, i, own, mail.sender[m], mail.event[m],
            mail.hop[m], mail.low[m], mail.high[m], int(state != UNKNOWN), desk, out,
        )  # fmt: skip
    return spread.DONE
