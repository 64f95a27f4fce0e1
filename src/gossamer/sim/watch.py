"""Looking at a world between its cycles, and writing down what is seen. Nothing in it changes by being looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from gossamer.measure import ring
from gossamer.scenario.workload import Events
from gossamer.sim.world import World
from gossamer.trace.columns import Trace
from gossamer.truth import judge

__all__ = ["HEADER_BYTES", "Watch", "entry_bytes", "views", "write_exchanges", "write_links"]

HEADER_BYTES: Final = 16
"""Of a message: its kind, its sender's key and a number. What frames and encryption add is the network's affair."""


def entry_bytes(attributes: int) -> int:
    """Of an entry as it would travel: key, version, cycle of birth, and the box."""
    return 8 + 4 + 2 + 2 * 8 * attributes


def views(world: World) -> ring.Views:
    """All ring views, in order, ready to be judged."""
    states = world.lanes["rings"].state
    ends = np.cumsum([0] + [state.handles.shape[0] for state in states])
    return ring.arrange(
        np.concatenate([state.start + end for state, end in zip(states, ends, strict=False)]),
        np.concatenate([state.size for state in states]),
        np.concatenate([state.handles for state in states]),
        world.book,
        world.span[0],
    )


class Watch:
    """Keeps the truth about some events up to date, and judges the world by it."""

    def __init__(self, world: World, events: Events, *, threads: int = 1) -> None:
        self.world, self.events, self.threads = world, events, threads
        self.rings = judge.Rings(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))
        self.targets = ring.targets(self.rings.offsets, self.rings.rows, world.rows)
        self._sent: dict[str, dict[str, int]] = {}
        self.start_counting()

    def start_counting(self) -> None:
        """Count messages from here on."""
        self._sent = {name: dict(lane.sent) for name, lane in self.world.lanes.items()}

    def learn(self) -> None:
        """Find out who wants what, after a cycle has begun that changed it."""
        self.rings = judge.rings(self.world.people, self.events.points, self.world.cycle, threads=self.threads)
        self.targets = ring.targets(self.rings.offsets, self.rings.rows, self.world.rows)

    def judge(self) -> ring.Judged:
        """How much of the rings is in place."""
        return ring.judge(views(self.world), self.events.points, self.targets, threads=self.threads)

    def links(self, trace: Trace) -> tuple[float, float] | None:
        """Write down what is in place now: the shares of links and of rings; None where there is nothing to judge by."""
        if "rings" not in self.world.lanes or not self.events.key.shape[0]:
            return None
        return write_links(trace, self.world.cycle, self.judge())

    def exchanges(self, trace: Trace, cycle: int) -> int:
        """Write down what each layer has sent since it was asked last; the messages of all."""
        found: dict[str, dict[str, int]] = {}
        for name, lane in self.world.lanes.items():
            found[name] = {what: lane.sent[what] - self._sent[name][what] for what in lane.sent}
            self._sent[name] = dict(lane.sent)
        return write_exchanges(trace, cycle, found, self.events.points.shape[1])


def write_links(trace: Trace, cycle: int, judged: ring.Judged) -> tuple[float, float]:
    """Write down how much of the rings was in place as a cycle began; the shares of links and of rings."""
    real = judged.wanted > 0
    trace["links"].append(
        cycle=cycle,
        links_right=judged.right.sum(),
        links_wanted=judged.wanted.sum(dtype=np.int64),
        rings_complete=(judged.right == judged.wanted)[real].sum(),
        rings_wanted=real.sum(),
    )
    return ring.links_in_place(judged), ring.rings_complete(judged)


def write_exchanges(trace: Trace, cycle: int, sent: Mapping[str, Mapping[str, int]], attributes: int) -> int:
    """Write down what each layer has sent in a cycle; the messages of all."""
    of_entry = entry_bytes(attributes)
    for name, of_lane in sent.items():
        trace["exchanges"].append(
            cycle=cycle,
            protocol=name,
            messages=of_lane["messages"],
            entries=of_lane["entries"],
            bytes=of_lane["messages"] * HEADER_BYTES + of_lane["entries"] * of_entry,
            failed=of_lane["failed"],
        )
    return sum(of_lane["messages"] for of_lane in sent.values())
