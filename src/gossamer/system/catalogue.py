"""Which systems there are, by the name a scenario calls them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from gossamer.errors import ScenarioError
from gossamer.system import gossamer, sub2sub
from gossamer.system.plan import Plan, override

__all__ = ["SYSTEMS", "plan"]

SYSTEMS: Final[Mapping[str, Callable[[str], Plan]]] = {"gossamer": gossamer.plan, "sub2sub": sub2sub.plan}


def plan(system: str, form: str, params: Mapping[str, Mapping[str, Any]]) -> Plan:
    """The wiring table of a system in one of its forms, with some settings changed."""
    if system not in SYSTEMS:
        raise ScenarioError("system", f"found {system!r}", hint="expected one of " + ", ".join(sorted(SYSTEMS)))
    return override(SYSTEMS[system](form), params)
