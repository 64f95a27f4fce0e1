"""What Sub-2-Sub's papers state, and whether it holds here.

Sections and figures are those of the workshop paper (IPTPS 2006), with those of the report (INRIA 5772) in brackets. A
claim is judged in each run; it holds when it holds with every seed. Where the paper gives no number, ours is a bound that
we set and say; where its number depends on the size of the world, it is scaled.

The surprising thing: all rows act at once here, where the paper's simulator had them act one after the other. That costs
2-4 cycles, so what is not complete after the paper's 40 is looked at again after 45, and the verdict says so. And a world
may be too small for a claim: then there is no verdict, whatever came out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

from gossamer.arrays import NONE
from gossamer.report.curves import Result, curves
from gossamer.report.experiments import FIGURES, MAIN, Case
from gossamer.trace.folder import column

__all__ = ["STATEMENTS", "Verdict", "tally", "verdicts"]

_FULL_SIZE: Final = 10_000
_LEAST_SIZE: Final = 2_500
"""Nodes below which rings of few attributes are too short, and too few, to compare their lengths with the paper's."""
_LONG_ENOUGH: Final = 32
"""Subscribers the longest ring must have before a line of hops by length says something."""
_FEW: Final = 50
"""Events or publishers fewer than this are too few for a share of them."""
_LONGEST: Final = 246
_ENOUGH: Final = 0.99
_JOINING: Final = {"faithful": (15, 40), "better": (11, 25)}
"""By form, the bounds we set to rejoins: of the median, and of all but one in a hundred. One exchange a cycle takes time."""
_AHEAD: Final = 0.05
"""How much more disseminations than rings are complete, at some date on the way."""


class Verdict(NamedTuple):
    """One claim about one world: the paper's words, our figure, and whether it holds."""

    figure: str
    section: str
    case: str
    statement: str
    expected: str
    ours: str
    holds: bool | None
    """None where a world is too small to tell."""


class _Seen(NamedTuple):
    """What one run says of a claim."""

    ours: str
    worst: float
    """Lower is worse: which of several runs is shown."""
    holds: bool | None


STATEMENTS: Final = {
    "rings": "After 40 cycles, all rings are fully set up.",
    "dissemination": "Complete dissemination is achieved even before all rings are in place.",
    "lengths": "With 3 attributes and power law, rings range from 2 to 246 subscribers; with 5 they have 2-3.",
    "hops": "Hops to the last subscriber are logarithmic in the ring's length.",
    "joins": "Subscribers join a converged overlay in some cycles; all 10,000 publishers in five or less.",
    "load": "Load is evenly balanced: each receives an event once or a few more times, and forwards it to few.",
    "nobody": "A publisher can safely assume that nobody wants its event after 10 or 20 cycles.",
}
"""The paper's statement under each figure."""


def verdicts(figures: Sequence[str], results: Sequence[Result]) -> list[Verdict]:
    """All verdicts that the runs allow, figure by figure."""
    found = []
    for claim in (claim for figure in figures for claim in _CLAIMS if claim.figure == figure):
        for case in FIGURES[claim.figure]:
            verdict = claim.judge(case, [result for result in results if result.case == case])
            if verdict is not None:
                found.append(verdict)
    return found


def tally(judged: Sequence[Verdict]) -> str:
    """How many verdicts hold, fail, and cannot be told, in one line."""
    held, failed, untold = (sum(it.holds is one for it in judged) for one in (True, False, None))
    parts = []
    if held or failed:
        parts = [f"{held} of {held + failed} verdicts hold"]
    if failed:
        parts[-1] += f", {failed} do{'es' if failed == 1 else ''} not"
    if untold:
        parts.append(f"{untold} claim{'s' if untold > 1 else ''} cannot be judged in so small a world")
    return "; ".join(parts) or "no claim could be looked at"


class _Claim(NamedTuple):
    figure: str
    section: str
    statement: str
    expected: str
    cases: Callable[[Case], bool]
    look: Callable[[Result], _Seen | None]

    def judge(self, case: Case, results: Sequence[Result]) -> Verdict | None:
        """The verdict about one world: the worst of its runs is shown, and all must hold."""
        if not self.cases(case):
            return None
        seen = [it for result in results if (it := self.look(result)) is not None]
        if not seen:
            return None
        # One that fails is worse than one that cannot tell.
        worst = min(seen, key=lambda it: (it.holds is not False, it.holds is not None, it.worst))
        return Verdict(self.figure, self.section, case.title, self.statement, self.expected, worst.ours, worst.holds)


def _everywhere(case: Case) -> bool:  # noqa: ARG001
    return True


def _five(case: Case) -> bool:
    return case.attributes == 5  # noqa: PLR2004


def _main(case: Case) -> bool:
    return case == MAIN


# ---------------------------------------------------------------------------------------------------- construction


