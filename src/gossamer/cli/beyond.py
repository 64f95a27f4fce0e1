"""``gossamer beyond``: worlds in which things go wrong, and what each way of spreading makes of them."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import Any, Final

from gossamer import __version__
from gossamer.cli import running
from gossamer.cli.progress import Progress
from gossamer.report.modes import MODES, WORLDS, Line, line, markdown, means, scenarios
from gossamer.sim.run import StoppedError
from gossamer.trace.folder import renamed

__all__ = ["configure", "run"]

_NODES: Final = 10_000
_DESCRIPTION: Final = """\
Worlds that the papers do not look at, from presets of the same names: mass crashes, churn, loss, changed subscriptions,
partitions, newcomers, wildcards, several subscriptions a node, latency. In each, the paper's spreading and arcs, both with and
without repair, and Sub-2-Sub as printed: hit ratio at once and after ten cycles, copies and control messages for each
delivery, hops, and what nobody wanted.

  gossamer beyond crash --nodes 1000
  gossamer beyond --nodes 1000 --out beyond
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of the verb."""
    parser.description = _DESCRIPTION
    parser.add_argument("world", nargs="*", choices=[*WORLDS, []], metavar="WORLD", help=f"{', '.join(WORLDS)}; all of them")
    parser.add_argument("--nodes", type=running.whole(100, 1_000_000), default=_NODES, metavar="N", help=f"nodes ({_NODES})")
    parser.add_argument("--seeds", type=running.seed, nargs="+", default=[1], metavar="N", help="a run for each (1)")
    parser.add_argument("--mode", action="append", choices=list(MODES), help="a way of spreading; all of them")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where the runs, the page and its numbers go")
    running.threading(parser)
    running.going_on(parser)
    parser.add_argument("--json", action="store_true", help="print one object with every number, and no progress")


def run(args: argparse.Namespace) -> int:
    """Run the worlds and show them."""
    worlds, modes = args.world or list(WORLDS), args.mode or list(MODES)
    wanted = scenarios(worlds, modes, args.nodes, args.seeds)
    of_name = {scenario.name: mode for mode, scenario in wanted}
    todo = running.jobs([it for _, it in wanted], args.seeds, None if args.out is None else args.out / "runs")
    if args.out is not None:
        running.make_room(args.out, todo, replace=args.replace)
    lines: list[Line] = []
    with running.stoppable() as stop, Progress(quiet=args.json) as progress:
        progress.say(f"-- {len(todo)} runs of {args.nodes} nodes")
        try:
            for job, _, tables in running.carry_out(todo, args, progress, stop, resume=args.resume):
                lines.append(line(of_name[job.scenario.name], job.scenario, job.seed, tables))
        except StoppedError as stopped:
            progress.wipe()
            told = "nothing was kept, for there is no --out"
            told = told if args.out is None else f"to go on from there:\n  {running.again(args.words)}"
            print(f"gossamer: {stopped}; {told}", file=sys.stderr)
            return running.INTERRUPTED
    command = shlex.join(["gossamer", *args.words])
    page = [f"`{command}`, gossamer {__version__}", *markdown(means(lines))]
    kept: dict[str, Any] = {"gossamer": __version__, "command": command, "nodes": args.nodes, "seeds": args.seeds}
    kept["lines"] = [{**it._asdict(), **it.metrics, "metrics": None} for it in lines]
    for it in kept["lines"]:
        del it["metrics"]
    if args.out is not None:
        for name, text in (("beyond.md", "\n".join(page) + "\n"), ("beyond.json", json.dumps(kept, indent=1) + "\n")):
            with renamed(args.out / name) as partial:
                partial.write_text(text, encoding="utf-8")
    print(json.dumps(kept) if args.json else "\n".join(page))
    return 0
