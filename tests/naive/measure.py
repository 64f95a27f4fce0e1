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


def naive_spread(receipts: Sequence[tuple[int, int, int]], wanting: Sequence[set[int]]) -> list[tuple[int, ...]]:
    """(wanted, delivered, copies, unwanted, last hop, sum of hops) of each event, from (event, node, hop)."""
    rows: list[tuple[int, ...]] = []
    for e, nodes in enumerate(wanting):
        mine = [(node, hop) for event, node, hop in receipts if event == e]
        first: dict[int, int] = {}
        for node, hop in mine:
            if node in nodes:
                first[node] = min(hop, first.get(node, hop))
        unwanted = sum(node not in nodes for node, _ in mine)
        rows.append((len(nodes), len(first), len(mine), unwanted, max(first.values(), default=0), sum(first.values())))
    return rows


def naive_gini(values: Sequence[float]) -> float:
    """Mean difference of two values over twice the mean."""
    total = sum(values)
    if not total:
        return 0.0
    return sum(abs(a - b) for a in values for b in values) / (2 * len(values) * total)
