"""Which lane runs a layer of that name: the simulator's side of every wiring table."""

from __future__ import annotations

from gossamer.sim.lanes import CyclonLane, Lane, RingsLane, VicinityLane
from gossamer.sim.mending import AliveLane, RepairLane
from gossamer.sim.spreading import FingersLane, SpreadLane

__all__ = ["LANES"]

LANES: dict[str, type[Lane]] = {
    "alive": AliveLane,
    "cyclon": CyclonLane,
    "fingers": FingersLane,
    "repair": RepairLane,
    "rings": RingsLane,
    "spread": SpreadLane,
    "vicinity": VicinityLane,
}
