"""What a world is made of: frozen settings, each with its meaning, its bounds and the origin of its default.

Which fields exist and what they may hold is written once, here; ``toml`` reads files against it, writes them from it and
checks them by it. A scenario is checked whole when it is made, wherever it comes from, so one that exists is a good one.

Cycle c begins when c cycles of gossip are done. What is dated c happens then, in this order: births and deaths, changed
subscriptions, partitions, events, and only then gossip. So a crash and events of one date show the harm before any mending,
and what is dated ``cycles`` happens after the last one.

The surprising thing: the seed is not part of what a scenario *is*. ``seeds`` lists those to run it with; the digest, which
names a configuration in a run's folder, leaves them and the name out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from gossamer.errors import ScenarioError

__all__ = [
    "ChangeSettings",
    "ChurnSettings",
    "CrashSettings",
    "EventSettings",
    "JoinSettings",
    "LatencySettings",
    "LossSettings",
    "PartitionSettings",
    "PopulationSettings",
    "PublisherSettings",
    "RejoinSettings",
    "Scenario",
    "SessionSettings",
    "TimerSettings",
]

LAST_CYCLE = 1 << 30
Override = bool | int | float | str
Field = Any
"""A field with its bounds: of the type the annotation beside it says, as ``dataclasses.field`` has it too."""


def _number(default: float | None, low: float, high: float) -> Field:
    bounds = {"low": low, "high": high}
    return field(metadata=bounds) if default is None else field(default=default, metadata=bounds)


def _share(default: float | None = 0.0) -> Field:
    return _number(default, 0.0, 1.0)


def _cycle(default: int | None = 0) -> Field:
    return _number(default, 0, LAST_CYCLE)


def _choice(default: str, *choices: str) -> Field:
    return field(default=default, metadata={"choices": choices})


@dataclass(frozen=True, kw_only=True, slots=True)
class PopulationSettings:
    """Who lives in the world and what they want."""

    nodes: int = _number(10_000, 2, 1 << 28)
    """Nodes there from the start. From Sub-2-Sub (section 5)."""
    attributes: int = _number(3, 1, 16)
    """Attributes of an event, each in [0, 1]."""
    centre: tuple[str, ...] = field(default=("power",), metadata={"choices": ("uniform", "power")})
    """Where the boxes' centres lie, per attribute; one law stands for all attributes."""
    centre_knee: float = _number(0.015, 1e-6, 10.0)
    """Distance from the middle at which the power law of centres bends. Fitted to the paper's ring lengths."""
    width: str = _choice("power", "power", "uniform", "fixed")
    """How wide the boxes are, in every attribute."""
    width_knee: float = _number(0.2, 1e-6, 10.0)
    """Width at which the power law bends. Fitted to the paper's ring lengths."""
    width_exponent: float = _number(4.0, 1.5, 20.0)
    """Exponent of the power law of widths. From the paper (alpha = 4)."""
    width_limit: float = _share(0.1)
    """The width itself when fixed, the largest when uniform."""
    subscriptions: int = _number(1, 1, 16)
    """Subscriptions of each node, every one a row with a place of its own."""
    wildcards: float = _share()
    """Share of subscriptions that want everything."""
    wildcards_per_attribute: float = _share()
    """Probability that a subscription does not ask about an attribute, for each alone."""
    wide: float = _share()
    """Share of subscriptions that are wide in every attribute."""
    wide_width: float = _share(0.5)
    """Width of the wide ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EventSettings:
    """What is published, and when."""

    count: int = _number(10_000, 0, 1 << 24)
    """Events. From the paper."""
    minimum_matches: int = _number(2, 1, 1 << 20)
    """Subscribers each event has at least among the starters. From the paper."""
    frozen: bool = True
    """Whether gossip stands still while an event spreads, as in the paper's figures."""
    at: tuple[int, ...] = field(default=(), metadata={"low": 0, "high": LAST_CYCLE})
    """Frozen: the cycles at which all events spread, each time anew; none means after the last."""
    from_cycle: int = _cycle(1)
    """Together with gossip: the cycle of the first event."""
    per_cycle: int = _number(100, 1, 1 << 24)
    """Together with gossip: events a cycle."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TimerSettings:
    """How time is cut."""

    ticks: int = _number(2, 1, 1 << 20)
    """Ticks in a cycle. Two are an exchange in lockstep: the request arrives at the first, the reply at the second."""
    phases: int = _number(1, 1, 1 << 20)
    """Different offsets of the rows' timers within a cycle; with one, all rows act at once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LatencySettings:
    """How long a message travels: fixed for each ordered pair of rows, uniform between the two bounds."""

    low: int = _number(1, 1, 1 << 20)
    """Least delay in ticks."""
    high: int = _number(1, 1, 1 << 20)
    """Greatest delay in ticks."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LossSettings:
    """What gets lost on the way."""

    probability: float = _share()
    """Of each message, alone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChurnSettings:
    """Nodes replaced by newcomers, cycle by cycle."""

    rate: float = _share()
    """Share of the nodes alive replaced in each cycle."""
    from_cycle: int = _cycle(1)
    """First cycle of it."""
    to_cycle: int = _cycle(LAST_CYCLE)
    """When it stops: the first cycle without it."""
    silent: float = _share()
    """Share of those leaving that fall silent instead of resetting their links."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CrashSettings:
    """Many nodes gone at once."""

    share: float = _share(None)
    """Of the nodes alive."""
    cycle: int = _cycle(None)
    """When they are gone."""
    silent: float = _share()
    """Share of them that fall silent instead of resetting their links."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JoinSettings:
    """Many nodes new at once."""

    count: int = _number(None, 1, 1 << 28)
    """Newcomers."""
    cycle: int = _cycle(None)
    """When they come."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionSettings:
    """Nodes that stay for a time; when one leaves, another takes its place."""

    law: str = _choice("none", "none", "exponential", "pareto", "constant")
    """How long they stay. Starters are met within theirs: a uniform share of it is left."""
    mean: float = _number(100.0, 1.0, 1e6)
    """Cycles, on average."""
    silent: float = _share()
    """Share of them that leave in silence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RejoinSettings:
    """Subscribers taken out of a converged overlay to join again, one at a time (the paper's single joins)."""

    count: int = _number(0, 0, 1 << 28)
    """How many, sampled; 0 for none."""
    everybody: bool = False
    """Each in turn, as the paper did, instead of a sample."""
    from_cycle: int = _cycle(40)
    """When the first is taken out."""
    limit_cycles: int = _number(60, 1, 10_000)
    """Cycles until one is given up and counted as not joined."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PublisherSettings:
    """Publishers that must find a first subscriber."""

    count: int = _number(0, 0, 1 << 24)
    """Publishers of events with at least the minimum of matches, each starting from one random row."""
    nobody: int = _number(0, 0, 1 << 24)
    """Publishers of events with exactly 0, 1 and 2 matches: so many of each, fewer where the world holds fewer."""
    from_cycle: int = _cycle(40)
    """When they start."""
    limit_cycles: int = _number(20, 1, 10_000)
    """Cycles until one says that nobody wants its event. From the paper ("in the order of 10 or 20")."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeSettings:
    """Subscriptions changed at once: a new box, the next version of the descriptor."""

    share: float = _share(None)
    """Of the rows alive."""
    cycle: int = _cycle(None)
    """When they change."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PartitionSettings:
    """A part of the nodes that cannot talk with the others for a time."""

    share: float = _share(None)
    """Of the nodes: the smaller side."""
    from_cycle: int = _cycle(None)
    """First cycle of it."""
    to_cycle: int = _cycle(None)
    """When it heals."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """One world and one system in it."""

    name: str = "unnamed"
    """What tables and figures call it."""
    seeds: tuple[int, ...] = field(default=(1,), metadata={"low": 0, "high": (1 << 63) - 1})
    """Runs: one a seed."""
    system: str = "sub2sub"
    """The wiring table."""
    form: str = _choice("faithful", "faithful", "better")
    """The paper's rules, or the ones that do best."""
    cycles: int = _number(40, 1, 1 << 20)
    """How long it runs."""
    population: PopulationSettings = field(default_factory=PopulationSettings)
    events: EventSettings = field(default_factory=EventSettings)
    timers: TimerSettings = field(default_factory=TimerSettings)
    latency: LatencySettings = field(default_factory=LatencySettings)
    loss: LossSettings = field(default_factory=LossSettings)
    churn: ChurnSettings = field(default_factory=ChurnSettings)
    crashes: tuple[CrashSettings, ...] = ()
    joins: tuple[JoinSettings, ...] = ()
    sessions: SessionSettings = field(default_factory=SessionSettings)
    rejoins: RejoinSettings = field(default_factory=RejoinSettings)
    publishers: PublisherSettings = field(default_factory=PublisherSettings)
    changes: tuple[ChangeSettings, ...] = ()
    partitions: tuple[PartitionSettings, ...] = ()
    params: Mapping[str, Mapping[str, Override]] = field(default_factory=dict)
    """Per protocol, the fields of its Params that differ from the form's; checked by the system."""

    def __post_init__(self) -> None:
        """Refuse a world that cannot be, naming the setting."""
        _check_values(self, "")
        _check_params(self.params)
        _check_together(self)

    @property
    def centres(self) -> tuple[str, ...]:
        """The law of centres of each attribute."""
        laws, attributes = self.population.centre, self.population.attributes
        return laws * attributes if len(laws) == 1 else laws


