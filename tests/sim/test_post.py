"""The post, against sorting; and mail that is cut and joined."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.arrays import NONE
from gossamer.protocol.spread import empty_copies
from gossamer.protocol.view import ANSWER, ASK, Mail, Parcels, empty_mail, empty_parcels
from gossamer.scenario.laws import threshold
from gossamer.scenario.network import delay, lost
from gossamer.scenario.scenario import ChangeSettings
from gossamer.sim import post
from gossamer.sim.lanes import Post, joined, taken
from tests.sim.worlds import made, still

WORLD = made(replace(still(nodes=12), changes=(ChangeSettings(share=1.0, cycle=1),)))
ROWS, OWNER = WORLD.rows, WORLD.book.owner
HANDLES = OWNER.shape[0]


def random_mail(random: np.random.Generator, messages: int) -> Mail:
    """Messages between any rows, called by any of their names; a fifth is not written."""
    mail = empty_mail(messages, 2)
    mail.sender[:] = random.integers(0, HANDLES, messages)
    mail.to[:] = np.where(random.random(messages) < 0.2, NONE, random.integers(0, HANDLES, messages))
    mail.asks[:] = random.choice([ASK, ANSWER], messages)
    mail.stamp[:] = np.arange(messages)
    mail.handles[:] = random.integers(0, HANDLES, (messages, 2))
    return mail


@given(st.integers(0, 10_000), st.integers(1, 60))
def test_each_row_gets_its_mail_by_sender_and_then_by_number(seed: int, messages: int) -> None:
    mail = random_mail(np.random.default_rng(seed), messages)
    first, order = WORLD.route(mail)
    for row in range(ROWS):
        mine = [m for m in range(messages) if mail.to[m] != NONE and OWNER[mail.to[m]] == row]
        assert order[first[row] : first[row + 1]].tolist() == sorted(mine, key=lambda m: (OWNER[mail.sender[m]], m))


def test_answers_that_stand_at_their_receivers_numbers_stay_there() -> None:
    mail = empty_mail(ROWS, 2)
    mail.to[:], mail.sender[:] = np.arange(ROWS), np.arange(ROWS)[::-1]
    mail.to[::3] = NONE
    first, order = WORLD.route(mail)
    assert [order[first[r] : first[r + 1]].tolist() for r in range(ROWS)] == [[] if r % 3 == 0 else [r] for r in range(ROWS)]


def test_what_is_lost_and_when_the_rest_arrives_is_the_networks_affair() -> None:
    mail = random_mail(np.random.default_rng(1), 200)
    key, seed, bound, to = WORLD.book.key, np.uint64(3), threshold(0.3), mail.to.copy()
    gone = post.lose(mail.to, mail.sender, mail.asks, key, seed, 9, 2, bound)
    for m in range(200):
        if to[m] != NONE:
            strikes = lost(seed, key[mail.sender[m]], key[to[m]], 9, 8 + int(mail.asks[m]), 0, bound)
            assert mail.to[m] == (NONE if strikes else to[m])
    assert gone == ((to != NONE) & (mail.to == NONE)).sum()
    assert 20 < gone < 80
    when = np.empty(200, np.int64)
    post.arrivals(mail.to, mail.sender, key, seed, 9, 1, 4, when)
    for m in range(200):
        expected = NONE if mail.to[m] == NONE else 9 + delay(seed, key[mail.sender[m]], key[mail.to[m]], 1, 4)
        assert when[m] == expected


# ---------------------------------------------------------------------------------------------------- cut and joined


def batch(kind: str, random: np.random.Generator) -> Post:
    """A few messages of a kind."""
    messages = int(random.integers(0, 6))
    if kind == "mail":
        return random_mail(random, messages)
    if kind == "copies":
        copies = empty_copies(messages)
        for column in copies[:-1]:
            column[:] = random.integers(0, 50, messages)
        copies.used[0] = messages
        return copies
    length = random.integers(0, 4, messages)
    parcels = empty_parcels(messages, int(length.sum()))
    parcels.start[1:] = np.cumsum(length)
    columns: list[Any] = [parcels.sender, parcels.to, parcels.stamp, parcels.asks, parcels.handles, parcels.born]
    for written in columns:
        written[:] = random.integers(0, 50, written.shape[0])
    parcels.used[0] = messages
    return parcels


def told(mail: Post) -> list[tuple[Any, ...]]:
    """The messages one by one."""
    if isinstance(mail, Parcels):
        heads = zip(mail.sender, mail.to, mail.stamp, mail.asks, strict=True)
        spans = [
            (mail.handles[a:b].tolist(), mail.born[a:b].tolist()) for a, b in zip(mail.start, mail.start[1:], strict=False)
        ]
        return [(*head, *span) for head, span in zip(heads, spans, strict=True)]
    columns = mail if isinstance(mail, Mail) else mail[:-1]
    return [tuple(column[m].tolist() for column in columns) for m in range(mail.to.shape[0])]


@pytest.mark.parametrize("kind", ["mail", "parcels", "copies"])
def test_what_is_joined_and_cut_is_told_in_order(kind: str) -> None:
    random = np.random.default_rng(4)
    for _ in range(30):
        parts = [batch(kind, random) for _ in range(int(random.integers(1, 5)))]
        whole = joined(parts)
        assert told(whole) == [message for part in parts for message in told(part)]
        some = np.flatnonzero(random.random(whole.to.shape[0]) < 0.5)
        assert told(taken(whole, some)) == [told(whole)[m] for m in some]
        assert told(taken(whole, slice(0, 2))) == told(whole)[:2]
