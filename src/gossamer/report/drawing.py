"""The figures as pictures: one style, SVG for the page and PNG for slides. Needs matplotlib, the extra ``report``.

Drawn with matplotlib's objects alone, on no screen, and with nothing in the files that changes from run to run: the same
numbers give the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from gossamer.errors import DataError, MissingExtraError
from gossamer.report.claims import STATEMENTS
from gossamer.report.curves import Curve
from gossamer.report.experiments import Case

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["TITLES", "draw", "require_extra"]

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

_INK, _SOFT, _GRID = "#1f2933", "#52606d", "#e4e7eb"
_LIGHT, _DARK, _THIRD = "#a9cce3", "#1b4f72", "#c8553d"
_SIX: Final = {
    Case(1, "uniform"): ("#7fb3d5", "-"),
    Case(1, "power"): ("#1b4f72", "-"),
    Case(3, "uniform"): ("#e59866", "-"),
    Case(3, "power"): ("#c8553d", "-"),
    Case(5, "uniform"): ("#a3be8c", "--"),
    Case(5, "power"): ("#4a7c59", "--"),
}
_STYLE: Final[dict[str, Any]] = {
    "font.family": "sans-serif",
    "font.size": 9.5,
    "text.color": _INK,
    "axes.edgecolor": _SOFT,
    "axes.labelcolor": _INK,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": _GRID,
    "grid.linewidth": 0.8,
    "xtick.color": _SOFT,
    "ytick.color": _SOFT,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.8,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.hashsalt": "gossamer",
    "svg.fonttype": "path",
}
_DPI: Final = 160


def require_extra() -> None:
    """Refuse when there is nothing to draw with."""
    if find_spec("matplotlib") is None:
        raise MissingExtraError("report", "drawing figures")


def draw(name: str, found: Mapping[Case, Curve], folder: Path, note: str) -> dict[str, Path]:
    """Draw one figure into a folder; where it is, by kind. ``note`` says what was run."""
    require_extra()
    from matplotlib import rc_context  # noqa: PLC0415  (an extra: it is loaded when something is drawn)
    from matplotlib.figure import Figure  # noqa: PLC0415

    with rc_context(cast("Any", _STYLE)):
        width, height = _sizes(name, len(found))
        figure = Figure(figsize=(width, height), layout="constrained")
        _DRAWN[name](figure, found)
        figure.suptitle(TITLES[name], x=0.01, ha="left", fontsize=12, fontweight="bold")
        figure.supxlabel(f"The paper: “{STATEMENTS[name]}”\nHere: {note}", fontsize=7.5, color=_SOFT, x=0.01, ha="left")
        paths = {kind: folder / f"{name}.{kind}" for kind in ("svg", "png")}
        for kind, path in paths.items():
            with _replacing(path) as partial:
                quiet: dict[str, Any] = {"Date": None} if kind == "svg" else {"Software": None}
                figure.savefig(partial, format=kind, dpi=_DPI, metadata=quiet)
    return paths


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        partial.replace(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        partial.unlink(missing_ok=True)


def _sizes(name: str, worlds: int) -> tuple[float, float]:
    if name == "rings":
        return 9.6, 2.5 * -(-worlds // 2) + 0.9
    if name == "load":
        return 9.6, 3.9
    return 7.2, 4.3


def _percent(axes: Axes, label: str, *, axis: str = "y") -> None:
    from matplotlib.ticker import PercentFormatter  # noqa: PLC0415

    it = axes.yaxis if axis == "y" else axes.xaxis
    it.set_major_formatter(PercentFormatter(1.0, decimals=0))
    it.set_label_text(label)


# ---------------------------------------------------------------------------------------------------- the figures


def _rings(figure: Figure, found: Mapping[Case, Curve]) -> None:
    rows = -(-len(found) // 2)
    panels = np.atleast_1d(figure.subplots(rows, min(2, len(found)), sharex=True, sharey=True, squeeze=False)).ravel()
    for axes, (case, curve) in zip(panels, found.items(), strict=False):
        cycle = np.array(curve["cycle"])
        axes.bar(cycle, curve["links"], width=0.86, color=_LIGHT, label="links in place")
        axes.bar(cycle, curve["rings"], width=0.86, color=_DARK, label="rings complete")
        if cycle[-1] >= 40:  # noqa: PLR2004  (the paper's 40 cycles)
            axes.axvline(40, color=_THIRD, linewidth=0.9, linestyle=(0, (4, 3)))
        axes.set_title(case.title)
        axes.set_ylim(0, 1.02)
        axes.set_xlim(0, cycle[-1] + 0.6)
        _percent(axes, "")
    for axes in panels[len(found) :]:
        axes.set_visible(False)
    for axes in panels[max(0, len(found) - 2) : len(found)]:
        axes.set_xlabel("cycles")
    handles, words = panels[0].get_legend_handles_labels()
    figure.legend(handles, words, loc="upper right", ncols=2)


def _dissemination(figure: Figure, found: Mapping[Case, Curve]) -> None:
    axes = figure.subplots()
    curve = next(iter(found.values()))
    place = np.arange(len(curve["cycle"]))
    others = np.where(np.array(curve["complete"]) < 1.0, curve["hit_ratio_of_incomplete"], np.nan)
    axes.bar(place, others, width=0.82, color=_LIGHT, label="hit ratio of the incomplete ones")
    axes.bar(place, curve["complete"], width=0.5, color=_DARK, label="complete disseminations")
    axes.plot(place, curve["rings"], color=_THIRD, marker="o", markersize=3.2, label="rings complete")
    axes.set_xticks(place, [f"{cycle:.0f}" for cycle in curve["cycle"]])
    axes.set_xlabel("cycles")
    axes.set_ylim(0, 1.02)
    _percent(axes, "share")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.12), ncols=3)


def _lengths(figure: Figure, found: Mapping[Case, Curve]) -> None:
    axes = figure.subplots()
    for case, curve in found.items():
        colour, line = _SIX[case]
        axes.step(curve["length"], curve["at_least"], where="pre", color=colour, linestyle=line, label=case.title)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(_plain_numbers())
    axes.set_xlabel("ring length (subscribers that want an event)")
    axes.set_ylim(0, 1.02)
    _percent(axes, "events with at least so many")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def _hops(figure: Figure, found: Mapping[Case, Curve]) -> None:
    axes = figure.subplots()
    curve = next(iter(found.values()))
    length = np.array(curve["length"])
    axes.vlines(length, curve["least"], curve["most"], color=_LIGHT, linewidth=1.6, label="least to most")
    axes.plot(length, curve["mean"], "o", color=_DARK, markersize=3, label="mean")
    if not np.isnan(curve["fit"][0]):
        slope = (curve["fit"][-1] - curve["fit"][0]) / np.log2(length[-1] / length[0])
        base = curve["fit"][0] - slope * np.log2(length[0])
        axes.plot(length, curve["fit"], color=_THIRD, label=f"{base:.2f} + {slope:.2f} log₂(length)")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(_plain_numbers())
    axes.set_xlabel("ring length (subscribers that want the event)")
    axes.set_ylabel("hops to the last of them")
    axes.set_ylim(0, None)
    axes.legend(loc="upper left")


def _joins(figure: Figure, found: Mapping[Case, Curve]) -> None:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

    axes = figure.subplots()
    curve = next(iter(found.values()))
    cycles = np.array(curve["cycles"])
    for n, (name, colour, words) in enumerate(
        (
            ("links_from", _LIGHT, "subscribers: all their links"),
            ("links_to", _DARK, "subscribers: all links to them"),
            ("publishers", _THIRD, "publishers: a first subscriber"),
        )
    ):
        axes.bar(cycles + 0.28 * (n - 1), curve[name], width=0.27, color=colour, label=words)
    axes.set_xlabel("cycles")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    _percent(axes, "share of joins")
    axes.legend(loc="upper right")


def _load(figure: Figure, found: Mapping[Case, Curve]) -> None:
    panels = figure.subplots(1, 2, sharex=True, squeeze=False).ravel()
    for axes, what in zip(panels, ("receipts", "sends"), strict=True):
        for case, curve in found.items():
            colour, line = _SIX[case]
            axes.plot(curve["share"], curve[what], color=colour, linestyle=line, label=case.title)
        axes.set_title(what)
        axes.set_ylabel(f"{what} for each event wanted")
        axes.set_ylim(0, None)
        _percent(axes, "share of nodes with at most that", axis="x")
    panels[0].legend(loc="upper left")


def _nobody(figure: Figure, found: Mapping[Case, Curve]) -> None:
    axes = figure.subplots()
    width = 0.8 / max(len(found), 1)
    for n, (case, curve) in enumerate(found.items()):
        place = np.array(curve["wanted"]) + width * (n - (len(found) - 1) / 2)
        bars = axes.bar(place, curve["share"], width=width * 0.94, color=_SIX[case][0], label=case.title)
        axes.bar_label(bars, [f"{share:.1%}" for share in curve["share"]], fontsize=6.5, padding=1, color=_SOFT)
    axes.set_xticks([0, 1, 2])
    axes.set_xlabel("subscribers that want the event")
    axes.set_ylim(0, 1.1)
    _percent(axes, "say that nobody wants it")
    axes.legend(loc="upper right")


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