def _rings_built(result: Result) -> _Seen | None:
    curve = curves("rings", [result]).get(result.case)
    if curve is None or len(curve["cycle"]) <= 40:  # noqa: PLR2004  (the paper's 40 cycles)
        return None
    at_40, later = curve["rings"][40], curve["rings"][min(45, len(curve["rings"]) - 1)]
    done = result.metrics.get("complete_at")
    told = f"{at_40:.2%} of the rings after 40 cycles, " + ("not all at the end" if done is None else f"all after {done}")
    if at_40 < _ENOUGH <= later:
        told += f"; {later:.2%} after 45"
    return _Seen(told, at_40, max(at_40, later) >= _ENOUGH)


def _ahead(result: Result) -> _Seen | None:
    curve = curves("dissemination", [result]).get(result.case)
    if curve is None or len(curve["cycle"]) < 2:  # noqa: PLR2004
        return None
    enough = result.metrics.get("events", 0) >= _FEW
    lead = np.array(curve["complete"]) - np.array(curve["rings"])
    at = int(lead.argmax())
    told = f"after {curve['cycle'][at]:.0f} cycles {curve['complete'][at]:.1%} of disseminations are complete"
    told += f", of rings {curve['rings'][at]:.1%}"
    return _Seen(told, float(lead[at]), bool(lead[at] >= _AHEAD) if enough else None)


# ---------------------------------------------------------------------------------------------------- spreading


def _all_reached(result: Result) -> _Seen | None:
    ratio, rings = result.metrics.get("hit_ratio"), result.metrics.get("rings_complete")
    if ratio is None or rings is None:
        return None
    whole = "with all rings complete" if rings == 1.0 else f"with {rings:.2%} of the rings complete"
    return _Seen(f"hit ratio {ratio:.6g} {whole}", ratio, ratio == 1.0 or (rings < 1.0 and ratio >= rings))


def _no_spam(result: Result) -> _Seen | None:
    share = result.metrics.get("spam")
    return None if share is None else _Seen(f"spam {share:g}", -share, share == 0.0)


def _few_hops(result: Result) -> _Seen | None:
    found = result.metrics.get("hops")
    if found is None or found["per_doubling"] is None:
        return None
    slope, long, most = found["per_doubling"], found["at_128_to_255"], found["max_at_128_to_255"]
    told = f"hops = {found['base']:.2f} + {slope:.2f} log2(length)"
    holds: bool | None = 0.9 <= slope <= 1.7  # noqa: PLR2004  (one hop a doubling and more: chance shortcuts, no directory)
    longest = result.metrics["ring_length"]["max"]
    if longest < _LONG_ENOUGH:
        told += f"; the longest ring has {longest}"
        holds = None
    if long is not None:
        told += f"; rings of 128-255: {long:.1f} on average, {most} at most"
        holds = bool(holds) and long <= 10.5 and most <= 19  # noqa: PLR2004
    return _Seen(told, -slope, holds)


# ---------------------------------------------------------------------------------------------------- the rings' lengths


def _range(result: Result) -> _Seen | None:
    found = result.metrics.get("ring_length")
    if found is None:
        return None
    rows = result.metrics["rows"]
    slack = (0.77, 1.35) if rows >= _FULL_SIZE else (0.4, 2.5)  # the longest of few rings varies more
    expected = _LONGEST * rows / _FULL_SIZE
    holds = found["min"] == 2 and slack[0] * expected <= found["max"] <= slack[1] * expected  # noqa: PLR2004
    scaled = "" if rows == _FULL_SIZE else f" (the paper's, scaled: 2 to {expected:.0f})"
    told = f"{found['min']} to {found['max']}{scaled}"
    return _Seen(told, -abs(found["max"] - expected), holds if rows >= _LEAST_SIZE else None)


def _short(result: Result) -> _Seen | None:
    found = result.metrics.get("ring_length")
    if found is None:
        return None
    share, least = found["share_of_2_and_3"], 0.78 if result.case.law == "power" else 0.99
    # In a sparse world rings are short of themselves.
    return _Seen(
        f"{share:.1%} of the rings have 2 or 3", share, share >= least if result.metrics["rows"] >= _LEAST_SIZE else None
    )


# ---------------------------------------------------------------------------------------------------- joining, load, nobody


