"""What came out of any runs, as figures and one page: the question, the table, the figures, and what made them.

The question of such a page is what the runs differ in. Runs that differ in their seed alone are one line of the table and
one colour of the figures: the mean, with the least and the most beside it.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gossamer.errors import MissingExtraError
from gossamer.measure.load import per_event
from gossamer.report.drawing import COLOURS, painted, require_extra
from gossamer.report.page import inline, sheet
from gossamer.scenario.scenario import Scenario
from gossamer.trace.folder import column, read_run, read_table, renamed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLUMNS", "FIGURES", "Measured", "folded", "spoken", "table", "write"]


class Measured(NamedTuple):
    """One run and what came out of it."""

    name: str
    scenario: Scenario
    seed: int
    folder: Path
    """Where its tables are."""
    metrics: Mapping[str, float | None]
    """By dotted name."""


class Column(NamedTuple):
    """One metric as people read it."""

    title: str
    metric: str
    form: str
    told: str


COLUMNS: Final = (
    Column("hit ratio", "hit_ratio", ".4f", "of those that want an event, the share it reached"),
    Column("unwanted", "spam", ".4f", "share of the event messages received that nobody there wanted"),
    Column("duplicates", "duplicates", ".4f", "share of the event messages received again"),
    Column("copies", "copies_per_delivery", ".3f", "event messages received for each delivery"),
    Column("control", "control_per_delivery", ".3f", "messages without the event, for each delivery"),
    Column("hops", "mean_hops", ".2f", "from the first subscriber, meant over deliveries"),
    Column("max hops", "max_hops", ".0f", "to the last of all"),
    Column("gossip", "messages", ".2f", "gossip messages a row sends in a cycle"),
    Column("bytes", "bytes", ".0f", "bytes of gossip a row sends in a cycle"),
    Column("ring links", "ring_links.mean", ".1f", "ring neighbours a node keeps at the end"),
    Column("rings", "rings_complete", ".4f", "share of the events' rings that are whole at the end"),
    Column("whole at", "complete_at", ".0f", "the cycle from which on all rings are whole"),
)
"""The columns of a table, in order; those that no run has are left out."""
FIGURES: Final = {
    "construction": "How the rings come to be",
    "delivery": "What a delivery costs",
    "burden": "What each node carries",
}
_SHADES: Final = ("one-power", "three-power", "five-power", "one-uniform", "three-uniform", "five-uniform", "full", "third")
_PERCENTILES: Final = np.arange(101)
_SIZE: Final = (6.2, 2.9)
"""Inches."""


def spoken(metrics: Mapping[str, float | None]) -> dict[str, float | None]:
    """The metrics of a run, with what all protocols of gossip send in a cycle summed up."""
    found = dict(metrics)
    for what in ("messages", "bytes"):
        of = f"{what}_per_row_cycle."
        rates = [value for name, value in metrics.items() if name.startswith(of) and value is not None]
        found[what] = sum(sorted(rates)) if rates else None
    return found


def folded(runs: Sequence[Measured]) -> dict[str, list[Measured]]:
    """Runs of one scenario that differ in their seed alone, by the scenario's name."""
    found: dict[str, list[Measured]] = {}
    for it in runs:
        found.setdefault(it.scenario.name, []).append(it)
    return found


def table(runs: Sequence[Measured]) -> tuple[list[str], list[list[str]]]:
    """Titles, and a line for each scenario: means over its seeds, with the least and most where they differ."""
    values = {name: [spoken(it.metrics) for it in them] for name, them in folded(runs).items()}
    shown = [it for it in COLUMNS if any(of.get(it.metric) is not None for them in values.values() for of in them)]
    lines = [[name, *(_cell(it, [of.get(it.metric) for of in them]) for it in shown)] for name, them in values.items()]
    return ["", *(it.title for it in shown)], lines


def _cell(column: Column, values: Sequence[float | None]) -> str:
    told = [value for value in values if value is not None]
    if len(told) < len(values):
        return f"{len(told)} of {len(values)}" if told else "-"
    mean, low, high = (format(it, column.form) for it in (sum(told) / len(told), min(told), max(told)))
    return mean if low == high else f"{mean} ({low}-{high})"


def write(
    folder: Path, runs: Sequence[Measured], question: str, note: str, command: str, *, also: Sequence[str] = ()
) -> list[str]:
    """Figures into ``figures/`` and the page as ``index.html``; why something is missing, if something is.

    Without the extra ``report`` the page has its table alone.
    """
    missing: list[str] = []
    pictures: dict[str, Path] = {}
    try:
        require_extra()
        pictures = dict(_pictures(folder / "figures", runs, note))
    except MissingExtraError as error:
        missing.append(str(error))
    with renamed(folder / "index.html") as path:
        path.write_text("\n".join(_page(runs, question, note, command, pictures, also)), encoding="utf-8")
    return missing


