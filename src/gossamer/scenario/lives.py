"""Who is there when: births and deaths of all nodes that will ever live in a run.

Crashes, churn, sessions and join waves are decided before anything runs, from the seed alone, so every driver meets the
same nodes at the same moments. Nodes are numbered by birth: the starters first, then newcomers in the order they come.

Within a cycle: sessions end, churn takes its share, crashes theirs, then newcomers come. A node born in cycle b and dead in
cycle d is alive in the cycles b <= c < d; it acts first in b and is gone when d begins.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gossamer.arrays import Counts, Keys, Mask, Numbers
from gossamer.draws import Purpose, draw, uniform
from gossamer.errors import ScenarioError
from gossamer.jit import sweep
from gossamer.scenario.laws import MEAN, quantile, session_table, threshold
from gossamer.scenario.scenario import Scenario

__all__ = ["NEVER", "Lives", "chosen", "draw_each", "live"]

NEVER: Final = (1 << 31) - 1
"""The cycle in which those die who do not."""

Item = TypeVar("Item", bound=np.generic)

_MOST_NODES = 1 << 28
_SESSION = Purpose.SESSION


class Lives(NamedTuple):
    """Births and deaths, by node."""

    born: Counts
    """(T,) int32: cycle of birth, rising; 0 for those there from the start."""
    dies: Counts
    """(T,) int32: cycle of death, NEVER for those who stay."""
    silent: Mask
    """(T,) bool: whether it falls silent instead of resetting its links."""


@sweep
def draw_each(seed: np.uint64, numbers: Numbers, cycle: int, purpose: int, n: int, out: Keys, start: int, stop: int) -> None:
    """A draw for each of these numbers."""
    for i in range(start, stop):
        out[i] = draw(seed, np.uint64(numbers[i]), cycle, purpose, n)


@sweep
def _session_each(seed: np.uint64, table: Numbers, first: int, starters: int, mean: float, out: Numbers) -> None:
    """Whole cycles each newcomer stays, at least one; a starter only a uniform part of them."""
    for i in range(out.shape[0]):
        key = np.uint64(first + i)
        length = float(quantile(table, draw(seed, key, 0, _SESSION, 0))) * mean
        if first + i < starters:
            length *= uniform(draw(seed, key, 0, _SESSION, 1))
        out[i] = np.int64(max(length + 0.5, 1.0))


def chosen(bits: Keys, count: int) -> NDArray[np.intp]:
    """Positions of the lowest draws, in order: so many of them, whatever the draws."""
    if count >= bits.shape[0]:
        return np.arange(bits.shape[0])
    if count <= 0:
        return np.empty(0, dtype=np.intp)
    return np.sort(np.argpartition(bits, count - 1)[:count])


def _grown(column: NDArray[Item], room: int) -> NDArray[Item]:
    out = np.empty(room, dtype=column.dtype)
    out[: column.shape[0]] = column
    return out


class _Town:
    """The register while it is written."""

    def __init__(self, scenario: Scenario, seed: np.uint64) -> None:
        self.scenario, self.seed = scenario, seed
        self.starters = scenario.population.nodes
        self.count = 0
        self.born = np.empty(0, dtype=np.int32)
        self.dies = np.empty(0, dtype=np.int32)
        self.ends = np.empty(0, dtype=np.int64)
        self.silent = np.empty(0, dtype=np.bool_)

    def come(self, count: int, cycle: int) -> None:
        """Newcomers; a starter comes in cycle 0."""
        first, self.count = self.count, self.count + count
        if self.count > _MOST_NODES:
            raise ScenarioError("churn", f"{self.count} nodes would live in this run, more than {_MOST_NODES}")
        if self.count > self.born.shape[0]:
            room = max(self.count, self.born.shape[0] * 3 // 2)
            self.born, self.dies = _grown(self.born, room), _grown(self.dies, room)
            self.ends, self.silent = _grown(self.ends, room), _grown(self.silent, room)
        self.born[first : self.count] = cycle
        self.dies[first : self.count] = NEVER
        self.silent[first : self.count] = False
        self.ends[first : self.count] = NEVER
        sessions = self.scenario.sessions
        if sessions.law != "none":
            stays = np.empty(count, dtype=np.int64)
            _session_each(self.seed, session_table(sessions.law), first, self.starters, sessions.mean / MEAN, stays)
            self.ends[first : self.count] = cycle + stays

    def alive(self, cycle: int) -> NDArray[np.intp]:
        """Nodes not dead when the cycle begins."""
        return np.flatnonzero(self.dies[: self.count] > cycle)

    def draws(self, nodes: NDArray[np.intp], cycle: int, purpose: int, n: int) -> Keys:
        """One draw a node."""
        out = np.empty(nodes.shape[0], dtype=np.uint64)
        draw_each(self.seed, nodes.astype(np.int64), cycle, purpose, n, out, 0, out.shape[0])
        return out

    def go(self, nodes: NDArray[np.intp], cycle: int, silent: float) -> None:
        """Deaths in this cycle."""
        self.dies[nodes] = cycle
        if silent > 0:
            self.silent[nodes] = self.draws(nodes, cycle, Purpose.SILENCE, 0) < threshold(silent)


def live(scenario: Scenario, seed: int) -> Lives:
    """All births and deaths of a run."""
    town = _Town(scenario, np.uint64(seed))
    town.come(scenario.population.nodes, 0)
    churn, sessions = scenario.churn, scenario.sessions
    owed = 0.0
    for cycle in range(1, scenario.cycles + 1):
        newcomers = 0
        if sessions.law != "none":
            ended = np.flatnonzero((town.ends[: town.count] <= cycle) & (town.dies[: town.count] > cycle))
            town.go(ended, cycle, sessions.silent)
            newcomers += ended.shape[0]
        if churn.rate > 0 and churn.from_cycle <= cycle < churn.to_cycle:
            alive = town.alive(cycle)
            owed += churn.rate * alive.shape[0]
            leaving = alive[chosen(town.draws(alive, cycle, Purpose.CHURN, 0), int(owed))]
            owed -= int(owed)
            town.go(leaving, cycle, churn.silent)
            newcomers += leaving.shape[0]
        for n, crash in enumerate(scenario.crashes):
            if crash.cycle == cycle:
                alive = town.alive(cycle)
                count = round(crash.share * alive.shape[0])
                town.go(alive[chosen(town.draws(alive, cycle, Purpose.CRASH, n), count)], cycle, crash.silent)
        newcomers += sum(wave.count for wave in scenario.joins if wave.cycle == cycle)
        if newcomers:
            town.come(newcomers, cycle)
    return Lives(town.born[: town.count], town.dies[: town.count], town.silent[: town.count])
