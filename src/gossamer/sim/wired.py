"""Which lane runs a layer of that name: the simulator's side of every wiring table."""

from __future__ import annotations

from gossamer.sim.lanes import CyclonLane, Lane, RingsLane, VicinityLane
from gossamer.sim.spreading import FingersLane, SpreadLane

__all__ = ["LANES"]

LANES: dict[str, type[Lane]] = {
    "cyclon": CyclonLane,
    "fingers": FingersLane,
    "rings": RingsLane,
    "spread": SpreadLane,
    "vicinity": VicinityLane,
}
