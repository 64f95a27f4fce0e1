"""The worlds that benchmarks run: one population, some layers of a system, one seed."""

from __future__ import annotations

from dataclasses import replace

from gossamer.scenario.population import population
from gossamer.scenario.scenario import EventSettings, PopulationSettings, Scenario
from gossamer.sim.world import World
from gossamer.system.catalogue import plan

__all__ = ["run", "scenario", "world"]


def scenario(nodes: int, attributes: int = 3, events: int = 0) -> Scenario:
    """So many nodes that want boxes of power laws, all there from the start."""
    return Scenario(
        population=PopulationSettings(nodes=nodes, attributes=attributes),
        events=EventSettings(count=events),
        cycles=1,
    )


def world(
    wanted: Scenario, system: str, form: str, seed: int, *, layers: tuple[str, ...] = (), blocks: int = 1, threads: int = 1
) -> World:
    """A world in which a system begins, or only some of its layers."""
    whole = plan(system, form, {})
    some = replace(whole, layers=tuple(layer for layer in whole.layers if not layers or layer.name in layers))
    return World(wanted, some, population(wanted, seed), seed, blocks=blocks, threads=threads)


def run(it: World, cycles: int) -> None:
    """Let so many cycles happen."""
    for _ in range(cycles):
        it.run_cycle()