def _check_values(settings: Field, prefix: str) -> None:
    for entry in fields(settings):
        value, path = getattr(settings, entry.name), prefix + entry.name
        if is_dataclass(value):
            _check_values(value, path + ".")
        elif isinstance(value, tuple):
            for i, item in enumerate(value):
                if is_dataclass(item):
                    _check_values(item, f"{path}.{i}.")
                else:
                    _check_value(item, str(entry.type), entry.metadata, f"{path}.{i}")
        elif not isinstance(value, Mapping):
            _check_value(value, str(entry.type), entry.metadata, path)


_KINDS: dict[str, tuple[str, tuple[type, ...]]] = {
    "bool": ("true or false", (bool,)),
    "int": ("a whole number", (int,)),
    "float": ("a number", (int, float)),
    "str": ("a text", (str,)),
}


def _check_value(value: object, kind: str, metadata: Mapping[str, Any], path: str) -> None:
    if kind.startswith("tuple["):
        kind = kind.removeprefix("tuple[").split(",")[0]
    if kind not in _KINDS:
        raise ScenarioError(path, f"found {value!r}, expected a table of settings")
    expected, types = _KINDS[kind]
    if not isinstance(value, types) or (isinstance(value, bool) and kind != "bool"):
        raise ScenarioError(path, f"found {value!r}, expected {expected}")
    if "choices" in metadata and value not in metadata["choices"]:
        raise ScenarioError(path, f"found {value!r}", hint="expected one of " + ", ".join(metadata["choices"]))
    if "low" in metadata and not metadata["low"] <= value <= metadata["high"]:
        raise ScenarioError(path, f"found {value!r}, expected {metadata['low']} to {metadata['high']}")


