"""What is published: events drawn evenly over the part of the world that enough subscribers want.

The paper picks test events "at random, ensuring each one had at least two matching subscribers". Drawing from the cube and
rejecting crawls where boxes are scarce, as in five attributes. So there, pick a box by volume and a point in it, count the
k boxes that hold it, and accept with probability minimum / k: the same law, for a point in k boxes came up k times as often.
Where boxes lie in more than that many layers, the cube is the faster of the two and is used.

Event n is a function of the seed and n, given the population. Counting is done by bit masks, one for each slice of each
attribute; ``truth`` judges with other means.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.arrays import NONE, Bits, Coordinates, Counts, Handles, Keys, Reals, Rows
from gossamer.draws import Purpose, below, draw, uniform
from gossamer.errors import ScenarioError
from gossamer.jit import kernel, sweep
from gossamer.scenario.laws import GRID
from gossamer.scenario.population import Population
from gossamer.scenario.scenario import Scenario

__all__ = ["Events", "Pool", "drawn_from", "events", "nobody", "published", "publishers", "starters"]

_EVENT, _PUBLISHER = Purpose.EVENT, Purpose.PUBLISHER
_ACCEPT, _NAME = 32, 33
_TRIES, _FEWER_TRIES, _PROBES = 1 << 18, 1 << 14, 64
_MASK_BYTES = 1 << 28
_MOST_SLICES = 10
_GRID_BITS = 30
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_PUBLISHED, _SEARCHED, _WANTED_BY = 0, 1 << 40, 2 << 40
"""Which numbers the three kinds of events draw with."""


class Events(NamedTuple):
    """What is published, when, and through whom."""

    key: Keys
    """(E,) uint64: an event's name in hashes and draws."""
    points: Coordinates
    """(E, D) int64."""
    cycle: Counts
    """(E,) int32: when it is published; NONE when all spread at each of the cycles in ``events.at``."""
    publisher: Handles
    """(E,) int32: the one row its publisher knows at first; NONE when it enters at a random subscriber that wants it."""
    matches: Counts
    """(E,) int32: starters that want it."""


class Pool(NamedTuple):
    """The boxes events are drawn from."""

    boxes: Coordinates
    """(B, 2, D) int64."""
    reach: Reals
    """(B,) float64: volumes, summed up."""
    marks: Bits
    """(D, slices, words) uint64: which boxes touch a slice."""
    shift: int
    """A coordinate's slice is the coordinate shifted down by this."""


@sweep
def _mark_all(boxes: Coordinates, shift: int, marks: Bits) -> None:
    for b in range(boxes.shape[0]):
        bit = _ONE << np.uint64(b & 63)
        for d in range(boxes.shape[2]):
            for cut in range(boxes[b, 0, d] >> shift, (boxes[b, 1, d] >> shift) + 1):
                marks[d, cut, b >> 6] |= bit


@kernel
def _lowest(word: np.uint64) -> int:
    """The number of the lowest bit set; the word is not zero."""
    at = 0
    for step in (32, 16, 8, 4, 2, 1):
        if (word & ((_ONE << np.uint64(step)) - _ONE)) == _ZERO:
            word >>= np.uint64(step)
            at += step
    return at


@kernel
def _count(pool: Pool, point: Coordinates, most: int) -> int:
    """How many boxes hold the point; beyond ``most`` it is enough to know that there are more."""
    total, size = 0, point.shape[0]
    for w in range(pool.marks.shape[2]):
        word = pool.marks[0, point[0] >> pool.shift, w]
        for d in range(1, size):
            word &= pool.marks[d, point[d] >> pool.shift, w]
        while word != _ZERO:
            b = w * 64 + _lowest(word)
            word &= word - _ONE
            inside = 1
            for d in range(size):
                if point[d] < pool.boxes[b, 0, d] or point[d] > pool.boxes[b, 1, d]:
                    inside = 0
                    break
            total += inside
        if total > most:
            return total
    return total


@kernel
def _propose(pool: Pool, seed: np.uint64, number: np.uint64, attempt: int, by_box: int, point: Coordinates) -> None:
    """A point of a box picked by volume, or of the cube."""
    b, size = NONE, point.shape[0]
    if by_box != 0:
        aim = uniform(draw(seed, number, attempt, _EVENT, 0)) * pool.reach[-1]
        b = min(np.searchsorted(pool.reach, aim, side="right"), pool.reach.shape[0] - 1)
    for d in range(size):
        low, high = (pool.boxes[b, 0, d], pool.boxes[b, 1, d]) if b != NONE else (0, GRID)
        point[d] = low + below(draw(seed, number, attempt, _EVENT, d + 1), high - low + 1)


@sweep
def _draw_all(
    pool: Pool,
    seed: np.uint64,
    first: int,
    minimum: int,
    exactly: int,
    by_box: int,
    tries: int,
    points: Coordinates,
    matches: Counts,
    start: int,
    stop: int,
) -> None:
    """Events start .. stop-1: with at least the minimum of matches, or exactly so many unless that is NONE."""
    for i in range(start, stop):
        number = np.uint64(first + i)
        matches[i] = NONE
        for attempt in range(tries):
            _propose(pool, seed, number, attempt, by_box, points[i])
            k = _count(pool, points[i], exactly if exactly != NONE else pool.boxes.shape[0])
            taken = k == exactly
            if exactly == NONE:
                taken = k >= minimum
                if taken and by_box != 0:
                    taken = uniform(draw(seed, number, attempt, _EVENT, _ACCEPT)) * k < minimum
            if taken:
                matches[i] = k
                break