def _page(
    runs: Sequence[Measured], question: str, note: str, command: str, pictures: Mapping[str, Path], also: Sequence[str]
) -> Iterator[str]:
    titles, lines = table(runs)
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{html.escape(question)}</title><style>{sheet()}</style></head><body>"
    yield f"<h1>{html.escape(question)}</h1>"
    yield f'<p class="meta">{html.escape(note)}<br><code>{html.escape(command)}</code></p>'
    yield from (f"<p>{html.escape(line)}</p>" for line in also)
    head = "".join(f"<th>{html.escape(title)}</th>" for title in titles)
    rows = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in line)}</tr>" for line in lines)
    yield f'<div class="scroll"><table><tr>{head}</tr>{rows}</table></div>'
    shown = [it for it in COLUMNS if it.title in titles]
    yield "<p class='meta'>" + "; ".join(f"<b>{it.title}</b>: {html.escape(it.told)}" for it in shown) + ".</p>"
    for name, path in pictures.items():
        yield f'<h2 id="{name}">{html.escape(FIGURES[name])}</h2>'
        yield f"<figure>{inline(path, name, FIGURES[name])}</figure>"
    yield "</body></html>\n"


# ---------------------------------------------------------------------------------------------------- the figures


def _pictures(folder: Path, runs: Sequence[Measured], note: str) -> Iterator[tuple[str, Path]]:
    """Each figure that there is something for."""
    groups = dict(list(folded(runs).items())[: len(_SHADES)])
    for name, curves, paint in (
        ("construction", {of: _rings(them) for of, them in groups.items()}, _draw_rings),
        ("delivery", {of: _costs(them) for of, them in groups.items()}, _draw_costs),
        ("burden", {of: _burden(them) for of, them in groups.items()}, _draw_burden),
    ):
        real = {of: curve for of, curve in curves.items() if curve is not None}
        if real:
            yield name, painted(name, FIGURES[name], note, folder, _SIZE, partial(paint, curves=real))["svg"]


Points = tuple[list[float], list[float]]


def _rings(runs: Sequence[Measured]) -> Points | None:
    """Share of the rings that are whole, by cycle, meant over seeds."""
    shares: dict[int, list[float]] = {}
    for it in runs:
        if "links" in read_run(it.folder).rows:
            links = read_table(it.folder, "links")
            wanted = np.maximum(column(links, "rings_wanted"), 1)
            for cycle, share in zip(column(links, "cycle"), column(links, "rings_complete") / wanted, strict=True):
                shares.setdefault(int(cycle), []).append(float(share))
    return ([float(it) for it in shares], [sum(it) / len(it) for it in shares.values()]) if shares else None


def _costs(runs: Sequence[Measured]) -> Points | None:
    """Copies and control messages for each delivery, meant over seeds."""
    names = ("copies_per_delivery", "control_per_delivery")
    values = [[it.metrics.get(name) for it in runs] for name in names]
    told = [[value for value in of if value is not None] for of in values]
    return ([0.0, 1.0], [sum(of) / len(of) for of in told]) if all(told) else None


def _burden(runs: Sequence[Measured]) -> Points | None:
    """Event messages received for each event wanted, by percentile of the nodes, meant over seeds."""
    found = []
    for it in runs:
        if "nodes" in read_run(it.folder).rows:
            nodes = read_table(it.folder, "nodes")
            values = per_event(column(nodes, "receipts"), column(nodes, "wanted"))
            if values.size:
                found.append(np.percentile(values, _PERCENTILES, method="inverted_cdf"))
    return (_PERCENTILES.astype(float).tolist(), np.mean(found, axis=0).tolist()) if found else None


def _shade(n: int) -> str:
    return COLOURS[_SHADES[n]][0]


def _draw_rings(figure: Figure, curves: Mapping[str, Points]) -> None:
    axes = figure.subplots()
    for n, (name, (x, y)) in enumerate(curves.items()):
        axes.plot(x, y, color=_shade(n), label=name)
    axes.set_xlabel("cycles")
    axes.set_ylabel("rings that are whole")
    axes.set_ylim(0, 1.02)
    _explained(figure, axes)


def _draw_costs(figure: Figure, curves: Mapping[str, Points]) -> None:
    axes = figure.subplots()
    width = 0.8 / len(curves)
    for n, (name, (_, y)) in enumerate(curves.items()):
        axes.bar([k + (n + 0.5) * width - 0.4 for k in (0, 1)], y, width=0.9 * width, color=_shade(n), label=name)
    axes.set_xticks([0, 1], ["event messages", "control messages"])
    axes.set_ylabel("for each delivery")
    _explained(figure, axes)


def _draw_burden(figure: Figure, curves: Mapping[str, Points]) -> None:
    axes = figure.subplots()
    for n, (name, (x, y)) in enumerate(curves.items()):
        axes.plot(x, y, color=_shade(n), label=name)
    axes.set_xlabel("nodes, from the one with least to the one with most (%)")
    axes.set_ylabel("messages received\nfor each event wanted")
    axes.set_ylim(bottom=0)
    _explained(figure, axes)


def _explained(figure: Figure, axes: Axes) -> None:
    handles, words = axes.get_legend_handles_labels()
    figure.legend(handles, words, loc="outside upper left", ncols=min(3, len(words)), borderaxespad=0.2)
