"""``gossamer truth``: who should have received what, from the user's own events and filters."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gossamer import __version__
from gossamer.cli import running
from gossamer.errors import CallerError, DataError
from gossamer.pipeline import cells, failures, interests, source
from gossamer.pipeline.session import parsed, session

if TYPE_CHECKING:
    from gossamer.pipeline.own import DataFrame

__all__ = ["configure", "run"]

_DESCRIPTION: Final = """\
Say which events whom should have reached: your own events (CSV, JSON lines, Parquet: files,
folders or globs) against your own filters (one a line; an id and a tab may stand before it).
Without --schema one is inferred from all cells, and shown; save it, change it, give it back.

For every event: in how many filters' boxes it lies (what other nodes can tell), how many
filters it matches (by their text), and a hash of which. A row or filter that cannot be taken
is named with file, line and reason; --on-error skip goes on without those, and counts them.

  gossamer truth --events quakes.csv --interests filters.txt
  gossamer truth --events 'logs/*.jsonl' --interests who.csv --out truth --pairs --on-error skip
"""
_MARK: Final = "truth.json"
_MEMORY: Final = 384


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of the verb."""
    parser.description = _DESCRIPTION
    parser.add_argument("--events", required=True, nargs="+", metavar="FILES", help="files, folders or globs")
    parser.add_argument("--interests", required=True, type=Path, metavar="FILE", help="one filter a line")
    parser.add_argument("--schema", type=Path, metavar="FILE", help="fields as TOML or JSON, instead of inferring them")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where the answers go, as Parquet")
    parser.add_argument("--replace", action="store_true", help="let an older answer in DIR give way")
    parser.add_argument("--pairs", action="store_true", help="write every event with every filter it matches, too")
    parser.add_argument("--on-error", choices=("fail", "skip"), default="fail", help="what a bad row or filter does (fail)")
    parser.add_argument("--explain", action="store_true", help="say how it is done and why, and how even the tasks are")
    parser.add_argument("--plan", choices=("one", "events", "tiles"), help="do it so, whatever the planner says")
    parser.add_argument("--tasks", type=running.whole(1, 1 << 16), metavar="N", help="tasks where there are several")
    parser.add_argument(
        "--memory", type=running.whole(1, 1 << 20), default=_MEMORY, metavar="MIB",
        help=f"what the boxes of one task may take ({_MEMORY})",
    )  # fmt: skip
    parser.add_argument("--master", metavar="URL", help="where Spark runs (local[*])")
    parser.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark")
    parser.add_argument("--json", action="store_true", help="print one object")


def run(args: argparse.Namespace) -> int:
    """Read, judge, write, say."""
    if args.pairs and args.out is None:
        raise CallerError("--pairs: there can be very many\nHint: --out DIR says where they go")
    if args.out is not None:
        _room(args.out, replace=args.replace)
    parts = source.chunks(source.files(args.events))
    filters = interests.sources(args.interests)
    header = parts[0].header if parts else ()
    reading = cells.loaded(args.schema, header) if args.schema is not None else None
    with session(master=args.master, conf=parsed(args.conf)) as spark:
        from gossamer.pipeline import own  # noqa: PLC0415  (needs the extra; the session has said so if it is missing)

        with failures.told("judging"):
            if reading is None:
                reading = own.infer(spark, parts)
            _say(args, _schema_text(args, reading))
            published = own.events(spark, reading, parts)
            wanted = own.without_twins(own.interests(spark, reading.schema, filters))
            with own.kept(published, wanted):
                told, bad = _judged(args, reading, parts, wanted, published)
    if args.json:
        print(json.dumps({**told, "schema": cells.shown(reading), "bad": bad}))
    else:
        print("\n".join(_lines(told, args.out)))
    return 0


def _judged(
    args: argparse.Namespace, reading: cells.Reading, parts: list[source.Chunk], wanted: DataFrame, published: DataFrame
) -> tuple[dict[str, Any], list[str]]:
    """The answer in figures, and what was skipped; written where it should be."""
    from gossamer.pipeline import own  # noqa: PLC0415
    from gossamer.pipeline.plan import planned  # noqa: PLC0415

    bad_events, bad_filters = own.bad_rows(published, "event"), own.bad_rows(wanted, "node")
    _complain(args, bad_events, bad_filters)
    boxes, events = wanted.where("bad is null").drop("bad"), published.where("bad is null").drop("bad")
    told = own.counted(boxes, events) | {"events_bad": bad_events[0], "filters_bad": bad_filters[0]}
    if not told["filters"] or not told["events"]:
        what = args.interests if not told["filters"] else args.events[0]
        raise DataError(f"{what}: nothing left to judge\nHint: an event or a filter a line, see gossamer truth --help")
    plan = planned(boxes, events, way=args.plan, tasks=args.tasks, memory_bytes=args.memory << 20)
    if args.explain:
        told["plan"] = own.explained(boxes, events, plan)
    answer = own.answers(boxes, events, plan, reading.schema, parts)
    if args.out is None:
        return told | own.summed(answer), [*bad_events[1], *bad_filters[1]]
    given = own.pairs(boxes, events, plan, reading.schema, parts) if args.pairs else None
    folder = args.out.with_name(f"{args.out.name}.{os.getpid()}.partial").absolute()
    try:
        told |= own.written(folder, answer, given)
        (folder / "schema.toml").write_text(cells.shown(reading), encoding="utf-8")
        (folder / _MARK).write_text(json.dumps({"gossamer": __version__, **told}, indent=1) + "\n", encoding="utf-8")
        _put(folder, args.out)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return told, [*bad_events[1], *bad_filters[1]]


