"""How much memory a run will take, said before it is taken.

The estimate is made of the very arrays a world is made of: a small one of the same plan is laid out, its bytes are counted
and multiplied. What grows later (ring views, mail with any number of entries) is added from experience; so the answer is
right to a factor of two, which is enough to refuse what cannot end well.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from gossamer.errors import ScenarioError
from gossamer.scenario.population import NEVER, Population
from gossamer.scenario.scenario import Scenario
from gossamer.sim.world import World
from gossamer.system.plan import Plan

__all__ = ["Memory", "available", "estimate", "require", "said"]

_PROBE_ROWS: Final = 512
_BASE_BYTES: Final = 160 << 20
"""Python, numpy, numba and the compiled kernels."""
_RING_LINKS: Final = 64
"""Places a row's ring view takes in its arena: about 30 links, twice the room, and what is left behind in moving."""
_LINK_BYTES: Final = 4 + 2 + 8 + 1
_FLYING_ENTRIES: Final = 96
"""Ring entries in flight a row, while rings form."""
_ENTRY_BYTES: Final = 4 + 2
_MEMBER_BYTES: Final = 40
"""Of each subscriber in each event's ring: truth, targets, flags and what counting them takes for a moment."""
_MEMBERS_SHARE: Final = 0.02
"""Of all rows, how many want a test event; more in one attribute."""
_EVENT_BYTES: Final = 120


class Memory(NamedTuple):
    """Bytes a run takes, by what takes them."""

    program: int
    population: int
    layers: int
    mail: int
    measuring: int

    @property
    def total(self) -> int:
        """All of it."""
        return sum(self)


def estimate(scenario: Scenario, plan: Plan) -> Memory:
    """What a run of this scenario takes, at its most."""
    rows, attributes = _rows(scenario), scenario.population.attributes
    probe = World(scenario, plan, _people(_PROBE_ROWS, attributes), 0)
    state = sum(_bytes(part) for lane in probe.lanes.values() for part in lane.state) / _PROBE_ROWS
    sent = sum(_mail_bytes(layer.params) for layer in plan.layers)
    if "rings" in plan:
        state += _RING_LINKS * _LINK_BYTES
        sent += 2 * _FLYING_ENTRIES * _ENTRY_BYTES
    changed = sum(change.share for change in scenario.changes)
    # While it is drawn there are two copies of a population.
    person = 2 * (8 + 5 * 4 + 1 + 4) + 2 * 16 * attributes * (1 + changed)
    ring_share = {1: 0.15, 2: 0.05}.get(attributes, _MEMBERS_SHARE)
    events = scenario.events.count + 3 * scenario.publishers.nobody + scenario.publishers.count
    members = scenario.events.count * min(
        rows * (ring_share + scenario.population.wildcards + scenario.population.wide / 4), rows
    )
    return Memory(
        program=_BASE_BYTES,
        population=int(rows * person),
        layers=int(rows * (state + 16)),
        mail=int(rows * sent),
        measuring=int(members * _MEMBER_BYTES + events * _EVENT_BYTES * (1 + len(scenario.events.at))),
    )


def available() -> int | None:
    """Bytes that can be had on this machine now; None where it does not say."""
    found = [amount for ask in (_meminfo, _control_group) if (amount := ask()) is not None]
    if found:
        return min(found)
    if find_spec("psutil") is not None:
        return int(import_module("psutil").virtual_memory().available)
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def require(scenario: Scenario, plan: Plan, *, have: Callable[[], int | None] = available) -> Memory:
    """The estimate; a ScenarioError when the machine has less. Nothing has been taken then."""
    needs, there = estimate(scenario, plan), have()
    if there is not None and needs.total > there:
        problem = f"{_rows(scenario)} rows need about {said(needs.total)} of memory, this machine has {said(there)}"
        fewer = max(2, int(scenario.population.nodes * 0.8 * there / needs.total))
        hint = f"population.nodes={fewer}" if needs.measuring < needs.total // 2 else "fewer events: events.count"
        raise ScenarioError("population.nodes", problem, hint=hint)
    return needs


def said(amount: int) -> str:
    """An amount of memory for people."""
    units = ("bytes", "KiB", "MiB", "GiB", "TiB")
    value, step = float(amount), 0
    while value >= 1024 and step < len(units) - 1:  # noqa: PLR2004
        value, step = value / 1024, step + 1
    return f"{value:.3g} {units[step]}" if value < 100 else f"{value:.0f} {units[step]}"  # noqa: PLR2004


def _rows(scenario: Scenario) -> int:
    """Rows that will ever live, about."""
    nodes = float(scenario.population.nodes)
    churn, sessions = scenario.churn, scenario.sessions
    cycles = max(0, min(scenario.cycles, churn.to_cycle) - churn.from_cycle)
    newcomers = nodes * churn.rate * cycles
    if sessions.law != "none":
        newcomers += nodes * scenario.cycles / sessions.mean
    newcomers += sum(wave.count for wave in scenario.joins)
    return int((nodes + newcomers) * scenario.population.subscriptions)


def _people(rows: int, attributes: int) -> Population:
    """Rows without any properties, to lay a world out for."""
    everybody, none = np.arange(rows, dtype=np.int32), np.empty(0, np.int32)
    return Population(
        key=np.arange(rows, dtype=np.uint64),
        node=everybody,
        boxes=np.zeros((rows, 2, attributes), np.int64),
        owner=everybody,
        version=np.zeros(rows, np.uint32),
        scale=np.ones(attributes),
        joins=np.zeros(rows, np.int32),
        leaves=np.full(rows, NEVER, np.int32),
        silent=np.zeros(rows, np.bool_),
        contact=np.full(rows, -1, np.int32),
        phase=np.zeros(rows, np.int32),
        change_cycle=none,
        change_row=none,
        change_handle=none,
    )


def _bytes(state: Any) -> int:  # noqa: ANN401  (whatever record of arrays a layer keeps)
    if isinstance(state, np.ndarray):
        return state.nbytes
    return sum(_bytes(column) for column in state) if isinstance(state, tuple) else 0


def _mail_bytes(params: object) -> int:
    """What a row's messages of a fixed size take: one written, one in flight."""
    entries = int(getattr(params, "shuffle", 0))
    return 2 * (4 + 4 + 2 + 1 + 8 + _ENTRY_BYTES * entries) if entries else 0


def _meminfo() -> int | None:
    """What Linux says it could give out without swapping."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _control_group() -> int | None:
    """What a container may take beyond what it has."""
    folder = Path("/sys/fs/cgroup")
    try:
        most, taken = ((folder / name).read_text(encoding="ascii").strip() for name in ("memory.max", "memory.current"))
        return None if most == "max" else int(most) - int(taken)
    except (OSError, ValueError):
        return None