@sweep
def _name_all(seed: np.uint64, first: int, among: int, key: Keys, contact: Rows) -> None:
    for i in range(key.shape[0]):
        number = np.uint64(first + i)
        key[i] = draw(seed, number, 0, _EVENT, _NAME)
        contact[i] = below(draw(seed, number, 0, _PUBLISHER, 0), among)


def starters(people: Population) -> NDArray[np.intp]:
    """The rows there from the start, whose first descriptors are the world that events are drawn from."""
    return np.flatnonzero(people.joins == 0)


def drawn_from(boxes: Coordinates) -> Pool:
    """What is needed to draw events: the starters' boxes, (B, 2, D) int64, and marks of at most 2**28 bytes."""
    words, attributes, slices = (boxes.shape[0] + 63) // 64, boxes.shape[2], 8
    while slices < _MOST_SLICES and attributes * (1 << (slices + 1)) * words * 8 <= _MASK_BYTES:
        slices += 1
    while slices > 0 and attributes * (1 << slices) * words * 8 > _MASK_BYTES:
        slices -= 1
    shift = _GRID_BITS - slices
    marks = np.zeros((attributes, (1 << slices) + 1, words), dtype=np.uint64)
    _mark_all(boxes, shift, marks)
    sides = (boxes[:, 1] - boxes[:, 0] + 1) / GRID
    return Pool(boxes=boxes, reach=np.cumsum(np.prod(sides, axis=1)), marks=marks, shift=shift)


def _pool(people: Population) -> Pool:
    return drawn_from(people.boxes[starters(people)])


def events(scenario: Scenario, people: Population, seed: int) -> Events:
    """What the scenario publishes."""
    return published(scenario, _pool(people), seed, 0, scenario.events.count)


def published(scenario: Scenario, pool: Pool, seed: int, start: int, stop: int) -> Events:
    """The events start .. stop-1 of those, drawn alone."""
    wanted, size = scenario.events, stop - start
    points, matches = _at_least(pool, seed, _PUBLISHED + start, size, wanted.minimum_matches)
    numbers = np.arange(start, stop)
    cycle = np.full(size, NONE) if wanted.frozen else wanted.from_cycle + numbers // wanted.per_cycle
    key, _ = _names(seed, _PUBLISHED + start, size, 1)
    return Events(key, points, cycle.astype(np.int32), np.full(size, NONE, dtype=np.int32), matches)


def publishers(scenario: Scenario, people: Population, seed: int) -> Events:
    """One event for each publisher that searches a first subscriber, with the row it starts from."""
    count = scenario.publishers.count
    points, matches = _at_least(_pool(people), seed, _SEARCHED, count, scenario.events.minimum_matches)
    return _searched(scenario, people, seed, _SEARCHED, points, matches)


def nobody(scenario: Scenario, people: Population, seed: int) -> Events:
    """Events with exactly 0, 1 and 2 matches: those of each that the world holds, at most ``publishers.nobody``."""
    count, pool = scenario.publishers.nobody, _pool(people)
    layers, attributes = float(pool.reach[-1]), people.boxes.shape[2]
    points, matches = np.empty((3 * count, attributes), dtype=np.int64), np.full(3 * count, NONE, dtype=np.int32)
    for k in range(3 if count else 0):
        base, by_box = k * count, int(k > layers)
        stop = base + min(_PROBES, count)
        _draw_all(pool, np.uint64(seed), _WANTED_BY, 0, k, by_box, _FEWER_TRIES, points, matches, base, stop)
        if (matches[base:stop] != NONE).any():
            last = base + count
            _draw_all(pool, np.uint64(seed), _WANTED_BY, 0, k, by_box, _FEWER_TRIES, points, matches, stop, last)
    found = _searched(scenario, people, seed, _WANTED_BY, points, matches)
    kept = matches != NONE
    return Events(*(column[kept] for column in found))


def _at_least(pool: Pool, seed: int, first: int, count: int, minimum: int) -> tuple[Coordinates, Counts]:
    points = np.empty((count, pool.boxes.shape[2]), dtype=np.int64)
    matches = np.empty(count, dtype=np.int32)
    by_box = int(minimum > float(pool.reach[-1]))
    probes = min(_PROBES, count)
    for start, stop in ((0, probes), (probes, count)):
        _draw_all(pool, np.uint64(seed), first, minimum, NONE, by_box, _TRIES, points, matches, start, stop)
        if (matches[start:stop] == NONE).any():
            problem = f"found no place wanted by {minimum} subscribers in {_TRIES} attempts"
            hint = "fewer matches, more nodes or wider boxes"
            raise ScenarioError("events.minimum_matches", problem, hint=hint)
    return points, matches


def _names(seed: int, first: int, count: int, among: int) -> tuple[Keys, Rows]:
    key, contact = np.empty(count, dtype=np.uint64), np.empty(count, dtype=np.int32)
    _name_all(np.uint64(seed), first, among, key, contact)
    return key, contact


def _searched(scenario: Scenario, people: Population, seed: int, first: int, points: Coordinates, matches: Counts) -> Events:
    cycle = scenario.publishers.from_cycle
    alive = np.flatnonzero((people.joins <= cycle) & (people.leaves > cycle)).astype(np.int32)
    key, contact = _names(seed, first, matches.shape[0], max(alive.shape[0], 1))
    known = alive[contact] if alive.size else np.full(contact.shape[0], NONE, dtype=np.int32)
    return Events(key, points, np.full(key.shape[0], cycle, dtype=np.int32), known, matches)