def _room(out: Path, *, replace: bool) -> None:
    """Whether the answers can go there."""
    if not out.parent.is_dir():
        raise DataError(f"{out}: {out.parent} is no folder\nHint: make it first")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        ours = (out / _MARK).is_file()
        if not ours:
            raise DataError(f"{out}: holds something else, and was left alone\nHint: another --out")
        if not replace:
            raise DataError(f"{out}: holds an older answer\nHint: --replace lets it give way, or another --out")


def _put(folder: Path, out: Path) -> None:
    """The finished folder takes its place; the older one goes only then."""
    older = out.with_name(f"{out.name}.{os.getpid()}.older")
    if out.exists():
        out.rename(older)
    folder.rename(out)
    shutil.rmtree(older, ignore_errors=True)


def _say(args: argparse.Namespace, text: str) -> None:
    if not args.json:
        print(text, file=sys.stderr)


def _schema_text(args: argparse.Namespace, reading: cells.Reading) -> str:
    origin = (
        "inferred; to change it, save these lines as a .toml and give them as --schema" if args.schema is None else args.schema
    )
    notes = "".join(f"# {note}\n" for note in reading.notes)
    return f"# schema: {origin}\n{notes}{cells.shown(reading)}"


def _complain(args: argparse.Namespace, events: tuple[int, list[str]], filters: tuple[int, list[str]]) -> None:
    """List what cannot be taken; it ends here unless it may be skipped."""
    lines = []
    for (count, few), what in ((events, "rows"), (filters, "filters")):
        if count:
            lines += [f"{count} {what} cannot be taken:", *(f"  {line}" for it in few for line in it.splitlines())]
            lines += [f"  and {count - len(few)} more"] if count > len(few) else []
    if not lines:
        return
    if args.on_error == "fail":
        raise DataError("\n".join([*lines, "Hint: mend them, or --on-error skip goes on without them"]))
    print("\n".join(["gossamer: skipped", *lines]), file=sys.stderr)


def _lines(told: Mapping[str, Any], out: Path | None) -> list[str]:
    """The answer for people."""
    lines = []
    if "plan" in told:
        lines += [*told["plan"]["why"], "", *_loads(told["plan"]["tasks"]), ""]
    skipped = f", {told['events_bad']:,} skipped" if told["events_bad"] else ""
    lines.append(f"{told['events']:,} events{skipped}")
    skipped = f", {told['filters_bad']:,} skipped" if told["filters_bad"] else ""
    lines.append(
        f"{told['filters']:,} filters in {told['boxes']:,} boxes, {told['not_exact']:,} of them asked by text at last{skipped}"
    )
    lines.append(
        f"{told['matches']:,} matches, {told['matches'] / told['events']:.3g} an event; {told['nobody']:,} events nobody wants"
    )
    extra = told["in_box"] - told["matches"]
    lines.append(f"{told['in_box']:,} in a box: {extra:,} that the text then refuses")
    lines.append(f"hash {told['hash']}")
    return lines if out is None else [*lines, f"written to {out}"]


def _loads(tasks: list[dict[str, int]]) -> list[str]:
    """A line a task, and how much the fullest has above the mean."""
    names = ("task", "events", "boxes", "tested", "matches")
    rows = [tuple(f"{task[name]:,}" for name in names) for task in tasks[:16]]
    lines = ["".join(f"{cell:>16}" for cell in row) for row in [names, *rows]]
    lines += [f"  and {len(tasks) - len(rows)} more tasks"] if len(tasks) > len(rows) else []
    most = {
        name: max(task[name] for task in tasks) * len(tasks) / max(1, sum(task[name] for task in tasks)) for name in names[1:]
    }
    return [*lines, "fullest / mean".rjust(16) + "".join(f"{most[name]:>16.2f}" for name in names[1:])]
