"""Who wants what: all rows that will ever live in a run, as columns.

A row is a virtual peer: one subscription of one node. Rows are numbered by key: row i draws its key from the i-th of R equal
parts of the key space, so the order of numbers is the order of keys and nothing needs sorting. Which node a row belongs to
is a keyed permutation of its number; so the rows of one node, and those of newcomers, are scattered over the keys.

The surprising thing: any row is computable alone. ``part`` makes the rows of a range from the settings, the seed and the
register of lives (``lives.py``); any cutting into ranges, on any number of threads or machines, gives the same table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.arrays import NONE, Coordinates, Counts, Handles, Keys, Mask, Numbers, Rows, Scales
from gossamer.draws import Purpose, below, draw
from gossamer.errors import ScenarioError
from gossamer.interest.ask import Interests
from gossamer.jit import kernel, sweep
from gossamer.protocol.descriptor import Book
from gossamer.scenario.laws import GRID, centre_table, quantile, threshold, width_table
from gossamer.scenario.lives import NEVER, Lives, chosen, draw_each, live
from gossamer.scenario.scenario import Scenario

__all__ = ["NEVER", "Part", "Plan", "Population", "book", "changed", "part", "plan", "population", "rejoining"]

_KEY, _PLACE, _CONTACT, _PHASE = Purpose.KEY, Purpose.PLACE, Purpose.CONTACT, Purpose.PHASE
_ATTRIBUTE, _WIDTH, _WILDCARD, _WIDE = Purpose.ATTRIBUTE, Purpose.WIDTH, Purpose.WILDCARD, Purpose.WIDE
_ROUNDS = 4
_TRIES = 256
_ONE = np.uint64(1)
_ODD = np.uint64(0x9E3779B97F4A7C15)
_SPACE = 1 << 64


class Population(NamedTuple):
    """The world's rows, in ascending order of key, and every descriptor they will ever have."""

    key: Keys
    """(R,) uint64: place in the order."""
    node: Rows
    """(R,) int32: the node a row belongs to; those of one node live and die together."""
    boxes: Coordinates
    """(B, 2, D) int64: by handle; below R a row's first descriptor, from R on what it changed to, in order of time."""
    owner: Rows
    """(B,) int32: the row a descriptor speaks of."""
    version: NDArray[np.uint32]
    """(B,) uint32: 0 for the first descriptor."""
    scale: Scales
    """(D,) float64: one over the width of each attribute's domain."""
    joins: Counts
    """(R,) int32: cycle of birth, 0 from the start."""
    leaves: Counts
    """(R,) int32: cycle of death, NEVER for those who stay; alive in joins <= cycle < leaves."""
    silent: Mask
    """(R,) bool: whether it falls silent at its death instead of resetting its links."""
    contact: Rows
    """(R,) int32: the one row it knows at birth, alive then; NONE when nobody is."""
    phase: Counts
    """(R,) int32: tick within a cycle at which its timers fire."""
    change_cycle: Counts
    """(C,) int32: when subscriptions change, rising."""
    change_row: Rows
    """(C,) int32: whose."""
    change_handle: Handles
    """(C,) int32: to which descriptor."""


class Part(NamedTuple):
    """The rows start .. stop-1 with their first descriptors: the columns of Population of the same names."""

    key: Keys
    node: Rows
    boxes: Coordinates
    joins: Counts
    leaves: Counts
    silent: Mask
    contact: Rows
    phase: Counts


class Plan(NamedTuple):
    """The numbers and tables from which any row follows."""

    seed: np.uint64
    rows: int
    """R: all rows that will ever live."""
    nodes: int
    """T: all nodes that will ever live."""
    starters: int
    """Nodes there from the start."""
    ticks: int
    phases: int
    centres: Numbers
    """(D, 4097) int64: quantiles of the centres."""
    widths: Numbers
    """(4097,) int64: quantiles of the widths."""
    wildcards: np.uint64
    wildcards_each: np.uint64
    wide: np.uint64
    """Thresholds of draws."""
    wide_width: int


@kernel
def _half(size: int) -> int:
    """Bits of each half of the least even-sized word that counts to size."""
    half = 1
    while (1 << (2 * half)) < size:
        half += 1
    return half


@kernel
def _scatter(seed: np.uint64, number: int, size: int) -> int:
    """A keyed permutation of 0 .. size-1: four Feistel rounds, walked on until the answer falls inside."""
    half = np.uint64(_half(size))
    mask = (_ONE << half) - _ONE
    word = np.uint64(number)
    while True:
        left, right = word >> half, word & mask
        for r in range(_ROUNDS):
            left, right = right, left ^ (draw(seed, right, r, _PLACE, 0) & mask)
        word = (left << half) | right
        if word < np.uint64(size):
            return np.int64(word)  # type: ignore[return-value]


