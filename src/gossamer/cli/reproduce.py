"""``gossamer reproduce``: a paper's experiments, and its statements beside our figures."""

from __future__ import annotations

import argparse
import difflib
import json
import math
import shlex
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gossamer import __version__
from gossamer.cli import running
from gossamer.cli.progress import Progress
from gossamer.errors import CallerError, MissingExtraError, ScenarioError
from gossamer.report import text
from gossamer.report.claims import Verdict, tally, verdicts
from gossamer.report.curves import Curve, Result, curves
from gossamer.report.drawing import TITLES, draw, require_extra
from gossamer.report.experiments import CASES, FIGURES, Case, Size, scenarios
from gossamer.report.page import write_page
from gossamer.sim.memory import said
from gossamer.sim.run import StoppedError, needs
from gossamer.trace.folder import renamed

__all__ = ["configure", "run"]

_FULL: Final = Size(nodes=10_000, events=10_000, rejoins=100, publishers=10_000, nobody=1_000)
_DEMO: Final = Size(nodes=2_500, events=2_500, rejoins=40, publishers=2_500, nobody=200)
_WIDEST: Final = 120
_DESCRIPTION: Final = """\
Run the experiments of a paper and set its statements beside what comes out here:
in the terminal, as JSON, and with --out as Parquet, SVG, PNG and one HTML page.
Without a figure's name, all of them; one run serves as many figures as it can.

  gossamer reproduce sub2sub --demo
  gossamer reproduce sub2sub rings hops --nodes 2000 --seeds 1 2 --out figures
  gossamer reproduce sub2sub --form better --out sub2sub
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of the verb."""
    parser.usage = "%(prog)s PAPER [FIGURE ...] [options]"  # argparse takes figures beside the paper only
    parser.description = _DESCRIPTION
    parser.epilog = "figures:\n" + "\n".join(f"  {name:<14} {title}" for name, title in TITLES.items())
    parser.add_argument("paper", choices=["sub2sub"], help="whose experiments")
    parser.add_argument("figure", nargs="*", metavar="FIGURE", help="which of them; their names are below")
    parser.add_argument("--nodes", type=running.whole(50, 10_000_000), metavar="N", help=f"nodes ({_FULL.nodes})")
    parser.add_argument(
        "--events", type=running.whole(1, 1 << 24), metavar="N", help="test events (as many as nodes, 10000 at most)"
    )
    parser.add_argument(
        "--rejoins", type=running.whole(1, 10_000_000), metavar="N",
        help="subscribers that join again, one at a time (1 in 100 nodes); as many as nodes: each in turn, as in the paper",
    )  # fmt: skip
    parser.add_argument("--seeds", type=running.seed, nargs="+", metavar="N", help="a run for each (1)")
    parser.add_argument(
        "--form", choices=["faithful", "better"], default="faithful", help="the paper's rules, or what does best"
    )
    parser.add_argument("--demo", action="store_true", help=f"a small world, about a minute: {_DEMO.nodes} nodes")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where tables, figures and the page go")
    running.threading(parser)
    running.going_on(parser)
    parser.add_argument("--json", action="store_true", help="print one object with every number, and no progress")


def run(args: argparse.Namespace) -> int:
    """Run the experiments, show them, and fail when a claim does."""
    unknown = [name for name in args.figure if name not in FIGURES]
    if unknown:
        close = difflib.get_close_matches(unknown[0], FIGURES, 1)
        hint = f"did you mean '{close[0]}'?" if close else f"the figures are {', '.join(FIGURES)}"
        raise CallerError(f"no figure '{unknown[0]}'\nHint: {hint}")
    if args.out is None and (args.resume or args.replace):
        raise CallerError("nothing is kept without --out\nHint: --out DIR")
    figures = [name for name in FIGURES if not args.figure or name in args.figure]
    size = _size(args)
    seeds = args.seeds or [1]
    runs = None if args.out is None else args.out / "runs"
    todo = running.jobs(scenarios(figures, size, args.form, seeds), seeds, runs)
    memory = max(needs(job.scenario).total for job in todo)
    if args.out is not None:
        running.make_room(args.out, todo, replace=args.replace)
    results: list[Result] = []
    left_out: dict[str, str] = {}

    def leave_out(job: running.Job, error: ScenarioError) -> None:
        left_out[job.name] = error.problem

    with running.stoppable() as stop, Progress(quiet=args.json) as progress:
        progress.say(f"-- Sub-2-Sub, {args.form}: {len(todo)} runs of {size.nodes} nodes, up to {said(memory)} of memory")
        try:
            every = running.CHECKPOINT_EVERY
            made_all = running.carry_out(todo, args, progress, stop, resume=args.resume, every=every, unfit=leave_out)
            for job, made, tables in made_all:
                case = next(case for case in CASES if job.scenario.name.endswith(case.name))
                results.append(Result(case, job.seed, args.form, tables, dict(made.metrics)))
        except StoppedError as stopped:
            progress.wipe()
            told = "nothing was kept, for there is no --out"
            told = told if args.out is None else f"to go on from there:\n  {running.again(args.words)}"
            print(f"gossamer: {stopped}; {told}", file=sys.stderr)
            return running.INTERRUPTED
    for name, problem in left_out.items():
        print(f"gossamer: {name} is left out: {problem}", file=sys.stderr)
    if not results:
        raise CallerError(f"no world could be made: {next(iter(left_out.values()))}\nHint: more --nodes")
    judged = verdicts(figures, results)
    shown = {name: found for name in figures if (found := curves(name, results))}
    named = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {', '.join(map(str, seeds))} (verdicts show the worst)"
    note = f"{size.nodes:,} nodes, {size.events:,} events, {args.form} form, {named}, gossamer {__version__}"
    note += f"; left out: {', '.join(left_out)}" if left_out else ""
    command = shlex.join(["gossamer", *args.words])
    kept: dict[str, Any] = {"paper": "sub2sub", "gossamer": __version__, "command": command, "form": args.form, "seeds": seeds}
    kept |= {"size": size._asdict(), "left_out": left_out, **_object(results, judged, shown)}
    if args.out is not None:
        _write(args.out, note, command, shown, judged, kept)
    if args.json:
        print(json.dumps(kept))
    else:
        print("\n".join([*_report(shown, judged, note), *([] if args.out is None else ["", str(args.out / "index.html")])]))
    return 1 if any(it.holds is False for it in judged) else 0


