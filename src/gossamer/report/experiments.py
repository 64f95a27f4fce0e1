"""The experiments of Sub-2-Sub: six worlds, and for each figure which of them it needs, and for how long.

One run serves as many figures as it can: rings are judged in every cycle, events spread on the way where the paper lets
them, and rejoins and publishers come last, in the world that has converged.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from gossamer.scenario import scenario as settings
from gossamer.scenario.scenario import Scenario

__all__ = ["CASES", "FIGURES", "MAIN", "Case", "Size", "scenarios"]


class Case(NamedTuple):
    """One of the worlds: how many attributes, and how interests are distributed."""

    attributes: int
    law: str

    @property
    def name(self) -> str:
        """Its name in presets and tables."""
        return f"{self.attributes}-{self.law}"

    @property
    def title(self) -> str:
        """Its name in figures."""
        plural = "" if self.attributes == 1 else "s"
        return f"{self.attributes} attribute{plural}, {'power law' if self.law == 'power' else self.law}"


class Size(NamedTuple):
    """How large the experiments are made."""

    nodes: int
    events: int
    rejoins: int
    publishers: int
    nobody: int


CASES: Final = tuple(Case(attributes, law) for attributes in (1, 3, 5) for law in ("uniform", "power"))
MAIN: Final = Case(3, "power")
"""The one to which the paper keeps after its first figure."""

FIGURES: Final[dict[str, tuple[Case, ...]]] = {
    "rings": CASES,
    "dissemination": (MAIN,),
    "lengths": CASES,
    "hops": (MAIN,),
    "joins": (MAIN,),
    "load": (Case(1, "power"), Case(3, "uniform"), MAIN),
    "nobody": tuple(case for case in CASES if case.attributes > 1),
}
"""The figures, and the worlds each is drawn from."""

_BUILDING: Final = 45
"""Cycles in which rings are watched: the paper's 40, and 5 more to see what came late."""
_CONVERGED: Final = 60
"""When rejoins begin: what is built by then is as good as it gets."""
_DATES: Final = (*range(1, 11), *range(12, 41, 2))
"""When all events spread anew, for the figure of dissemination."""


def scenarios(figures: Collection[str], size: Size, form: str, seeds: Sequence[int]) -> list[Scenario]:
    """What is to be run for some figures, a scenario for each world they need."""
    found = []
    for case in CASES:
        wanted = {name for name in figures if case in FIGURES[name]}
        if wanted:
            found.append(_scenario(case, wanted, size, form, tuple(seeds)))
    return found


def _scenario(case: Case, wanted: set[str], size: Size, form: str, seeds: tuple[int, ...]) -> Scenario:
    late = bool(wanted & {"joins", "nobody", "hops", "load"}) and case == MAIN
    cycles = _CONVERGED if late else 1 if wanted == {"lengths"} else _BUILDING
    dates = tuple(date for date in _DATES if date < cycles) if "dissemination" in wanted else ()
    return Scenario(
        name=f"sub2sub/{case.name}",
        seeds=seeds,
        system="sub2sub",
        form=form,
        cycles=cycles,
        population=settings.PopulationSettings(nodes=size.nodes, attributes=case.attributes, centre=(case.law,)),
        events=settings.EventSettings(count=size.events, at=(*dates, cycles)),
        rejoins=settings.RejoinSettings(count=size.rejoins if "joins" in wanted else 0, from_cycle=cycles),
        publishers=settings.PublisherSettings(
            count=size.publishers if "joins" in wanted else 0,
            nobody=size.nobody if "nobody" in wanted else 0,
            from_cycle=cycles,
        ),
    )
