"""``gossamer pipeline roll`` and ``stream``: traces as they are written, and their metrics while they are."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gossamer.cli import running
from gossamer.cli.progress import Progress
from gossamer.trace.folder import read_run, read_table
from gossamer.trace.rolled import FORMS, roll

if TYPE_CHECKING:
    from gossamer.pipeline.stream import Streamed

__all__ = ["PARTS"]

_ROLL: Final = """\
A finished run as live nodes would have written it by and by: rolled files, one for so
many ticks, with heartbeats and an end mark. A tick is a second. For trying streams.

  gossamer simulate loss --out loss --seed 1
  gossamer pipeline roll loss/seed-1 --out rolled
"""
_STREAM: Final = """\
Metrics of traces while they are written. Rolled files in DIR are put into windows of
the moment at which events were published; a window closes when that moment is past by
the delay, and rows that come later are counted. Ends by itself at the end mark. After
Ctrl-C or a crash the same command goes on.

  gossamer pipeline stream rolled --truth loss/seed-1 --out live
  gossamer pipeline stream rolled --truth pairs --out live --window 300 --delay 60
"""
_WINDOW_S, _DELAY_S, _TICKS, _EVERY_S = 60, 30, 60, 1
_MOST_S: Final = 1 << 31


def _of_roll(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder of a finished run")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="where the files go; a new folder")
    seconds = running.whole(1, _MOST_S)
    parser.add_argument("--ticks", type=seconds, default=_TICKS, metavar="T", help=f"ticks in a file ({_TICKS})")
    parser.add_argument("--form", choices=FORMS, default=FORMS[0], help=f"of the files ({FORMS[0]})")


def _of_stream(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the rolled files come")
    parser.add_argument(
        "--truth",
        required=True,
        type=Path,
        metavar="DIR",
        help="who wants what: a run's folder, or Parquet with event and node",
    )
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="where the metrics go, and what to go on from")
    seconds = running.whole(1, _MOST_S)
    parser.add_argument("--window", type=seconds, default=_WINDOW_S, metavar="S", help=f"seconds of a window ({_WINDOW_S})")
    parser.add_argument(
        "--delay", type=running.whole(0, _MOST_S), default=_DELAY_S, metavar="S",
        help=f"seconds that rows may come after their event ({_DELAY_S})",
    )  # fmt: skip
    parser.add_argument("--form", choices=FORMS, default=FORMS[0], help=f"of the files ({FORMS[0]})")
    parser.add_argument("--once", action="store_true", help="take what is there now, and stop")
    parser.add_argument("--files", type=running.whole(0, 1 << 20), default=0, metavar="N", help="at most so many at once")
    parser.add_argument(
        "--every", type=seconds, default=_EVERY_S, metavar="S", help=f"look for new files every so many seconds ({_EVERY_S})"
    )


def _roll(args: argparse.Namespace) -> int:
    """Roll a finished run."""
    tables = {name: read_table(args.run, name) for name in read_run(args.run).rows}
    files = roll(tables, args.out, ticks=args.ticks, form=args.form)
    print(json.dumps({"files": files, "folder": str(args.out)}) if args.json else f"{files} files in {args.out}")
    return 0


def _stream(args: argparse.Namespace) -> int:
    """Measure as files come."""
    from gossamer.pipeline.session import parsed, session  # noqa: PLC0415  (an extra, as below)
    from gossamer.pipeline.stream import Streaming, stream  # noqa: PLC0415

    conf, how = parsed(args.conf), Streaming(window_s=args.window, delay_s=args.delay, form=args.form)
    with Progress(quiet=args.json) as progress, session(master=args.master, conf=conf) as spark:

        def tell(so_far: Streamed) -> None:
            progress.say(f"-- {so_far.windows} windows closed, {so_far.events:,} events, {so_far.rows:,} rows")

        how_far = {"once": args.once, "files": args.files, "every_s": args.every}
        found = stream(spark, args.folder, args.truth, args.out, how, tell=tell, **how_far)
    if args.json:
        print(json.dumps(found._asdict()))
    else:
        print("\n".join(_lines(found)))
        sys.stdout.flush()
    return 0


def _lines(found: Streamed) -> list[str]:
    """What came of it, for people."""
    rows = f"{found.rows:,} rows, {found.twice:,} of them written twice"
    rest = f"{found.waiting:,} wait or are late" if found.late is None else f"{found.late:,} late"
    lines = [f"{found.windows} windows, {found.events:,} events", f"{rows}, {rest}"]
    for name, value in found.metrics.items():
        lines.append(f"{name:<24} {'-' if value is None else format(value, '.6g')}")
    return lines if found.ended else [*lines, "the end mark has not come; the same command goes on"]


PARTS: Final = {"roll": (_ROLL, _of_roll, _roll), "stream": (_STREAM, _of_stream, _stream)}
"""Of each part what its help says, its arguments, and what it does."""
