"""The figures and verdicts for a terminal: blocks of eight heights, and plain ASCII where there are none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from gossamer.report.claims import Verdict
from gossamer.report.curves import Curve
from gossamer.report.experiments import Case

__all__ = ["bars", "figure", "table"]

_BLOCKS: Final = " ▁▂▃▄▅▆▇█"
_ASCII: Final = " .:-=+*#@"
_TITLE: Final = 26


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


def table(verdicts: Sequence[Verdict], width: int = 100) -> list[str]:
    """Each claim once, in the paper's words, and under it our figure for each world."""
    lines: list[str] = []
    said = ("", "")
    for it in verdicts:
        if (it.statement, it.section) != said:
            said = (it.statement, it.section)
            lines += ["", *_folded(f"“{it.statement}” (section {it.section}; here: {it.expected})", width)]
        mark = "holds" if it.holds else "FAILS"
        lines.append(f"  {mark}  {it.case:<{_TITLE}} {it.ours}")
    return lines[1:]


def _folded(text: str, width: int) -> list[str]:
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return [*lines, line]


def _rings(found: Mapping[Case, Curve], ascii_only: bool) -> list[str]:  # noqa: FBT001
    lines = []
    for case, curve in found.items():
        lines.append(f"{case.title:<{_TITLE}} links {bars(curve['links'], ascii_only=ascii_only)} {curve['links'][-1]:8.3%}")
        lines.append(f"{'':<{_TITLE}} rings {bars(curve['rings'], ascii_only=ascii_only)} {curve['rings'][-1]:8.3%}")
    longest = max(len(curve["cycle"]) for curve in found.values())
    ruler = "".join("|" if cycle % 10 == 0 else " " for cycle in range(longest))
    return [*lines, f"{'':<{_TITLE}} cycle {ruler} (a mark each 10)"]


def _dissemination(found: Mapping[Case, Curve], ascii_only: bool) -> list[str]:  # noqa: FBT001
    curve = next(iter(found.values()))
    names = (
        ("complete disseminations", "complete"),
        ("hit ratio of the others", "hit_ratio_of_incomplete"),
        ("rings complete", "rings"),
    )
    lines = [f"{words:<{_TITLE}} {bars(curve[name], ascii_only=ascii_only)}" for words, name in names]
    return [*lines, f"{'after cycles':<{_TITLE}} {' '.join(f'{cycle:.0f}' for cycle in curve['cycle'])}"]


def _lengths(found: Mapping[Case, Curve], ascii_only: bool) -> list[str]:  # noqa: FBT001
    lines = []
    longest = max(max(curve["length"]) for curve in found.values())
    steps = range(1, max(int(longest).bit_length(), 2))
    lines.append(f"{'':<{_TITLE}} {' '.join(f'{1 << step:>6}-' for step in steps)}  longest")
    for case, curve in found.items():
        shares = []
        for step in steps:
            inside = (
                share
                for length, share in zip(curve["length"], curve["share"], strict=True)
                if int(length).bit_length() == step + 1
            )
            shares.append(sum(inside))
        told = " ".join(f"{share:6.1%}{bars([share], ascii_only=ascii_only)}" for share in shares)
        lines.append(f"{case.title:<{_TITLE}} {told}  {max(curve['length']):.0f}")
    return lines


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
            lines.append(f"{words:<{_TITLE}} {full * round(40 * mean / top)} {mean:.1f} hops, {most:.0f} at most")
    return lines


def _joins(found: Mapping[Case, Curve], ascii_only: bool) -> list[str]:  # noqa: FBT001
    curve = next(iter(found.values()))
    names = (("links from subscribers", "links_from"), ("links to subscribers", "links_to"), ("publishers", "publishers"))
    top = max(max(curve[name]) for _, name in names)
    lines = [f"{words:<{_TITLE}} {bars(curve[name], top=top, ascii_only=ascii_only)}" for words, name in names]
    return [
        *lines,
        f"{'':<{_TITLE}} {''.join('|' if cycle % 10 == 0 else ' ' for cycle in range(len(curve['cycles'])))} cycles",
    ]


def _load(found: Mapping[Case, Curve], ascii_only: bool) -> list[str]:  # noqa: FBT001
    lines = []
    top = max(max(curve["receipts"]) for curve in found.values())
    for case, curve in found.items():
        for what in ("receipts", "sends"):
            few = curve[what][:: max(1, len(curve[what]) // 40)]
            head = case.title if what == "receipts" else ""
            lines.append(f"{head:<{_TITLE}} {what:<8} {bars(few, top=top, ascii_only=ascii_only)} {curve[what][-1]:.1f}")
    return [*lines, f"{'':<{_TITLE}} for each event wanted, from the node with least to the one with most"]


def _nobody(found: Mapping[Case, Curve], ascii_only: bool) -> list[str]:  # noqa: FBT001, ARG001
    lines = []
    for case, curve in found.items():
        told = (
            f"wanted by {wanted:.0f}: {share:7.2%} of {asked:.0f}"
            for wanted, share, asked in zip(curve["wanted"], curve["share"], curve["asked"], strict=True)
        )
        lines.append(f"{case.title:<{_TITLE}} {',  '.join(told)}")
    return [*lines, f"{'':<{_TITLE}} of the publishers said that nobody wants it"]


_LINES: Final[dict[str, Callable[[Mapping[Case, Curve], bool], list[str]]]] = {
    "rings": _rings,
    "dissemination": _dissemination,
    "lengths": _lengths,
    "hops": _hops,
    "joins": _joins,
    "load": _load,
    "nobody": _nobody,
}
