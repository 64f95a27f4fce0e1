"""Compiling everything once: a tiny world of each system, run through all that a run can do.

``python -m gossamer.jit`` calls this by name, for the room it lives in is below. What is compiled stays in the cache, and
nobody waits for it later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from gossamer.scenario import scenario as settings
from gossamer.scenario.population import population
from gossamer.scenario.scenario import Scenario
from gossamer.sim.part import hand_out, part
from gossamer.sim.run import run
from gossamer.system.catalogue import SYSTEMS, plan
from gossamer.truth import judge

__all__ = ["scenarios", "warm"]

_ROWS, _CYCLES = 64, 6
_MANY = 1500
"""Boxes and points enough for the truth to use its grid."""


def scenarios() -> Iterator[Scenario]:
    """Small worlds in which everything happens that a scenario can ask for, in every system."""
    for system in SYSTEMS:
        calm = Scenario(
            name=f"{system}, still",
            system=system,
            form="better",
            cycles=_CYCLES,
            population=settings.PopulationSettings(nodes=_ROWS, attributes=2),
            events=settings.EventSettings(count=8),
            rejoins=settings.RejoinSettings(count=1, from_cycle=_CYCLES, limit_cycles=2),
            publishers=settings.PublisherSettings(count=2, nobody=2, from_cycle=_CYCLES),
        )
        yield calm
        yield replace(
            calm,
            name=f"{system}, in turmoil",
            events=settings.EventSettings(count=8, frozen=False, per_cycle=4),
            rejoins=settings.RejoinSettings(),
            churn=settings.ChurnSettings(rate=0.05),
            changes=(settings.ChangeSettings(share=0.2, cycle=3),),
            partitions=(settings.PartitionSettings(share=0.3, from_cycle=2, to_cycle=4),),
            loss=settings.LossSettings(probability=0.05),
            timers=settings.TimerSettings(ticks=8, phases=8),
            latency=settings.LatencySettings(low=1, high=3),
            sessions=settings.SessionSettings(law="exponential", mean=20.0),
        )


def warm(say: Callable[[str], None]) -> None:
    """Compile every kernel that a run needs, telling what is under way."""
    say("compiling: the truth")
    many = np.zeros((_MANY, 2, 2), np.int64), np.zeros(_MANY, np.uint64), np.zeros((_MANY, 2), np.int64)
    judge.count(*many)
    judge.pairs(many[0], many[2][:1])
    todo = list(scenarios())
    for n, scenario in enumerate(todo):
        say(f"compiling: {scenario.name} ({n + 1} of {len(todo)})")
        run(scenario, 1)
    say("compiling: mail between parts of a world")
    parts(todo[0])


def parts(scenario: Scenario) -> None:
    """Let one half of a world write to the other."""
    half = part(scenario, plan(scenario.system, scenario.form, {}), population(scenario, 1), 1, 2, 0)
    half.run_tick()
    hand_out(half, 2)
