"""Which bench makes the moves of a layer of that name: a machine's side of every wiring table."""

from __future__ import annotations

from gossamer.node.benches import Bench, CyclonBench, FingersBench, RingsBench, VicinityBench
from gossamer.node.mending import AliveBench, RepairBench
from gossamer.node.spreading import SpreadBench
from gossamer.system.plan import Plan

__all__ = ["BENCHES", "benches"]

BENCHES: dict[str, type[Bench]] = {
    "alive": AliveBench,
    "cyclon": CyclonBench,
    "fingers": FingersBench,
    "repair": RepairBench,
    "rings": RingsBench,
    "spread": SpreadBench,
    "vicinity": VicinityBench,
}


def benches(plan: Plan, attributes: int) -> tuple[Bench, ...]:
    """A set of benches for a system, in the order of its layers."""
    return tuple(BENCHES[layer.name](layer, number, attributes) for number, layer in enumerate(plan.layers))