def _size(args: argparse.Namespace) -> Size:
    """How large the experiments are: all that is asked for beside the nodes shrinks with them."""
    base = _DEMO if args.demo else _FULL
    nodes = args.nodes or base.nodes
    share = min(1.0, nodes / base.nodes)
    return Size(
        nodes=nodes,
        events=args.events or max(1, round(base.events * share)),
        rejoins=args.rejoins or max(10, round(base.rejoins * share)),
        publishers=max(1, round(base.publishers * share)),
        nobody=max(50, round(base.nobody * share)),
    )


def _report(shown: Mapping[str, Mapping[Case, Curve]], judged: Sequence[Verdict], note: str) -> list[str]:
    """Everything for people."""
    plain = not _can_print("█“₂")
    width = max(40, min(shutil.get_terminal_size().columns, _WIDEST))
    lines = [*textwrap.wrap(note, width)]
    for name, found in shown.items():
        lines += ["", TITLES[name], "-" * len(TITLES[name]), *text.figure(name, found, ascii_only=plain)]
        lines += ["", *text.table([it for it in judged if it.figure == name], width)]
    lines += ["", tally(judged)]
    return [line.replace("“", '"').replace("”", '"') for line in lines] if plain else lines


def _can_print(signs: str) -> bool:
    try:
        signs.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _object(results: Sequence[Result], judged: Sequence[Verdict], shown: Mapping[str, Mapping[Case, Curve]]) -> dict[str, Any]:
    """Everything for programs: the metrics of each world, meant over seeds and each alone; the curves; the verdicts."""
    experiments = {}
    for case in dict.fromkeys(result.case for result in results):
        mine = [result for result in results if result.case == case]
        of_seeds = {str(result.seed): result.metrics for result in mine}
        experiments[case.name] = {**_meant([result.metrics for result in mine]), "seeds": of_seeds}
    found = {
        "experiments": experiments,
        "figures": {name: {case.name: curve for case, curve in found.items()} for name, found in shown.items()},
        "verdicts": [it._asdict() for it in judged],
        "holds": not any(it.holds is False for it in judged),
    }
    plain: dict[str, Any] = _finite(found)
    return plain


def _meant(metrics: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Metrics meant over runs, leaf by leaf; what one of them lacks is None."""
    found: dict[str, Any] = {}
    for name, value in metrics[0].items():
        others = [it.get(name) for it in metrics]
        if isinstance(value, Mapping):
            found[name] = _meant([other if isinstance(other, Mapping) else {} for other in others])
        else:
            found[name] = None if None in others else float(np.mean([float(other) for other in others if other is not None]))
    return found


def _finite(value: Any) -> Any:  # noqa: ANN401  (any JSON value)
    """The same without infinities and the like, for which JSON has no word."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write(
    out: Path,
    note: str,
    command: str,
    shown: Mapping[str, Mapping[Case, Curve]],
    judged: Sequence[Verdict],
    told: Mapping[str, Any],
) -> None:
    """Tables, numbers, pictures and the page; without the extra, the page has its figures as text."""
    for name in FIGURES:  # of an earlier run, which the page would not show
        for path in (out / f"{name}.parquet", out / "figures" / f"{name}.svg", out / "figures" / f"{name}.png"):
            path.unlink(missing_ok=True)
    with renamed(out / "numbers.json") as path:
        path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    _parquet(out / "verdicts.parquet", pa.Table.from_pylist([it._asdict() for it in judged]))
    for name, found in shown.items():
        parts = [pa.table({"case": [case.name] * len(next(iter(curve.values()))), **curve}) for case, curve in found.items()]
        _parquet(out / f"{name}.parquet", pa.concat_tables(parts, promote_options="permissive"))
    pictures = {}
    try:
        require_extra()
        pictures = {name: draw(name, found, out / "figures", note)["svg"] for name, found in shown.items()}
    except MissingExtraError as missing:
        print(f"gossamer: {missing}\nThe page has its figures as text.", file=sys.stderr)
    lines = {name: text.figure(name, found) for name, found in shown.items()}
    write_page(out / "index.html", note, command, judged, pictures, lines)


def _parquet(path: Path, table: pa.Table) -> None:
    with renamed(path) as partial:
        pq.write_table(table, partial, compression="zstd")
