"""Machines to try: one alone with a few rows, and one that has lived among others for a while."""

from __future__ import annotations

from functools import cache
from typing import Final

from gossamer.node.benches import Bench
from gossamer.node.door import Action, Address, Box, Descriptor, Event, Frame, Send, Subscribe
from gossamer.node.machine import Machine
from gossamer.node.wired import benches
from gossamer.node.world import World
from gossamer.protocol.view import ASK
from gossamer.scenario.population import population
from gossamer.scenario.scenario import EventSettings, PopulationSettings, Scenario
from gossamer.system import gossamer
from gossamer.system.plan import Plan

__all__ = ["ATTRIBUTES", "HERE", "PLAN", "TICKS", "ask", "box", "frames", "lived", "machine", "peer", "settled"]

ATTRIBUTES: Final = 2
TICKS: Final = 2
HERE: Final[Address] = "here"
PLAN: Final[Plan] = gossamer.plan()


@cache
def _shared() -> tuple[Bench, ...]:
    return benches(PLAN, ATTRIBUTES)


def box(low: int = 0, high: int = 10) -> Box:
    """A box with the same sides in all attributes."""
    return (low,) * ATTRIBUTES, (high,) * ATTRIBUTES


def peer(key: int, version: int = 0, where: Box | None = None) -> Descriptor:
    """Somebody elsewhere."""
    return Descriptor(key, version, where or box(), f"elsewhere-{key}")


def machine(*rows: int) -> Machine:
    """A machine with these rows, all of which want the same and know nobody."""
    it = Machine(PLAN, address=HERE, scale=(0.1,) * ATTRIBUTES, seed=1, ticks=TICKS, shared=_shared())
    for row in rows:
        it.handle(Subscribe(row, box()), 0)
    return it


def ask(layer: str, sender: Descriptor, to: int, *who: Descriptor, cycle: int = 0) -> Frame:
    """A request with these entries."""
    return Frame(layer, ASK, sender, to, cycle, who, (cycle,) * len(who))


def frames(actions: list[Action], layer: str = "") -> list[Frame]:
    """What is to be sent, of a layer or of all."""
    return [it.frame for it in actions if isinstance(it, Send) and layer in ("", it.frame.layer)]


def settled(cycles: int, nodes: int = 24) -> World:
    """A world of machines that have gossiped for a while; the first of its events has been published in its second cycle."""
    scenario = Scenario(
        system="gossamer",
        form="better",
        cycles=cycles,
        population=PopulationSettings(nodes=nodes, attributes=ATTRIBUTES, wildcards=0.5),
        events=EventSettings(count=0),
    )
    people = population(scenario, 1)
    world = World(scenario, PLAN, people, 1)
    for cycle in range(cycles):
        if cycle == 1:
            low, _ = people.boxes[0].tolist()
            world.publish(0, Event(7, tuple(low), b"told early"))
        world.run_cycle()
    return world


def lived(cycles: int = 6) -> tuple[Machine, int, list[Frame], int]:
    """A machine of such a world, its row's key, the mail that is due to it next, and the tick in which it is."""
    world = settled(cycles)
    address = max(world.machines, key=lambda it: len(world.machines[it].peers))
    it = world.machines[address]
    key = next(iter(it.rows))
    inbox, _ = world._arrivals()
    return it, key, inbox[address], world.tick
