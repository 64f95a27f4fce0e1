"""What a system is: layers in order, what each reads of the others, and which message meets which move.

The order of the layers is the order of a tick: for each layer its mail, then its timers. Upper layers stand first, so each
sees the views below it as they were at the start of the tick. Drivers walk this table; they hold no ``if system ==``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

from gossamer.errors import ScenarioError

__all__ = ["EVENT", "EXCHANGE", "Layer", "Plan", "override"]

EXCHANGE: Mapping[str, str] = MappingProxyType({"ask": "reply", "answer": "merge", "bounce": "drop"})
"""The messages of a protocol of exchanges, and the moves they meet."""
EVENT: Mapping[str, str] = MappingProxyType(
    {"copy": "forward", "arc": "cover", "close": "answer_close", "hint": "follow_hint", "seek": "go_on", "bounce": "bounced"}
)
"""The messages about events, and the moves they meet."""


@dataclass(frozen=True, kw_only=True)
class Layer:
    """One protocol as a system uses it."""

    name: str
    """The protocol's module in ``gossamer.protocol``."""
    params: Any
    """Its Params."""
    reads: tuple[str, ...] = ()
    """The layers whose views its moves look at."""
    timer: str = "request"
    """The move a timer makes, once a cycle; empty for none."""
    mail: Mapping[str, str] = field(default_factory=lambda: EXCHANGE)
    """Which message meets which move."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A system, ready for a driver."""

    name: str
    form: str
    layers: tuple[Layer, ...]

    def __getitem__(self, name: str) -> Layer:
        """The layer of that name."""
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise KeyError(name)

    def __contains__(self, name: str) -> bool:
        """Whether the system has such a layer."""
        return any(layer.name == name for layer in self.layers)


def override(plan: Plan, changes: Mapping[str, Mapping[str, Any]]) -> Plan:
    """The same system with some settings changed: protocol -> field -> value."""
    for name, table in changes.items():
        if name not in plan:
            known = ", ".join(layer.name for layer in plan.layers)
            raise ScenarioError(f"params.{name}", f"{plan.name} has no such layer", hint=f"it has {known}")
        known_fields = [it.name for it in fields(plan[name].params)]
        for key in table:
            if key not in known_fields:
                hint = "known are " + ", ".join(known_fields)
                raise ScenarioError(f"params.{name}.{key}", f"{name} has no such setting", hint=hint)
    layers = []
    for layer in plan.layers:
        table = changes.get(layer.name, {})
        try:
            layers.append(replace(layer, params=replace(layer.params, **table)))
        except (TypeError, ValueError) as wrong:
            raise ScenarioError(f"params.{layer.name}", str(wrong)) from wrong
    return replace(plan, layers=tuple(layers))
