"""What the benchmarks share: how a speed is taken, what it is held against, and how it is told.

A figure is CPU seconds or made of them, for those hardly depend on what else the machine does: the least of some repeats, with
kernels compiled before. What it is compared with is measured in the same run. Only the gain of a second core is wall time,
and is worth reading on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Literal

__all__ = ["Figure", "Size", "cpu_s", "main", "peak_mib", "wall_s"]

Size = Literal["tiny", "small", "large"]
_SIZES: tuple[Size, ...] = ("tiny", "small", "large")
_DATE = "%Y-%m-%d"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One line of a benchmark."""

    name: str
    """What was measured, in words."""
    value: float | None
    """None where it could not be measured; the remark says why."""
    unit: str
    must: float | None = None
    """What it must reach."""
    aim: float | None = None
    """What we would be proud of."""
    less: bool = False
    """Whether less is better."""
    remark: str = ""

    @property
    def verdict(self) -> str:
        """Whether it reaches what it is held against."""
        if self.value is None:
            return "left out"
        for bound, word in ((self.aim, "aim reached"), (self.must, "reached")):
            if bound is not None and (self.value <= bound if self.less else self.value >= bound):
                return word
        return "" if self.must is None else "SHORT"


def cpu_s(job: Callable[[], object], repeats: int = 3) -> float:
    """The least CPU seconds of all threads that a job took."""
    return _least(job, repeats, time.process_time)


def wall_s(job: Callable[[], object], repeats: int = 3) -> float:
    """The least seconds by the clock that a job took."""
    return _least(job, repeats, time.perf_counter)


def peak_mib() -> float:
    """The most memory this process has held so far, in MiB."""
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def main(name: str, about: str, measure: Callable[[Size, int], Iterator[Figure]], argv: list[str] | None = None) -> int:
    """Measure, and tell each figure as soon as it is known; with --json one object at the end instead."""
    parser = argparse.ArgumentParser(prog=name, description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--size", choices=_SIZES, default="small", help="small takes seconds, large minutes; tiny shows that it runs"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the worlds (1)")
    parser.add_argument("--json", action="store_true", help="print one object")
    args = parser.parse_args(argv)
    found, about_run = [], {"benchmark": name, "size": args.size, "seed": args.seed, "machine": _machine()}
    if not args.json:
        print(f"{name}, size {args.size}, seed {args.seed}: {_said(about_run['machine'])}")
    for figure in measure(args.size, args.seed):
        found.append({**asdict(figure), "verdict": figure.verdict})
        if not args.json:
            print(_line(figure), flush=True)
    if args.json:
        print(json.dumps({**about_run, "load_after": _load(), "figures": found}))
    else:
        print(f"{'':2}load {_load():.1f} at the end\n")
    return 0


def _least(job: Callable[[], object], repeats: int, clock: Callable[[], float]) -> float:
    taken = []
    for _ in range(repeats):
        begun = clock()
        job()
        taken.append(clock() - begun)
    return min(taken)


def _line(figure: Figure) -> str:
    value = "-" if figure.value is None else _number(figure.value)
    held = [f"{word} {_number(bound)}" for word, bound in (("must", figure.must), ("aim", figure.aim)) if bound is not None]
    return f"  {figure.name:<62} {value:>10} {figure.unit:<18} {', '.join(held):<22} {figure.verdict} {figure.remark}".rstrip()


def _number(value: float) -> str:
    for bound, letter in ((1e6, "M"), (1e4, "K")):
        if abs(value) >= bound:
            return f"{value / (1e6 if letter == 'M' else 1e3):.3g} {letter}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"  # noqa: PLR2004


def _machine() -> dict[str, object]:
    return {
        "date": time.strftime(_DATE),
        "cores": os.cpu_count(),
        "load": _load(),
        "processor": _processor(),
        "python": platform.python_version(),
        "numba": version("numba"),
    }


def _said(machine: object) -> str:
    assert isinstance(machine, dict)  # noqa: S101  (a type checker cannot know)
    return ", ".join(f"{what} {value}" for what, value in machine.items())


def _load() -> float:
    """Processes that want to run, on average over a minute."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else 0.0


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:  # noqa: PTH123
            return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
