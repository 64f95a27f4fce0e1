"""Draws ``spread.svg``, the picture in the README: one event among 240 nodes, spread the paper's way and by arcs.

    python3 run.py picture

Nothing is made up: both halves are the table of receipts of a run of the simulator. The event is the first one that 20 to
26 nodes want.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from math import cos, pi, sin
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.arrays import Numbers
from gossamer.scenario.scenario import EventSettings, PopulationSettings, Scenario
from gossamer.sim.run import run
from gossamer.trace.folder import column

__all__ = ["main", "picture"]

NODES: Final = 240
CYCLES: Final = 30
FORMS: Final = (
    ("faithful", "Along the ring, with one shortcut each"),
    ("better", "By arcs: each is given its part of the ring"),
)
WIDTH, HEIGHT, RADIUS, MIDDLE = 880, 486, 176, 240
INK, SOFT, IDLE, AGAIN = "#1f2933", "#52606d", "#c3cad2", "#e8a598"
HOPS: Final = ("#c8553d", "#1b4f72", "#2e7ba6", "#58a1c6", "#84bedb", "#a9cfe6")
"""By hop: the first subscriber, then whoever has it from there, and so on."""

Copies = dict[str, Numbers]
"""The receipts of one event, as columns."""


def spreads(form: str) -> tuple[int, Copies]:
    """The event shown, by its number, and the receipts of one run."""
    scenario = Scenario(
        system="gossamer",
        form=form,
        cycles=CYCLES + 20,
        population=PopulationSettings(nodes=NODES, attributes=2),
        events=EventSettings(count=40, frozen=False, from_cycle=CYCLES, per_cycle=40),
        params={"repair": {"partners": 0}},  # it would bring some of the copies, quicker than spreading does
    )
    tables = run(scenario, 1).tables
    receipts = {name: column(tables["receipts"], name) for name in tables["receipts"].column_names}
    wanted = column(tables["publications"], "wanted")
    fitting = column(tables["publications"], "event")[(wanted >= 20) & (wanted <= 26)]  # noqa: PLR2004
    event = int(fitting.min())
    mine = receipts["event"] == event
    return event, {name: values[mine] for name, values in receipts.items()}


def picture() -> str:
    """The whole SVG."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"',
        ' font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="#fff"/>',
    ]
    for n, (form, title) in enumerate(FORMS):
        _, copies = spreads(form)
        parts.append(f'<g transform="translate({n * WIDTH // 2 + WIDTH // 4} {MIDDLE})">')
        parts += _half(copies, title)
        parts.append("</g>")
    parts += _legend()
    return "\n".join([*parts, "</svg>", ""])


def _half(copies: Copies, title: str) -> Iterator[str]:
    order = np.lexsort((copies["duplicate"], copies["tick"]))
    row, sender, hop, again = (copies[name][order] for name in ("row", "sender", "hop", "duplicate"))
    yield f'<text y="-204" text-anchor="middle" font-size="15" font-weight="600" fill="{INK}">{title}</text>'
    for i in np.flatnonzero(again):
        yield _chord(int(sender[i]), int(row[i]), AGAIN, 1.0)
    for i in np.flatnonzero(~again & (sender >= 0)):
        yield _chord(int(sender[i]), int(row[i]), _colour(int(hop[i])), 1.6)
    reached = dict(zip(row[~again].tolist(), hop[~again].tolist(), strict=True))
    for node in range(NODES):
        x, y = _at(node)
        size, colour = (5.2, _colour(reached[node])) if node in reached else (2.1, IDLE)
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{colour}"/>'
    told = f"{len(reached)} nodes want it: {row.shape[0]} copies received, {max(reached.values())} hops"
    yield f'<text y="212" text-anchor="middle" font-size="13" fill="{SOFT}">{told}</text>'


def _legend() -> Sequence[str]:
    y, marks = HEIGHT - 14, ((150, HOPS[0], "first to have it"), (290, HOPS[1], "next"), (352, HOPS[4], "later"))
    parts = [f'<circle cx="{x}" cy="{y - 4}" r="4.6" fill="{colour}"/>' for x, colour, _ in marks]
    parts += [f'<text x="{x + 9}" y="{y}" font-size="12" fill="{SOFT}">{words}</text>' for x, _, words in marks]
    parts.append(f'<line x1="414" y1="{y - 4}" x2="436" y2="{y - 4}" stroke="{AGAIN}" stroke-width="1.6"/>')
    parts.append(f'<text x="442" y="{y}" font-size="12" fill="{SOFT}">received once more</text>')
    parts.append(f'<circle cx="578" cy="{y - 4}" r="2.4" fill="{IDLE}"/>')
    parts.append(f'<text x="587" y="{y}" font-size="12" fill="{SOFT}">wants something else: not bothered</text>')
    return parts


def _at(node: int) -> tuple[float, float]:
    """Where a node stands: nodes are numbered by key, so the circle is the order of the ring."""
    angle = 2 * pi * node / NODES - pi / 2
    return RADIUS * cos(angle), RADIUS * sin(angle)


def _chord(one: int, other: int, colour: str, width: float) -> str:
    """A line bent towards the middle."""
    (x, y), (u, v) = _at(one), _at(other)
    bend = f"{0.3 * (x + u):.1f} {0.3 * (y + v):.1f}"
    return f'<path d="M{x:.1f} {y:.1f}Q{bend} {u:.1f} {v:.1f}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


def _colour(hop: int) -> str:
    return HOPS[min(hop, len(HOPS) - 1)]


def main(folder: Path) -> None:
    """Draw it into a folder."""
    (folder / "spread.svg").write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
