"""Publish/subscribe without a broker: whoever wants alike finds each other by gossip, and events pass among them alone.

The public names and nothing else. Rooms that need numba, numpy, pyarrow or sqlglot load when one of their names is first
used, so ``import gossamer`` is quick and says nothing about what is installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from gossamer.errors import (
    CallerError,
    ClosedError,
    DataError,
    GossamerError,
    InterestError,
    MissingExtraError,
    PeerError,
    ScenarioError,
)

if TYPE_CHECKING:
    from gossamer.interest.predicate import Filter
    from gossamer.interest.schema import Bool, Datetime, Enum, Float, Grid, Int, Schema, String

__all__ = [
    "Bool",
    "CallerError",
    "ClosedError",
    "DataError",
    "Datetime",
    "Enum",
    "Filter",
    "Float",
    "GossamerError",
    "Grid",
    "Int",
    "InterestError",
    "MissingExtraError",
    "PeerError",
    "ScenarioError",
    "Schema",
    "String",
    "__version__",
]

__version__ = "0.1.0"

_ROOMS: Final = {
    **dict.fromkeys(("Bool", "Datetime", "Enum", "Float", "Grid", "Int", "Schema", "String"), "gossamer.interest.schema"),
    "Filter": "gossamer.interest.predicate",
}
"""Public name -> the module it lives in, for every name that is not above."""


def __getattr__(name: str) -> object:
    """Load the room of a public name on first use (PEP 562)."""
    if name not in _ROOMS:
        problem = f"module 'gossamer' has no attribute {name!r}"
        raise AttributeError(problem)
    value: object = getattr(import_module(_ROOMS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Every public name, loaded or not."""
    return sorted({*globals(), *_ROOMS})
