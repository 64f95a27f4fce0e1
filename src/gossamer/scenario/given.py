"""A world that was given: somebody's own interests and events in the place of drawn ones.

Interests come as boxes and the nodes that hold them; what else a row has (its key, the one it knows at birth, when it dies) is
drawn as for any population. ``drawn`` is the other way: everything from the scenario. Whoever runs a scenario takes either.

Newcomers of a given world want what those before them wanted: node n, born later, wants what node n modulo the given ones
does. Subscriptions do not change, for nobody said to what.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gossamer.arrays import NONE, Coordinates, Counts, Keys, Numbers, Rows, Scales
from gossamer.draws import Purpose, below, draw
from gossamer.errors import DataError, ScenarioError
from gossamer.jit import sweep
from gossamer.scenario.lives import draw_each, live
from gossamer.scenario.population import Population, population
from gossamer.scenario.scenario import Scenario
from gossamer.scenario.workload import Events, events

__all__ = ["Drawn", "Interests", "Published", "drawn", "load", "save", "settled"]

_KEY, _CONTACT, _PHASE, _EVENT = Purpose.KEY, Purpose.CONTACT, Purpose.PHASE, Purpose.EVENT
_SPACE = 1 << 64
_NAME = 33
"""Of an event, as in `workload`."""


class Drawn(NamedTuple):
    """What a run is made of beside its scenario."""

    people: Population
    events: Events


class Interests(NamedTuple):
    """Who wants what."""

    boxes: Coordinates
    """(B, 2, D) int64: lower and upper corner, both inside."""
    node: Rows
    """(B,) int32: who wants it, rising from 0, none left out; several boxes of one node are several rows."""
    scale: Scales
    """(D,) float64: one over the width of each attribute's domain."""


class Published(NamedTuple):
    """What is published."""

    points: Coordinates
    """(E, D) int64."""
    matches: Counts
    """(E,) int32: boxes that hold each, about: what a run of that size is cut by."""


def drawn(scenario: Scenario, seed: int) -> Drawn:
    """Everything as the scenario says."""
    people = population(scenario, seed)
    return Drawn(people, events(scenario, people, seed))