def _check_params(params: object) -> None:
    if not isinstance(params, Mapping):
        raise ScenarioError("params", f"found {params!r}, expected a table: params.<protocol>.<field> = value")
    for protocol, table in params.items():
        if not isinstance(table, Mapping):
            hint = f"params.<protocol>.{protocol} = {table!r}"
            raise ScenarioError(f"params.{protocol}", f"found {table!r}, expected a table", hint=hint)
        for name, value in table.items():
            if not isinstance(value, bool | int | float | str):
                raise ScenarioError(f"params.{protocol}.{name}", f"found {value!r}, expected a number, a text or true or false")


def _check_together(it: Scenario) -> None:
    """What no field can tell alone."""
    if not it.seeds:
        raise ScenarioError("seeds", "found none, expected at least one", hint="seeds = [1]")
    if len(it.population.centre) not in (1, it.population.attributes):
        found, wanted = len(it.population.centre), it.population.attributes
        raise ScenarioError("population.centre", f"found {found} laws, expected 1 or one for each of {wanted} attributes")
    if it.latency.low > it.latency.high:
        problem = f"found {it.latency.low}, above latency.high = {it.latency.high}"
        raise ScenarioError("latency.low", problem, hint="give the least delay first")
    if it.timers.phases > it.timers.ticks:
        problem = f"found {it.timers.phases}, more than the {it.timers.ticks} ticks of a cycle"
        raise ScenarioError("timers.phases", problem, hint="raise timers.ticks")
    dated = [("crashes", x.cycle) for x in it.crashes] + [("joins", x.cycle) for x in it.joins]
    dated += [("changes", x.cycle) for x in it.changes] + [("events.at", x) for x in it.events.at]
    dated += [("partitions", x.from_cycle) for x in it.partitions]
    for path, cycle in dated:
        if cycle > it.cycles:
            raise ScenarioError(path, f"found cycle {cycle}, after the last one", hint=f"cycles = {it.cycles}")
    for i, part in enumerate(it.partitions):
        if part.from_cycle >= part.to_cycle:
            raise ScenarioError(f"partitions.{i}", f"ends in cycle {part.to_cycle}, not after its start {part.from_cycle}")
