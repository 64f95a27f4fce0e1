"""The figures as pictures: one style, SVG for papers and the page, PNG for slides. Needs matplotlib, the extra ``report``.

What a caption says (title, statement, what was run) is in the files' metadata, not in the picture.

Drawn with matplotlib's objects alone, on no screen, and with nothing in the files that changes from run to run: the same
numbers give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from gossamer.errors import MissingExtraError
from gossamer.report.claims import STATEMENTS
from gossamer.report.curves import Curve
from gossamer.report.experiments import Case
from gossamer.trace.folder import renamed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "TITLES", "WIDE", "draw", "painted", "require_extra"]

TITLES: Final = {
    "rings": "Construction of the rings",
    "dissemination": "Dissemination while the rings form",
    "lengths": "How long the rings are",
    "hops": "Hops until the last subscriber has an event",
    "joins": "Cycles to join a converged overlay",
    "load": "What each node carries",
    "nobody": "Publishers who say that nobody wants their event",
}
"""The heading of each figure."""

COLOURS: Final = {
    "ink": ("#1f2933", "#e6e9ec"),
    "soft": ("#52606d", "#a3afba"),
    "grid": ("#e4e7eb", "#313940"),
    "paper": ("#ffffff", "#14181c"),
    "pale": ("#a9cce3", "#35617e"),
    "full": ("#1b4f72", "#8ecbf0"),
    "third": ("#c8490f", "#f08a4b"),
    "one-uniform": ("#56b4e9", "#a5d8f6"),
    "one-power": ("#0072b2", "#3f9fdc"),
    "three-uniform": ("#e69f00", "#f5cd73"),
    "three-power": ("#d55e00", "#e8772e"),
    "five-uniform": ("#cc79a7", "#e8b9d2"),
    "five-power": ("#7a3e65", "#b8709d"),
}
"""Each colour by day, as files have it, and by night, as a dark page shows it. Worlds have those of Okabe and Ito, whom
colour-blind readers can tell apart; uniform ones are dashed besides."""

_INK, _SOFT, _GRID, _PALE, _FULL, _THIRD = (COLOURS[name][0] for name in ("ink", "soft", "grid", "pale", "full", "third"))
_DASHED: Final = (0, (3.5, 1.5))
_SIX: Final[dict[Case, tuple[str, Any]]] = {
    Case(attributes, law): (COLOURS[f"{word}-{law}"][0], _DASHED if law == "uniform" else "-")
    for attributes, word in ((1, "one"), (3, "three"), (5, "five"))
    for law in ("uniform", "power")
}
_STYLE: Final[dict[str, Any]] = {
    "font.family": "sans-serif",
    "font.size": 8.5,
    "text.color": _INK,
    "axes.edgecolor": _SOFT,
    "axes.labelcolor": _INK,
    "axes.titlesize": 8.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": _GRID,
    "grid.linewidth": 0.7,
    "xtick.color": _SOFT,
    "ytick.color": _SOFT,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "legend.handlelength": 1.6,
    "legend.columnspacing": 1.2,
    "lines.linewidth": 1.5,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.hashsalt": "gossamer",
    "svg.fonttype": "path",
}
_DPI: Final = 300
_THE_PAPERS: Final = 40
"""Cycles."""
_COLUMN, _PAGE = 4.2, 7.0
"""Inches: a little more than the column of a paper, and its page. In a column the type is 7 points high."""
WIDE: Final = frozenset({"rings", "load"})
"""Figures as wide as a page."""


def require_extra() -> None:
    """Refuse when there is nothing to draw with."""
    if find_spec("matplotlib") is None:
        raise MissingExtraError("report", "drawing figures")


def draw(name: str, found: Mapping[Case, Curve], folder: Path, note: str) -> dict[str, Path]:
    """Draw one figure into a folder; where it is, by kind. ``note`` says what was run."""
    about = f"The paper: {STATEMENTS[name]} Here: {note}."

    def paint(figure: Figure) -> None:
        _DRAWN[name](figure, found)

    return painted(name, TITLES[name], about, folder, _sizes(name, len(found)), paint)


def painted(
    name: str, title: str, about: str, folder: Path, size: tuple[float, float], paint: Callable[[Figure], None]
) -> dict[str, Path]:
    """Paint on an empty figure, and keep it as SVG and PNG; where they are, by kind."""
    require_extra()
    from matplotlib import rc_context  # noqa: PLC0415  (an extra: it is loaded when something is drawn)
    from matplotlib.figure import Figure  # noqa: PLC0415

    with rc_context(cast("Any", _STYLE)):
        figure = Figure(figsize=size, layout="constrained")
        paint(figure)
        told = {"Title": title, "Description": about}
        paths = {kind: folder / f"{name}.{kind}" for kind in ("svg", "png")}
        for kind, path in paths.items():
            with renamed(path) as partial:
                quiet: dict[str, Any] = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
                figure.savefig(partial, format=kind, dpi=_DPI, metadata=told | quiet)
    return paths


def _sizes(name: str, worlds: int) -> tuple[float, float]:
    if name == "rings":
        return _PAGE if worlds > 1 else _COLUMN, 1.75 * -(-worlds // 2) + 0.65
    return (_PAGE if name in WIDE else _COLUMN), 2.9


def _percent(axes: Axes, label: str, *, axis: str = "y") -> None:
    from matplotlib.ticker import PercentFormatter  # noqa: PLC0415

    it = axes.yaxis if axis == "y" else axes.xaxis
    it.set_major_formatter(PercentFormatter(1.0, decimals=0))
    it.set_label_text(label)


def _legend(figure: Figure, axes: Axes, columns: int) -> None:
    """Above all axes, where no curve can be."""
    handles, words = axes.get_legend_handles_labels()
    figure.legend(handles, words, loc="outside upper left", ncols=columns, borderaxespad=0.2)


# ---------------------------------------------------------------------------------------------------- the figures


def _rings(figure: Figure, found: Mapping[Case, Curve]) -> None:
    rows = -(-len(found) // 2)
    panels = figure.subplots(rows, min(2, len(found)), sharex=True, sharey=True, squeeze=False).ravel()
    for axes, (case, curve) in zip(panels, found.items(), strict=False):
        cycle = np.array(curve["cycle"])
        axes.bar(cycle, curve["links"], width=0.86, color=_PALE, label="ring links in place")
        axes.bar(cycle, curve["rings"], width=0.86, color=_FULL, label="rings complete")
        if cycle[-1] >= _THE_PAPERS:
            axes.axvline(_THE_PAPERS, color=_THIRD, linewidth=0.9, linestyle=_DASHED, label="the paper's 40 cycles")
        axes.set_title(case.title)
        axes.set_ylim(0, 1.02)
        axes.set_xlim(0, cycle[-1] + 0.6)
        _percent(axes, "")
    for axes in panels[len(found) :]:
        axes.set_visible(False)
    for axes in panels[max(0, len(found) - 2) : len(found)]:
        axes.set_xlabel("cycles")
        axes.tick_params(labelbottom=True)
    figure.supylabel("share", fontsize=8.5)
    _legend(figure, panels[0], 3)


def _dissemination(figure: Figure, found: Mapping[Case, Curve]) -> None:
    axes = figure.subplots()
    curve = next(iter(found.values()))
    cycle = np.array(curve["cycle"])
    some = cycle <= max(_THE_PAPERS, cycle[0])  # a last date far out, where all is complete, would only press the others
    cycle = cycle[some]
    complete, others = np.array(curve["complete"])[some], np.array(curve["hit_ratio_of_incomplete"])[some]
    gaps = np.diff(cycle)
    width = 0.86 * np.append(gaps, gaps[-1:] if gaps.size else 1.0)
    axes.bar(cycle, np.where(complete < 1.0, others, np.nan), width=width, color=_PALE, label="hit ratio of incomplete ones")
    axes.bar(cycle, complete, width=0.6 * width, color=_FULL, label="complete disseminations")
    axes.plot(cycle, np.array(curve["rings"])[some], color=_THIRD, marker="o", markersize=2.4, label="rings complete")
    axes.set_xlabel("cycles")
    axes.set_xlim(0, cycle[-1] + 1.5)
    axes.set_ylim(0, 1.02)
    _percent(axes, "share of events, of rings")
    _legend(figure, axes, 2)


def _lengths(figure: Figure, found: Mapping[Case, Curve]) -> None:
    axes = figure.subplots()
    for case, curve in found.items():
        colour, line = _SIX[case]
        length, share = [*curve["length"], curve["length"][-1]], [*curve["at_least"], 0.0]
        axes.step(length, share, where="pre", color=colour, linestyle=line, label=case.title)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(_plain_numbers())
    axes.set_xlabel("ring length (subscribers that want an event)")
    axes.set_ylim(0, 1.02)
    _percent(axes, "events with at least so many")
    _legend(figure, axes, 2)


def _hops(figure: Figure, found: Mapping[Case, Curve]) -> None:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

    axes = figure.subplots()
    curve = next(iter(found.values()))
    length = np.array(curve["length"])
    axes.vlines(length, curve["least"], curve["most"], color=_PALE, linewidth=1.3, label="least to most")
    axes.plot(length, curve["mean"], "o", color=_FULL, markersize=2.4, label="mean")
    if not np.isnan(curve["fit"][0]):
        slope = (curve["fit"][-1] - curve["fit"][0]) / np.log2(length[-1] / length[0])
        base = curve["fit"][0] - slope * np.log2(length[0])
        axes.plot(length, curve["fit"], color=_THIRD, label=f"{base:.2f} + {slope:.2f} log₂(length)")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(_plain_numbers())
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("ring length (subscribers that want the event)")
    axes.set_ylabel("hops to the last of them")
    axes.set_ylim(0, None)
    _legend(figure, axes, 3)


def _joins(figure: Figure, found: Mapping[Case, Curve]) -> None:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

    axes = figure.subplots()
    curve = next(iter(found.values()))
    cycles = np.array(curve["cycles"])
    for n, (name, colour, words) in enumerate(
        (
            ("links_from", _PALE, "subscribers: all their links"),
            ("links_to", _FULL, "subscribers: all links to them"),
            ("publishers", _THIRD, "publishers: a first subscriber"),
        )
    ):
        axes.bar(cycles + 0.28 * (n - 1), curve[name], width=0.27, color=colour, label=words)
    axes.set_xlabel("cycles it took to join")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    _percent(axes, "share of joins")
    _legend(figure, axes, 2)


def _load(figure: Figure, found: Mapping[Case, Curve]) -> None:
    panels = figure.subplots(1, 2, sharex=True, squeeze=False).ravel()
    for axes, what in zip(panels, ("receipts", "sends"), strict=True):
        for case, curve in found.items():
            colour, line = _SIX[case]
            axes.plot(curve["share"], curve[what], color=colour, linestyle=line, label=case.title)
        axes.set_ylabel(f"{what} for each event wanted")
        axes.set_ylim(0, None)
        _percent(axes, "share of nodes with at most that", axis="x")
    _legend(figure, panels[0], 3)


def _nobody(figure: Figure, found: Mapping[Case, Curve]) -> None:
    axes = figure.subplots()
    width = 0.84 / max(len(found), 1)
    for n, (case, curve) in enumerate(found.items()):
        place = np.array(curve["wanted"]) + width * (n - (len(found) - 1) / 2)
        bars = axes.bar(place, curve["share"], width=width * 0.94, color=_SIX[case][0], label=case.title)
        axes.bar_label(bars, [f"{100 * share:.3g}" for share in curve["share"]], fontsize=6.5, padding=1, color=_SOFT)
    axes.set_xticks([0, 1, 2])
    axes.set_xlabel("subscribers that want the event")
    axes.set_ylim(0, 1.08)
    _percent(axes, "say that nobody wants it")
    _legend(figure, axes, 2)


def _plain_numbers() -> Any:  # noqa: ANN401  (a formatter of matplotlib's)
    from matplotlib.ticker import FuncFormatter  # noqa: PLC0415

    return FuncFormatter(lambda value, _: f"{value:g}")


_DRAWN: Final[dict[str, Callable[[Figure, Mapping[Case, Curve]], None]]] = {
    "rings": _rings,
    "dissemination": _dissemination,
    "lengths": _lengths,
    "hops": _hops,
    "joins": _joins,
    "load": _load,
    "nobody": _nobody,
}
