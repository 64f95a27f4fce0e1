"""The figures and verdicts for a terminal of 80 columns: blocks of eight heights, and plain ASCII where there are none."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final

from gossamer.report.claims import Verdict
from gossamer.report.curves import Curve
from gossamer.report.experiments import Case

__all__ = ["MARKS", "bars", "figure", "table"]

_BLOCKS: Final = " ▁▂▃▄▅▆▇█"
_ASCII: Final = " .:-=+*#@"
_TITLE: Final = 18
_WORLD: Final = 23
_MOST_CYCLES: Final = 46
"""Columns for cycles; the number at the end of a line is that of the last, shown or not."""
_NARROW: Final = 70
_MOST_BINS: Final = 8
MARKS: Final = {True: "holds", False: "FAILS", None: "-    "}
"""What a verdict is called; none where a world is too small to tell."""


def bars(values: Sequence[float], *, top: float = 1.0, ascii_only: bool = False) -> str:
    """Values as columns one character wide: empty only for 0, full only for the top."""
    signs = _ASCII if ascii_only else _BLOCKS
    last = len(signs) - 1
    found = []
    for value in values:
        step = last * value / top if top else 0.0
        found.append(signs[last if step >= last else 0 if step <= 0 else max(1, min(last - 1, int(step)))])
    return "".join(found)


def figure(name: str, found: Mapping[Case, Curve], *, ascii_only: bool = False) -> list[str]:
    """One figure in lines."""
    return _LINES[name](found, ascii_only)


def table(verdicts: Sequence[Verdict], width: int = 80) -> list[str]:
    """Each claim once, in the paper's words, and under it our figure for each world."""
    indent = " " * (_WORLD + 10 if width >= _NARROW else 9)
    lines: list[str] = []
    said = ("", "")
    for it in verdicts:
        if (it.statement, it.section) != said:
            said = (it.statement, it.section)
            lines += ["", *textwrap.wrap(f"“{it.statement}” (section {it.section}; here: {it.expected})", width)]
        ours = it.ours if it.holds is not None else f"too small a world to judge: {it.ours}"
        head = f"  {MARKS[it.holds]}  {it.case:<{_WORLD}} "
        lines += textwrap.wrap(f"{head}{ours}", width, subsequent_indent=indent, drop_whitespace=True)
    return lines[1:]


def _title(case: Case) -> str:
    return case.title.replace(" attributes", " attr.").replace(" attribute", " attr.")


def _ruler(longest: int) -> str:
    return "".join("|" if cycle % 10 == 0 else " " for cycle in range(longest)).rstrip()


def _numbers(values: Sequence[float]) -> list[str]:
    """Numbers on end, one a column: tens above ones."""
    words = [f"{value:.0f}" for value in values]
    high = max(map(len, words), default=0)
    return ["".join(row) for row in zip(*(word.rjust(high) for word in words), strict=True)]


def _rings(found: Mapping[Case, Curve], ascii_only: bool) -> list[str]:  # noqa: FBT001
    lines = []
    for case, curve in found.items():
        for name in ("links", "rings"):
            head = _title(case) if name == "links" else ""
            some = bars(curve[name][:_MOST_CYCLES], ascii_only=ascii_only)
            lines.append(f"{head:<{_TITLE}} {name} {some} {curve[name][-1]:7.2%}")
    longest = max(len(curve["cycle"]) for curve in found.values())
    return [*lines, f"{'':<{_TITLE}} cycle {_ruler(min(longest, _MOST_CYCLES))} each 10"]


def _dissemination(found: Mapping[Case, Curve], ascii_only: bool) -> list[str]:  # noqa: FBT001
    curve = next(iter(found.values()))
    names = (
        ("complete disseminations", "complete"),
        ("hit ratio of the others", "hit_ratio_of_incomplete"),
        ("rings complete", "rings"),
    )
    some = {**curve, "hit_ratio_of_incomplete": [*_others(curve)]}
    lines = [f"{words:<{_WORLD}} {bars(some[name], ascii_only=ascii_only)}" for words, name in names]
    heads = ["after cycles"]
    numbers = _numbers(curve["cycle"])
    return [*lines, *(f"{head:<{_WORLD}} {row}" for head, row in zip_longest(heads, numbers, fillvalue=""))]


def _others(curve: Curve) -> Iterator[float]:
    """The hit ratio of the incomplete ones, and nothing where there are none."""
    for complete, ratio in zip(curve["complete"], curve["hit_ratio_of_incomplete"], strict=True):
        yield ratio if complete < 1.0 else 0.0