def settled(scenario: Scenario, seed: int, wanted: Interests, published: Published) -> Drawn:
    """Rows for given interests, and given events at the scenario's times. Its population says nothing but how many nodes."""
    _fits(scenario, wanted, published)
    lives, first = live(scenario, seed), int(wanted.node[-1]) + 1
    counts = np.bincount(wanted.node, minlength=first)
    begins = np.concatenate(([0], np.cumsum(counts)))
    nodes = np.arange(lives.born.shape[0])
    sizes = counts[nodes % first]
    node = np.repeat(nodes, sizes).astype(np.int32)
    source = np.arange(node.shape[0]) - np.repeat(np.cumsum(sizes) - sizes, sizes) + begins[node % first]
    rows = node.shape[0]
    key, phase = np.empty(rows, np.uint64), np.empty(rows, np.int32)
    _name_rows(np.uint64(seed), np.uint64(_SPACE // rows), scenario.timers.ticks, scenario.timers.phases, key, phase)
    bits = np.empty(rows, np.uint64)
    draw_each(np.uint64(seed), np.arange(rows), 0, Purpose.PLACE, 0, bits, 0, rows)
    # The rows of one node are scattered over the keys; starters stand before newcomers in the order of places.
    place = np.argsort(bits, kind="stable")
    at, node = np.empty(rows, np.int64), node[place]
    at[place] = np.arange(rows)
    joins, leaves = lives.born[node], lives.dies[node]
    contact = np.empty(rows, np.int32)
    known, since = _known(joins, leaves, place, at)
    _meet_all(np.uint64(seed), place, joins, known, since, at, contact)
    nobody = np.empty(0, np.int32)
    people = Population(
        key=key,
        node=node,
        boxes=np.ascontiguousarray(wanted.boxes[source[place]]),
        owner=np.arange(rows, dtype=np.int32),
        version=np.zeros(rows, np.uint32),
        scale=wanted.scale,
        joins=joins,
        leaves=leaves,
        silent=lives.silent[node],
        contact=contact,
        phase=phase,
        change_cycle=nobody,
        change_row=nobody,
        change_handle=nobody,
    )
    return Drawn(people, _published(scenario, seed, published))


def _fits(scenario: Scenario, wanted: Interests, published: Published) -> None:
    """Refuse what is no world."""
    nodes, attributes = int(wanted.node[-1]) + 1 if wanted.node.size else 0, wanted.boxes.shape[2]
    if nodes < 2:  # noqa: PLR2004
        raise ScenarioError("population.nodes", f"found interests of {nodes} nodes, expected 2 or more")
    if not published.points.shape[0]:
        raise ScenarioError("events.count", "found no events", hint="give some that the schema can read")
    for path, found, expected in (
        ("population.nodes", scenario.population.nodes, nodes),
        ("population.attributes", scenario.population.attributes, attributes),
        ("events.count", scenario.events.count, published.points.shape[0]),
    ):
        if found != expected:
            raise ScenarioError(path, f"found {found}, but {expected} are given", hint=f"{path}={expected}")
    for path, asked in (
        ("changes", len(scenario.changes)),
        ("publishers.count", scenario.publishers.count),
        ("publishers.nobody", scenario.publishers.nobody),
    ):
        if asked:
            raise ScenarioError(path, "cannot be drawn where interests are given", hint=f"leave {path.split('.')[0]} out")


@sweep
def _name_rows(seed: np.uint64, stride: np.uint64, ticks: int, phases: int, key: Keys, phase: Counts) -> None:
    for i in range(key.shape[0]):
        key[i] = np.uint64(i) * stride + draw(seed, np.uint64(i), 0, _KEY, 0) % stride
        phase[i] = below(draw(seed, key[i], 0, _PHASE, 0), phases) * ticks // phases


def _known(joins: Counts, leaves: Counts, place: Numbers, at: Numbers) -> tuple[Rows, Numbers]:
    """For the newcomers of each cycle the rows they may know; and where each newcomer's begin and end."""
    since = np.zeros((joins.shape[0], 2), np.int64)
    parts, size = [np.empty(0, np.int64)], 0
    for cycle in np.unique(joins[joins > 0]).tolist():
        alive = np.flatnonzero((joins < cycle) & (leaves > cycle))
        # In the order of places, which does not depend on keys.
        alive = at[np.sort(place[alive])]
        since[joins == cycle] = size, size + alive.shape[0]
        parts.append(alive)
        size += alive.shape[0]
    return np.concatenate(parts).astype(np.int32), since


@sweep
def _meet_all(seed: np.uint64, place: Numbers, joins: Counts, known: Rows, since: Numbers, at: Numbers, contact: Rows) -> None:
    for i in range(contact.shape[0]):
        bits = draw(seed, np.uint64(place[i]), 0, _CONTACT, 0)
        if joins[i] == 0:
            # Starters stand in a line; each knows one who stands before it, and the first the second.
            contact[i] = at[1 if place[i] == 0 else below(bits, place[i])]
        elif since[i, 1] == since[i, 0]:
            contact[i] = NONE
        else:
            contact[i] = known[since[i, 0] + below(bits, since[i, 1] - since[i, 0])]


@sweep
def _name_events(seed: np.uint64, key: Keys) -> None:
    for e in range(key.shape[0]):
        key[e] = draw(seed, np.uint64(e), 0, _EVENT, _NAME)


def _published(scenario: Scenario, seed: int, given: Published) -> Events:
    count, when = given.points.shape[0], scenario.events
    numbers = np.arange(count)
    cycle = np.full(count, NONE) if when.frozen else when.from_cycle + numbers // when.per_cycle
    key = np.empty(count, np.uint64)
    _name_events(np.uint64(seed), key)
    nobody_yet = np.full(count, NONE, np.int32)
    return Events(key, given.points, cycle.astype(np.int32), nobody_yet, given.matches)


def save(path: Path, wanted: Interests, published: Published) -> None:
    """Keep what was given, for others to run on."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            np.savez(file, *wanted, *published)
        partial.replace(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        partial.unlink(missing_ok=True)


def load(path: Path) -> tuple[Interests, Published]:
    """What was kept."""
    try:
        # Opened here: numpy does not close what it could not make sense of.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
            parts = [found[f"arr_{n}"] for n in range(len(Interests._fields) + len(Published._fields))]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{path}: cannot be read; truncated or not what it should be ({error})") from error
    size = len(Interests._fields)
    return Interests(*parts[:size]), Published(*parts[size:])