@kernel
def _gather(seed: np.uint64, number: int, size: int) -> int:
    """The inverse of _scatter."""
    half = np.uint64(_half(size))
    mask = (_ONE << half) - _ONE
    word = np.uint64(number)
    while True:
        left, right = word >> half, word & mask
        for r in range(_ROUNDS - 1, -1, -1):
            left, right = right ^ (draw(seed, left, r, _PLACE, 0) & mask), left
        word = (left << half) | right
        if word < np.uint64(size):
            return np.int64(word)  # type: ignore[return-value]


@kernel
def _contact(it: Plan, born: Counts, dies: Counts, node: int, which: int) -> int:
    """The one row a row knows at birth.

    Starters stand in a line, all first subscriptions before all second ones; each knows one who stands before it and the
    first knows the second, so the start is one piece. A newcomer knows a random row of a random node alive.
    """
    key = np.uint64(node + which * it.nodes)
    if node < it.starters:
        rank = node + which * it.starters
        before = 1 if rank == 0 else below(draw(it.seed, key, 0, _CONTACT, 0), rank)
        return _gather(it.seed, before % it.starters + (before // it.starters) * it.nodes, it.rows)
    cycle, low, high = born[node], 0, node
    while low < high:
        middle = (low + high) // 2
        if born[middle] < cycle:
            low = middle + 1
        else:
            high = middle
    other = 0
    for n in range(_TRIES):
        other = below(draw(it.seed, key, 0, _CONTACT, n), low)
        if dies[other] > cycle:
            break
    met = 0
    while dies[other] <= cycle:
        other = (other + 1) % low
        met += 1
        if met > low:
            return NONE
    which = below(draw(it.seed, key, 1, _CONTACT, 0), it.rows // it.nodes)
    return _gather(it.seed, other + which * it.nodes, it.rows)


@kernel
def _box(it: Plan, key: np.uint64, version: int, box: Coordinates) -> None:
    """What the row with this key wants in this version.

    box : (2, D) int64  written: lower and upper corner, both inside
    """
    seed = it.seed
    wild = draw(seed, key, version, _WILDCARD, 0) < it.wildcards
    wide = draw(seed, key, version, _WIDE, 0) < it.wide
    for d in range(box.shape[1]):
        if wild or draw(seed, key, version, _WILDCARD, d + 1) < it.wildcards_each:
            box[0, d], box[1, d] = 0, GRID
            continue
        width = it.wide_width if wide else quantile(it.widths, draw(seed, key, version, _WIDTH, d))
        low = quantile(it.centres[d], draw(seed, key, version, _ATTRIBUTE, d)) - width // 2
        box[0, d], box[1, d] = max(low, 0), min(low + width, GRID)


@sweep
def _part_all(it: Plan, born: Counts, dies: Counts, mute: Mask, stride: np.uint64, out: Part, start: int, stop: int) -> None:
    for i in range(start, stop):
        k = i - start
        out.key[k] = np.uint64(i) * stride + draw(it.seed, np.uint64(i), 0, _KEY, 0) % stride
        place = _scatter(it.seed, i, it.rows)
        node, which = place % it.nodes, place // it.nodes
        out.node[k] = node
        out.joins[k], out.leaves[k], out.silent[k] = born[node], dies[node], mute[node]
        out.contact[k] = _contact(it, born, dies, node, which)
        out.phase[k] = below(draw(it.seed, out.key[k], 0, _PHASE, 0), it.phases) * it.ticks // it.phases
        _box(it, out.key[k], 0, out.boxes[k])


@sweep
def _changed_all(it: Plan, key: Keys, rows: Rows, version: NDArray[np.uint32], boxes: Coordinates) -> None:
    for i in range(rows.shape[0]):
        _box(it, key[rows[i]], np.int64(version[i]), boxes[i])  # type: ignore[arg-type]


def plan(scenario: Scenario, seed: int, lives: Lives) -> Plan:
    """The numbers and tables from which any row of this run follows."""
    people, nodes = scenario.population, lives.born.shape[0]
    rows = nodes * people.subscriptions
    if rows >= 1 << 31:
        raise ScenarioError("population.nodes", f"{rows} rows would live in this run, more than {(1 << 31) - 1}")
    return Plan(
        seed=np.uint64(seed),
        rows=rows,
        nodes=nodes,
        starters=people.nodes,
        ticks=scenario.timers.ticks,
        phases=scenario.timers.phases,
        centres=np.stack([centre_table(law, people.centre_knee) for law in scenario.centres]),
        widths=width_table(people.width, people.width_knee, people.width_exponent, people.width_limit),
        wildcards=threshold(people.wildcards),
        wildcards_each=threshold(people.wildcards_per_attribute),
        wide=threshold(people.wide),
        wide_width=int(people.wide_width * GRID),
    )


def part(it: Plan, lives: Lives, start: int, stop: int) -> Part:
    """The rows start .. stop-1, computed alone."""
    size = stop - start
    out = Part(
        key=np.empty(size, dtype=np.uint64),
        node=np.empty(size, dtype=np.int32),
        boxes=np.empty((size, 2, it.centres.shape[0]), dtype=np.int64),
        joins=np.empty(size, dtype=np.int32),
        leaves=np.empty(size, dtype=np.int32),
        silent=np.empty(size, dtype=np.bool_),
        contact=np.empty(size, dtype=np.int32),
        phase=np.empty(size, dtype=np.int32),
    )
    _part_all(it, lives.born, lives.dies, lives.silent, np.uint64(_SPACE // it.rows), out, start, stop)
    return out


def changed(it: Plan, key: Keys, rows: Rows, version: NDArray[np.uint32]) -> Coordinates:
    """(C, 2, D) int64: what rows want in later versions; ``rows`` are positions among the keys."""
    boxes = np.empty((rows.shape[0], 2, it.centres.shape[0]), dtype=np.int64)
    _changed_all(it, key, rows, version, boxes)
    return boxes


def population(scenario: Scenario, seed: int) -> Population:
    """All rows of a run and every descriptor they will ever have."""
    lives = live(scenario, seed)
    it = plan(scenario, seed, lives)
    rows = part(it, lives, 0, it.rows)
    when, who, version = _changes(scenario, np.uint64(seed), rows)
    later = changed(it, rows.key, who, version)
    everybody = np.arange(it.rows, dtype=np.int32)
    return Population(
        key=rows.key,
        node=rows.node,
        boxes=np.concatenate([rows.boxes, later]) if who.size else rows.boxes,
        owner=np.concatenate([everybody, who]),
        version=np.concatenate([np.zeros(it.rows, dtype=np.uint32), version]),
        scale=np.full(scenario.population.attributes, 1.0 / GRID),
        joins=rows.joins,
        leaves=rows.leaves,
        silent=rows.silent,
        contact=rows.contact,
        phase=rows.phase,
        change_cycle=when,
        change_row=who,
        change_handle=np.arange(it.rows, it.rows + who.shape[0], dtype=np.int32),
    )


def _changes(scenario: Scenario, seed: np.uint64, rows: Part) -> tuple[Counts, Rows, NDArray[np.uint32]]:
    """Cycle, row and version of each changed subscription, in order of time and then of rows."""
    count = np.zeros(rows.key.shape[0], dtype=np.uint32)
    when: list[Counts] = [np.empty(0, dtype=np.int32)]
    who: list[Rows] = [np.empty(0, dtype=np.int32)]
    version: list[NDArray[np.uint32]] = [np.empty(0, dtype=np.uint32)]
    dated = sorted(enumerate(scenario.changes), key=lambda item: item[1].cycle)
    for n, change in dated:
        alive = np.flatnonzero((rows.joins <= change.cycle) & (rows.leaves > change.cycle))
        bits = np.empty(alive.shape[0], dtype=np.uint64)
        draw_each(seed, alive.astype(np.int64), change.cycle, Purpose.CHANGE, n, bits, 0, bits.shape[0])
        those = alive[chosen(bits, round(change.share * alive.shape[0]))].astype(np.int32)
        count[those] += 1
        when.append(np.full(those.shape[0], change.cycle, dtype=np.int32))
        who.append(those)
        version.append(count[those])
    return np.concatenate(when), np.concatenate(who), np.concatenate(version)


def book(people: Population) -> Book:
    """The book of a driver that holds all rows: a row's number is its mailbox and its first handle."""
    return Book(
        key=people.key[people.owner] if people.change_row.size else people.key,
        version=people.version,
        owner=people.owner,
        wants=Interests(boxes=people.boxes, scale=people.scale),
        versioned=int(people.change_row.size > 0),
    )


def rejoining(scenario: Scenario, people: Population, seed: int) -> Rows:
    """The rows taken out to join again, in the order they are."""
    wanted, cycle = scenario.rejoins, scenario.rejoins.from_cycle
    alive = np.flatnonzero((people.joins <= cycle) & (people.leaves > cycle))
    count = alive.shape[0] if wanted.everybody else min(wanted.count, alive.shape[0])
    bits = np.empty(alive.shape[0], dtype=np.uint64)
    draw_each(np.uint64(seed), alive.astype(np.int64), 0, Purpose.REJOIN, 0, bits, 0, bits.shape[0])
    those = chosen(bits, count)
    return alive[those[np.argsort(bits[those], kind="stable")]].astype(np.int32)