def _lengths(found: Mapping[Case, Curve], ascii_only: bool) -> list[str]:  # noqa: FBT001
    lines = []
    longest = max(max(curve["length"]) for curve in found.values())
    doublings = max(int(longest).bit_length() - 1, 1)
    wide = -(-doublings // _MOST_BINS)  # doublings in a bin
    steps = range(1, doublings + 1, wide)
    lines.append(f"{'':<{_TITLE}} {''.join(f'{1 << step:>5}-' for step in steps)} longest")
    for case, curve in found.items():
        shares = []
        for step in steps:
            inside = (
                share
                for length, share in zip(curve["length"], curve["share"], strict=True)
                if step < int(length).bit_length() <= step + wide
            )
            shares.append(sum(inside))
        told = "".join(f"{share:5.0%}{bars([share], ascii_only=ascii_only)}" for share in shares)
        lines.append(f"{_title(case):<{_TITLE}} {told} {max(curve['length']):7.0f}")
    return [*lines, f"{'':<{_TITLE}} share of the events, by subscribers that want them"]


def _hops(found: Mapping[Case, Curve], ascii_only: bool) -> list[str]:  # noqa: FBT001
    curve = next(iter(found.values()))
    top = max(curve["most"])
    lines = []
    for step in range(1, int(max(curve["length"])).bit_length()):
        inside = [k for k, length in enumerate(curve["length"]) if int(length).bit_length() == step + 1]
        if inside:
            mean = sum(curve["mean"][k] for k in inside) / len(inside)
            full = "#" if ascii_only else "█"
            most = max(curve["most"][k] for k in inside)
            words = f"rings of {1 << step}-{(2 << step) - 1}"
            lines.append(f"{words:<{_TITLE}} {full * round(36 * mean / top)} {mean:.1f} hops, {most:.0f} at most")
    return lines


def _joins(found: Mapping[Case, Curve], ascii_only: bool) -> list[str]:  # noqa: FBT001
    curve = next(iter(found.values()))
    names = (("links from subscribers", "links_from"), ("links to subscribers", "links_to"), ("publishers", "publishers"))
    top = max(max(curve[name]) for _, name in names)
    lines = [f"{words:<{_WORLD}} {bars(curve[name][:_MOST_CYCLES], top=top, ascii_only=ascii_only)}" for words, name in names]
    shown = min(len(curve["cycles"]), _MOST_CYCLES)
    head = f"cycles, up to {curve['cycles'][-1]:.0f}"
    return [*lines, f"{head:<{_WORLD}} {_ruler(shown)} each 10"]


def _load(found: Mapping[Case, Curve], ascii_only: bool) -> list[str]:  # noqa: FBT001
    lines = []
    top = max(max(curve["receipts"]) for curve in found.values())
    for case, curve in found.items():
        for what in ("receipts", "sends"):
            few = curve[what][:: max(1, len(curve[what]) // 40)]
            head = _title(case) if what == "receipts" else ""
            lines.append(f"{head:<{_TITLE}} {what:<8} {bars(few, top=top, ascii_only=ascii_only)} {curve[what][-1]:.1f}")
    return [*lines, f"{'':<{_TITLE}} for each event wanted, from the idlest node to the busiest"]


def _nobody(found: Mapping[Case, Curve], ascii_only: bool) -> list[str]:  # noqa: FBT001, ARG001
    lines = []
    for case, curve in found.items():
        shares = dict(zip(curve["wanted"], zip(curve["share"], curve["asked"], strict=True), strict=True))
        told = (f"{shares[n][0]:7.2%} of {shares[n][1]:<7.0f}" if n in shares else f"{'-':>7}{'':11}" for n in (0, 1, 2))
        lines.append(f"{_title(case):<{_TITLE}} {''.join(told)}".rstrip())
    heads = "".join(f"{f'by {n}':>7}{'':11}" for n in (0, 1, 2)).rstrip()
    return [f"{'wanted':<{_TITLE}} {heads}", *lines, f"{'':<{_TITLE}} of the publishers said that nobody wants their event"]


_LINES: Final[dict[str, Callable[[Mapping[Case, Curve], bool], list[str]]]] = {
    "rings": _rings,
    "dissemination": _dissemination,
    "lengths": _lengths,
    "hops": _hops,
    "joins": _joins,
    "load": _load,
    "nobody": _nobody,
}
