"""Beyond the paper: worlds in which things go wrong, and five ways of spreading events in each.

Four of the ways stand on one overlay, gossamer's: the paper's spreading and arcs, each with and without repair. The fifth is
Sub-2-Sub as printed, where a copy that cannot be handed over is lost and the dead are found by nobody.

The surprising thing is what counts as *at once*: all that spreading brought, whenever; *after ten cycles* is what repair has
brought beside it when ten cycles are over. Copies are event messages received, control messages are those about an event that
do not carry it; digests, which are sent whether there are events or not, are counted by node and cycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from gossamer.measure.summary import Metrics, dissemination, spread_of
from gossamer.scenario.scenario import Scenario
from gossamer.scenario.toml import load
from gossamer.trace.folder import column

__all__ = ["MODES", "WORLDS", "Line", "line", "markdown", "means", "scenarios"]

WORLDS: Final = ("crash", "churn", "loss", "changes", "partition", "joining", "wildcards", "several", "latency")
"""The presets, in the order of the page."""

_PAPER: Final = {"spread": {"mode": "paper"}}
_ALONE: Final = {"repair": {"partners": 0}}
MODES: Final[Mapping[str, Mapping[str, Any]]] = {
    "as printed": {"system": "sub2sub", "form": "faithful"},
    "paper": {"params": _PAPER | _ALONE},
    "paper + repair": {"params": _PAPER},
    "arcs": {"params": _ALONE},
    "arcs + repair": {},
}
"""What each way of spreading changes in a scenario."""

_COLUMNS: Final = (
    ("at once", "hit_ratio_at_once", ".4f"),
    ("after 10 cycles", "hit_ratio", ".4f"),
    ("copies", "copies_per_delivery", ".2f"),
    ("control", "control_per_delivery", ".2f"),
    ("digests", "digests_per_node_cycle", ".2f"),
    ("hops", "mean_hops", ".2f"),
    ("spam", "spam", ".4f"),
    ("well after", "well_after", "d"),
)
"""The page's columns: title, metric, form."""


class Line(NamedTuple):
    """One way of spreading in one world."""

    world: str
    mode: str
    seed: int
    metrics: Metrics


def scenarios(worlds: Sequence[str], modes: Iterable[str], nodes: int, seeds: Sequence[int]) -> list[tuple[str, Scenario]]:
    """Every world in every mode, with the mode; worlds and what happens in them are cut to so many nodes."""
    found = []
    for name in worlds:
        for scenario in load(name):
            for mode in modes:
                changed = replace(_cut(scenario, nodes), name=f"beyond/{scenario.name}/{mode}", seeds=tuple(seeds))
                found.append((mode, replace(changed, **MODES[mode])))
    return found


def _cut(scenario: Scenario, nodes: int) -> Scenario:
    """The same world with so many rows from the start, in a proportion of everything that counts them."""
    people, events = scenario.population, scenario.events
    share = nodes / 10_000

    def part(count: int) -> int:
        return max(1, round(count * share))

    return replace(
        scenario,
        population=replace(people, nodes=part(people.nodes)),
        events=replace(events, count=part(events.count), per_cycle=part(events.per_cycle)),
        joins=tuple(replace(wave, count=part(wave.count)) for wave in scenario.joins),
    )


def line(mode: str, scenario: Scenario, seed: int, tables: Mapping[str, pa.Table]) -> Line:
    """What a run comes to."""
    spreads, exchanges = tables["spreads"], tables["exchanges"]
    found = dissemination(spread_of(spreads))
    of_repair = column(exchanges, "messages")[column(exchanges, "protocol") == "repair"]
    cycles = np.unique(column(exchanges, "cycle")).shape[0]
    found["digests_per_node_cycle"] = float(of_repair.sum() / (scenario.population.nodes * cycles))
    found["well_after"] = _well_after(scenario, spreads)
    return Line(scenario.name.removeprefix("beyond/").removesuffix(f"/{mode}"), mode, seed, found)


def _well_after(scenario: Scenario, spreads: pa.Table) -> int | None:
    """Cycles after what happened at once, from which on every event reached all who wanted it, and nobody else."""
    dates = [it.cycle for it in scenario.changes] + [it.cycle for it in scenario.joins]
    dates += [it.to_cycle for it in scenario.partitions]
    if not dates:
        return None
    cycle, spread = column(spreads, "cycle"), spread_of(spreads)
    ill = cycle[(spread.delivered < spread.wanted) | (spread.unwanted > 0)]
    last = int(ill.max()) if ill.size else -1
    return None if last == int(cycle.max()) else max(last + 1 - max(dates), 0)


def means(lines: Sequence[Line]) -> list[Line]:
    """One line for each world and mode, meant over seeds; the longest of what ends, None where one did not end."""
    found = []
    for world, mode in dict.fromkeys((it.world, it.mode) for it in lines):
        mine = [it.metrics for it in lines if (it.world, it.mode) == (world, mode)]
        meant: Metrics = {}
        for _, name, form in _COLUMNS:
            values = [it[name] for it in mine]
            whole = None not in values
            meant[name] = None if not whole else int(max(values)) if form == "d" else float(np.mean(values))
        found.append(Line(world, mode, 0, meant))
    return found


def markdown(lines: Sequence[Line]) -> list[str]:
    """A table for each preset."""
    out: list[str] = []
    for preset in dict.fromkeys(it.world.split("/")[0] for it in lines):
        mine = [it for it in lines if it.world.split("/")[0] == preset]
        columns = [it for it in _COLUMNS if any(one.metrics[it[1]] is not None for one in mine)]
        out += ["", f"## {preset}", "", "| world | spreading | " + " | ".join(title for title, _, _ in columns) + " |"]
        out.append("|---|---|" + "---:|" * len(columns))
        for it in mine:
            shown = [it.metrics[name] for _, name, _ in columns]
            cells = ["-" if value is None else format(value, form) for value, (_, _, form) in zip(shown, columns, strict=True)]
            out.append(f"| {it.world.partition('/')[2] or preset} | {it.mode} | " + " | ".join(cells) + " |")
    return out
