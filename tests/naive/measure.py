"""The metrics, typed out."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["naive_gini", "naive_link", "naive_spread"]

_WORD = 1 << 64


def naive_link(own: int, view: Sequence[tuple[int, int, bool]], *, ahead: bool) -> int:
    """The row of the first match after (or before) a key in cyclic order; -1 when there is none.

    view : (key, row, whether it wants the event) of each entry
    """
    matching = [((key - own) % _WORD if ahead else (own - key) % _WORD, row) for key, row, wants in view if wants]
    return min(matching)[1] if matching else -1


def naive_spread(
    receipts: Sequence[tuple[int, int, int, int, bool]], wanting: Sequence[set[int]], left: set[int]
) -> list[tuple[int, ...]]:
    """(wanted, delivered, copies, unwanted, last hop, sum of hops, repaired) of each event.

    receipts : (event, node, hop, tick, whether repair sent it); what was spread counts before what repair sent
    left     : nodes that went before they could be reached
    """
    rows: list[tuple[int, ...]] = []
    for e, nodes in enumerate(wanting):
        mine = sorted((late, tick, hop, node) for event, node, hop, tick, late in receipts if event == e)
        first: dict[int, tuple[int, bool]] = {}
        for late, _, hop, node in mine:
            if node in nodes - left:
                first.setdefault(node, (hop, late))
        spread = [hop for hop, late in first.values() if not late]
        unwanted = sum(node not in nodes for _, _, _, node in mine)
        repaired = len(first) - len(spread)
        rows.append((len(nodes - left), len(first), len(mine), unwanted, max(spread, default=0), sum(spread), repaired))
    return rows


def naive_gini(values: Sequence[float]) -> float:
    """Mean difference of two values over twice the mean."""
    total = sum(values)
    if not total:
        return 0.0
    return sum(abs(a - b) for a in values for b in values) / (2 * len(values) * total)
