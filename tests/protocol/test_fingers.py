"""Fingers: places for every power of two of key distance, both ways, filled with the youngest of whom one hears."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gossamer.arrays import NONE
from gossamer.interest.ask import Interests
from gossamer.protocol import cyclon, fingers, vicinity
from gossamer.protocol.descriptor import Book
from gossamer.protocol.view import Now
from tests.naive.protocol import Entry

LEVELS, PLACES, FORGET = 5, 2, 40
PARAMS = fingers.Params(levels=LEVELS, places=PLACES, forget_cycles=FORGET)


def naive_level(own: int, other: int) -> tuple[bool, int] | None:
    """Which way a key lies, going up or not, and how many halvings of the half circle away; None when too near."""
    up = (other - own) % 2**64
    down = 2**64 - up
    for level in range(LEVELS):
        if min(up, down) >= 2**63 >> (level + 1):
            return up <= 2**63, level
    return None


def book_with(keys: list[int], boxes: list[int] | None = None, *, versioned: bool = False) -> Book:
    """A book of these keys; each wants one number."""
    wants = np.repeat(np.array(boxes or [0] * len(keys), np.int64), 2).reshape(-1, 2, 1)
    key = np.array(keys, np.uint64)
    version = np.array([keys[:handle].count(k) for handle, k in enumerate(keys)], np.uint32)
    return Book(key, version, np.zeros(len(keys), np.int32), Interests(wants, np.ones(1)), int(versioned))


def learned(book: Book, it: fingers.Fingers, near: list[Entry], sample: list[Entry], cycle: int) -> dict[int, set[Entry]]:
    """What stands in the places of each level after one look through the views."""
    alike, random = vicinity.near(1, vicinity.Params(view=20)), cyclon.samples(1, cyclon.Params())
    for k, (handle, born) in enumerate(near):
        alike.handles[0, k], alike.born[0, k] = handle, born
    for k, (handle, born) in enumerate(sample):
        random.handles[0, k], random.born[0, k] = handle, born
    fingers.learn(book, Now(np.uint64(0), cycle, 0), it, alike, random, 0, 0, LEVELS, PLACES, FORGET)
    places = [(int(h), int(b)) for h, b in zip(it.handles[0], it.born[0], strict=True)]
    return {
        level: {entry for entry in places[level * PLACES : (level + 1) * PLACES] if entry[0] != NONE}
        for level in range(2 * LEVELS)
    }


@given(st.data())
def test_each_level_both_ways_holds_the_youngest_that_overlap(data: st.DataObject) -> None:
    keys = data.draw(st.lists(st.integers(0, 2**64 - 1), min_size=2, max_size=21, unique=True))
    wants = [0, *data.draw(st.lists(st.integers(0, 1), min_size=len(keys) - 1, max_size=len(keys) - 1))]
    born = data.draw(st.permutations(range(1, len(keys))))
    entries = [(handle, born[handle - 1]) for handle in range(1, len(keys))]
    cut = data.draw(st.integers(0, len(entries)))
    found = learned(book_with(keys, wants), fingers.fingers(1, PARAMS), entries[:cut], entries[cut:], 30)
    for level in range(2 * LEVELS):
        mine = [e for e in entries if wants[e[0]] == 0 and naive_level(keys[0], keys[e[0]]) == (level < LEVELS, level % LEVELS)]
        assert found[level] == set(sorted(mine, key=lambda entry: entry[1])[-PLACES:])


def test_half_the_circle_away_counts_as_up_and_a_step_down_mirrors_a_step_up() -> None:
    keys = [0, 1 << 63, 1 << 62, (1 << 64) - (1 << 62), (1 << 62) - 1, (1 << 64) - (1 << 62) + 1, 1, (1 << 64) - 1]
    found = learned(book_with(keys), fingers.fingers(1, PARAMS), [(handle, 1) for handle in range(1, 8)], [], 5)
    assert {level: {h for h, _ in entries} for level, entries in found.items() if entries} == {
        0: {1, 2},
        LEVELS: {3},
        1: {4},
        LEVELS + 1: {5},
    }


def test_a_finger_heard_of_again_is_younger_and_stays_one_finger() -> None:
    book, it = book_with([0, 1 << 62]), fingers.fingers(1, PARAMS)
    learned(book, it, [(1, 3)], [], 5)
    assert learned(book, it, [(1, 2)], [(1, 9)], 10)[0] == {(1, 9)}


def test_a_finger_nobody_tells_of_again_is_let_go() -> None:
    book, it = book_with([0, 1 << 62]), fingers.fingers(1, PARAMS)
    learned(book, it, [(1, 3)], [], 5)
    assert learned(book, it, [], [], 3 + FORGET)[0] == {(1, 3)}
    assert learned(book, it, [], [], 4 + FORGET)[0] == set()


def test_one_that_changed_its_mind_is_a_finger_as_what_it_wants_now_or_not_at_all() -> None:
    key = 1 << 62
    book = book_with([0, key, key, key], [0, 0, 0, 1], versioned=True)
    assert book.version.tolist() == [0, 0, 1, 2]
    it = fingers.fingers(1, PARAMS)
    assert learned(book, it, [(1, 3)], [], 5)[0] == {(1, 3)}
    assert learned(book, it, [(2, 3)], [(1, 4)], 5)[0] == {(2, 3)}
    assert learned(book, it, [(3, 5)], [], 5)[0] == set()


def test_a_higher_version_makes_nobody_younger_than_others() -> None:
    keys = [0, 1 << 62, 1 << 62, (1 << 62) + 1, (1 << 62) + 2]
    book, it = book_with(keys, versioned=True), fingers.fingers(1, PARAMS)
    assert learned(book, it, [(2, 1), (3, 5), (4, 6)], [], 7)[0] == {(3, 5), (4, 6)}


def test_a_row_that_wants_something_else_lets_go_whom_it_does_not_meet() -> None:
    book, it = book_with([0, 1 << 62, 3 << 62, 0], [0, 0, 1, 1], versioned=True), fingers.fingers(1, PARAMS)
    learned(book, it, [(1, 3)], [], 5)
    empty = vicinity.near(1, vicinity.Params()), cyclon.samples(1, cyclon.Params())
    fingers.learn(book, Now(np.uint64(0), 5, 0), it, *empty, 0, 3, LEVELS, PLACES, FORGET)
    assert (it.handles == NONE).all()


def test_the_dead_are_no_fingers_in_any_version() -> None:
    book, it = book_with([0, 1 << 62, 1 << 62], versioned=True), fingers.fingers(1, PARAMS)
    learned(book, it, [(1, 3)], [], 5)
    fingers.drop(book, it, 0, 2)
    assert (it.handles == NONE).all()