def _rejoined(result: Result) -> _Seen | None:
    found = result.metrics.get("joins", {}).get("subscriber")
    if found is None:
        return None
    both = found["both"]
    told = "; ".join(
        f"{words} {found[way]['p50'] or 0:g} / {'never' if found[way]['p99'] is None else format(found[way]['p99'], 'g')}"
        for way, words in (("links_from", "links from it: median / p99"), ("links_to", "links to it:"), ("both", "both:"))
    )
    patience, late_after = _JOINING[result.form]
    late = _late(result, late_after)
    told = f"{told} cycles ({both['done']} of {both['tried']} joined, {late} after more than {late_after} cycles)"
    quick = both["p50"] is not None and both["p50"] <= patience
    return _Seen(told, -float(late), quick and late <= max(1, both["tried"] // 100))


def _late(result: Result, cycles: int) -> int:
    """How many subscribers took more cycles than that, or never joined."""
    table = result.tables["joins"]
    of_rows = column(table, "kind") == "subscriber"
    begun, own, others = (column(table, name)[of_rows] for name in ("begun", "done_from", "done_to"))
    return int(((own == NONE) | (others == NONE) | (np.maximum(own, others) - begun > cycles)).sum())


def _found_quickly(result: Result) -> _Seen | None:
    found = result.metrics.get("joins", {}).get("publisher")
    if found is None:
        return None
    tried = found["tried"]
    told = f"{found['done']} of {tried} found a subscriber, {found['within_5']:.2%} within 5 cycles"
    late = round(tried * (1 - found["within_5"]))
    return _Seen(told, found["within_5"], found["done"] == tried and late <= max(1, tried // 1000))


def _received_evenly(result: Result) -> _Seen | None:
    found = result.metrics.get("load")
    if found is None:
        return None
    it = found["receipts"]
    told = f"receipts per event wanted: mean {it['mean']:.2f}, p99 {it['p99']:.2f}, Gini {it['gini']:.3f}"
    return _Seen(told, -it["p99"], it["p99"] <= 5 and it["gini"] <= 0.3)  # noqa: PLR2004


def _sent_evenly(result: Result) -> _Seen | None:
    found = result.metrics.get("load")
    if found is None:
        return None
    it = found["sends"]
    told = f"sends per event wanted: mean {it['mean']:.2f}, p99 {it['p99']:.2f}, most {it['max']:.2f}, Gini {it['gini']:.3f}"
    return _Seen(told, -it["max"], it["max"] <= 3)  # noqa: PLR2004


def _rightly_said(result: Result) -> _Seen | None:
    curve = curves("nobody", [result]).get(result.case)
    if curve is None:
        return None
    wrong = {int(wanted): share for wanted, share in zip(curve["wanted"], curve["share"], strict=True) if wanted > 0}
    right = {int(wanted): share for wanted, share in zip(curve["wanted"], curve["share"], strict=True) if wanted == 0}
    told = ", ".join([f"wanted by {wanted}: {share:.2%} say nobody" for wanted, share in (right | wrong).items()])
    worst = max(wrong.values(), default=0.0)
    holds = worst <= 0.01 and all(share == 1.0 for share in right.values())  # noqa: PLR2004
    asked = min((count for wanted, count in zip(curve["wanted"], curve["asked"], strict=True) if wanted), default=0)
    return _Seen(told, -worst, holds if asked >= _FEW else None)


_CLAIMS: Final = (
    _Claim(
        "rings",
        "5, figure 5 [6]",
        "After 40 cycles, all rings are fully set up.",
        ">= 99 % at 40, or at 45",
        _everywhere,
        _rings_built,
    ),
    _Claim(
        "rings",
        "4.2",
        "Events are propagated to all matching subscribers, achieving a hit ratio of 100 %.",
        "1 once all rings are complete",
        _everywhere,
        _all_reached,
    ),
    _Claim("rings", "4.2", "Spam is entirely out of the question.", "0", _everywhere, _no_spam),
    _Claim(
        "dissemination",
        "5, figure 6 [7]",
        "Complete dissemination is achieved even before all rings are in place.",
        ">= 5 % more disseminations than rings at some cycle",
        _main,
        _ahead,
    ),
    _Claim(
        "lengths",
        "5, figure 7a [8a]",
        "Rings range from very small (2 subscribers) to quite large (246 subscribers).",
        "2 to 190-330 at 10,000 nodes",
        _main,
        _range,
    ),
    _Claim(
        "lengths",
        "5, figure 7a [8a]",
        "In five-attribute schemes, rings are trivially short (2-3 subscribers).",
        ">= 99 % uniform, >= 78 % power law",
        _five,
        _short,
    ),
    _Claim(
        "hops",
        "5, figure 7b [8b]",
        "Hops and the number of matching subscribers: the relation is of logarithmic fashion.",
        "0.9-1.7 hops per doubling; at 128-255 <= 10.5 on average, <= 19 at most",
        _main,
        _few_hops,
    ),
    _Claim(
        "joins",
        "5, figure 8 [9]",
        "Cycles to re-establish all ring links of the rejoined subscriber and vice versa (a figure).",
        "median <= 15 (better form 11), all but one in 100 (or one) within 40 (25)",
        _main,
        _rejoined,
    ),
    _Claim(
        "joins",
        "5, figure 8 [9]",
        "All 10,000 publishers we tested joined in five or less cycles.",
        "all find one, all but one in 1,000 (or one) within 5",
        _main,
        _found_quickly,
    ),
    _Claim(
        "load",
        "4.2",
        "Each subscriber receives an event once or a few more times.",
        "p99 <= 5, Gini <= 0.3",
        _everywhere,
        _received_evenly,
    ),
    _Claim(
        "load",
        "4.2",
        "Upon first reception it forwards it to the same small number of nodes: two neighbours, a few random ones.",
        "<= 3 per event wanted, with one shortcut",
        _everywhere,
        _sent_evenly,
    ),
    _Claim(
        "nobody",
        "5",
        "A publisher can safely assume there is no subscriber matching its event after a low threshold of cycles.",
        "wrong in <= 1 %, right always when nobody does",
        _everywhere,
        _rightly_said,
    ),
)
"""Every claim, in the order of the paper's figures."""
