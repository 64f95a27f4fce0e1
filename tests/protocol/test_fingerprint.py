"""A fingerprint differs when anything differs, and knows nothing of handles, blocks and places in an arena."""

from __future__ import annotations

from typing import Any

import numpy as np

from gossamer.arrays import NONE
from gossamer.protocol import cyclon, links, vicinity
from gossamer.protocol.descriptor import Book
from gossamer.protocol.fingerprint import of_rows, total
from tests.protocol.peers import book_of

ROWS, HANDLES = 6, 20
RANDOM = np.random.default_rng(1)
BOOK = book_of(RANDOM, np.zeros((HANDLES, 2, 1), np.int64))
OWN = np.arange(ROWS, dtype=np.int32)


def states() -> list[Any]:
    """Random views of a few rows."""
    random = np.random.default_rng(2)
    sample = cyclon.samples(ROWS, cyclon.Params(view=4, shuffle=2))
    near = vicinity.near(ROWS, vicinity.Params(view=4, shuffle=2))
    ring = links.links(ROWS)
    for view in (sample, near):
        view.handles[:] = random.integers(NONE, HANDLES, (ROWS, 4))
        view.born[:] = random.integers(0, 99, (ROWS, 4))
    ring.size[:] = random.integers(1, 5, ROWS)
    for column in (ring.handles, ring.offset, ring.born, ring.marks, ring.since, ring.told):
        column[:] = random.integers(0, HANDLES, column.shape[0])
    return [sample, near, ring]


def part(state: Any, rows: slice) -> Any:  # noqa: ANN401
    """Some rows of a state; an arena stays whole."""
    return type(state)(*(column[rows] if column.shape[0] == ROWS else column for column in state))


def test_it_differs_when_anything_of_the_state_differs() -> None:
    whole = total(of_rows(BOOK, OWN, states()))
    assert whole == total(of_rows(BOOK, OWN, states()))
    seen = {whole}
    tried = 1
    for which, names in enumerate((cyclon.Samples._fields, ("handles", "born"), ("size", "turn", "news", "stale"))):
        for name in names:
            for row in range(ROWS):
                changed = states()
                column = getattr(changed[which], name)
                place = (row, 1) if column.ndim > 1 else row
                if name == "born" and changed[which].handles[place] == NONE:
                    continue
                column[place] = column[place] + column.dtype.type(1)
                seen.add(total(of_rows(BOOK, OWN, changed)))
                tried += 1
    for name in ("handles", "born", "marks", "since", "told"):
        changed = states()
        column = getattr(changed[2], name)
        column[changed[2].start[3]] += column.dtype.type(1)
        seen.add(total(of_rows(BOOK, OWN, changed)))
        tried += 1
    assert len(seen) == tried


def test_two_rows_cannot_swap_what_they_know_unseen() -> None:
    changed = states()
    changed[0].handles[[0, 1]] = changed[0].handles[[1, 0]]
    assert total(of_rows(BOOK, OWN, changed)) != total(of_rows(BOOK, OWN, states()))


def test_blocks_add_up() -> None:
    prints = [of_rows(BOOK, OWN[rows], [part(state, rows) for state in states()]) for rows in (slice(0, 2), slice(2, 6))]
    np.testing.assert_array_equal(np.concatenate(prints), of_rows(BOOK, OWN, states()))
    assert sum(map(total, prints)) % 2**64 == total(of_rows(BOOK, OWN, states()))


def test_other_handles_for_the_same_peers_cannot_be_seen() -> None:
    other = RANDOM.permutation(HANDLES).astype(np.int32)
    book = Book(BOOK.key.copy(), BOOK.version, BOOK.owner, BOOK.wants, 0)
    book.key[other] = BOOK.key
    renumbered = states()
    for state in renumbered:
        handles = state.handles
        handles[handles != NONE] = other[handles[handles != NONE]]
    assert total(of_rows(book, other[OWN], renumbered)) == total(of_rows(BOOK, OWN, states()))


def test_what_is_cached_and_where_links_lie_leaves_no_trace() -> None:
    changed = states()
    changed[2].known[:] = 3
    changed[2] = links.widen(changed[2])
    assert total(of_rows(BOOK, OWN, changed)) == total(of_rows(BOOK, OWN, states()))
