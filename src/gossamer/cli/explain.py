"""``gossamer explain``: what a filter becomes, and what to expect of it."""

from __future__ import annotations

import argparse
import json
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gossamer.arrays import Mask
from gossamer.errors import CallerError
from gossamer.interest.box import box_text
from gossamer.interest.label import Datetime
from gossamer.interest.predicate import Filter
from gossamer.pipeline import cells, source
from gossamer.pipeline.cells import Reading
from gossamer.pipeline.interests import Wanted, parsed, sources
from gossamer.pipeline.ownworld import inferred
from gossamer.pipeline.verdict import holds_all

__all__ = ["configure", "run"]

_DESCRIPTION: Final = """\
Say what a filter becomes and what to expect of it: its boxes (all that other nodes are told),
whether they say it exactly, and with your own events how many it matches, by day where the
events have a moment; with others' filters, how many of those overlap it (its neighbours).
The schema is given, or inferred from the events.

  gossamer explain "mag >= 6" --events quakes.csv
  gossamer explain "mag >= 6" --schema quakes.toml --interests filters.txt
"""
_MOST_BYTES: Final = 256 << 20
_DAY_US: Final = 86_400_000_000
PAPER_COPIES: Final = 2.2
"""Copies of an event a receiver gets when it is spread along the ring and a shortcut; measured on whole rings."""
ARCS_COPIES: Final = 1.0
ARCS_CONTROL: Final = 0.4
"""Small messages beside each copy when arcs are delegated; measured on whole rings."""


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of the verb."""
    parser.description = _DESCRIPTION
    parser.add_argument("filter", metavar="FILTER", help="the WHERE clause of SQL, in quotes")
    parser.add_argument("--events", nargs="+", metavar="FILES", help="your own: CSV, JSON lines, Parquet")
    parser.add_argument("--schema", type=Path, metavar="FILE", help="fields as TOML or JSON")
    parser.add_argument("--interests", type=Path, metavar="FILE", help="others' filters, one a line")
    parser.add_argument("--json", action="store_true", help="print one object")


def run(args: argparse.Namespace) -> int:
    """Read what there is, and say what follows."""
    if args.schema is None and args.events is None:
        raise CallerError("no schema: what the filter's names mean is not known\nHint: --events FILES or --schema FILE")
    parts = source.chunks(source.files(args.events)) if args.events else []
    size = sum(Path(path).stat().st_size for path in {part.path for part in parts})
    if size > _MOST_BYTES:
        what = f"the events take {size >> 20} MiB, more than the {_MOST_BYTES >> 20} that are looked at here"
        raise CallerError(f"{what}\nHint: fewer files; or gossamer truth, which takes any number")
    rows = [source.read(part) for part in parts]
    reading = cells.loaded(args.schema, parts[0].header if parts else ()) if args.schema is not None else inferred(rows)
    wanted = Filter.parse(reading.schema, args.filter)
    told: dict[str, Any] = {
        "filter": wanted.text,
        "boxes": [box_text(reading.schema, box) for box in wanted.boxes],
        "exact": wanted.exact,
    }
    if rows:
        told |= _on_events(reading, wanted, rows)
    if args.interests is not None:
        told |= _among(reading, wanted, args.interests)
    print(json.dumps(told) if args.json else "\n".join(_lines(told)))
    return 0


def _on_events(reading: Reading, wanted: Filter, rows: list[source.Rows]) -> dict[str, Any]:
    """How many events lie in a box and match, and per day where there are moments."""
    total, in_box, matches, bad = 0, 0, 0, 0
    days: list[NDArray[np.int64]] = []
    matching: list[NDArray[np.int64]] = []
    place = next((d for d, field in enumerate(reading.schema) if isinstance(field, Datetime)), None)
    for some in rows:
        codes, texts, wrong = cells.encoded(reading, some)
        good = np.ones(codes.shape[0], dtype=np.bool_)
        good[list(wrong)] = False
        inside: Mask = good & reduce(
            np.logical_or, [((box[0] <= codes) & (codes <= box[1])).all(axis=1) for box in wanted.boxes]
        )
        told = dict(zip(cells.text_fields(reading.schema), texts, strict=True))
        matched = inside & holds_all(wanted.condition, codes, told)
        total, in_box, bad = total + int(good.sum()), in_box + int(inside.sum()), bad + int((~good).sum()) + len(some.bad)
        moments = codes[:, place] if place is not None else np.zeros(codes.shape[0], dtype=np.int64)
        dated = moments > np.iinfo(np.int64).min
        days.append(moments[good & dated] // _DAY_US)
        matching.append(moments[matched & dated] // _DAY_US)
        matches += int(matched.sum())
    found: dict[str, Any] = {
        "events": total,
        "events_bad": bad,
        "in_box": in_box,
        "matches": matches,
        "selectivity": matches / total if total else None,
    }
    every, mine = np.concatenate(days), np.concatenate(matching)
    if place is None or every.size == 0:
        return found
    span = int(every.max() - every.min()) + 1
    per_day = mine.size / span
    return found | {
        "day_field": reading.schema.names[place],
        "days": span,
        "matches_per_day": per_day,
        "busiest_day": int(np.unique(mine, return_counts=True)[1].max(initial=0)),
        "messages_per_day": {
            "paper": PAPER_COPIES * per_day,
            "arcs": ARCS_COPIES * per_day,
            "arcs_control": ARCS_CONTROL * per_day,
        },
    }


def _among(reading: Reading, wanted: Filter, path: Path) -> dict[str, Any]:
    """How many other filters want something that this one wants too."""
    others, bad, neighbours, same = 0, 0, 0, 0
    for one in chain.from_iterable(parsed(reading.schema, part) for part in sources(path)):
        if not isinstance(one, Wanted):
            bad += 1
            continue
        others += 1
        boxes = one.filter.boxes
        met = (boxes[:, None, 0] <= wanted.boxes[None, :, 1]) & (wanted.boxes[None, :, 0] <= boxes[:, None, 1])
        neighbours += bool(met.all(axis=2).any())
        same += one.filter.text == wanted.text
    return {"interests": others, "interests_bad": bad, "neighbours": neighbours, "same": same}


def _lines(told: dict[str, Any]) -> list[str]:
    """For people."""
    many = len(told["boxes"])
    lines = [f"{told['filter']}", f"{many} box{'es' if many > 1 else ''}, {_EXACT[told['exact']]}"]
    lines += [f"  {box}" for box in told["boxes"]]
    if "events" in told:
        skipped = f" ({told['events_bad']:,} rows could not be taken)" if told["events_bad"] else ""
        share = f", {told['selectivity']:.4g} of all" if told["selectivity"] is not None else ""
        lines.append(f"{told['matches']:,} of {told['events']:,} events match{share}{skipped}")
        if told["in_box"] > told["matches"]:
            lines.append(f"  {told['in_box'] - told['matches']:,} more lie in its boxes: received, then refused by the text")
    if "days" in told:
        sent = told["messages_per_day"]
        often = f"{told['matches_per_day']:.3g} a day over {told['days']:,} days by {told['day_field']}"
        arcs = f"{sent['arcs']:.3g} and {sent['arcs_control']:.3g} small ones in arcs mode"
        lines.append(f"{often}; {told['busiest_day']:,} on the busiest")
        lines.append(f"  messages a day: {sent['paper']:.3g} in paper mode, {arcs}")
    if "interests" in told:
        skipped = f" ({told['interests_bad']:,} could not be taken)" if told["interests_bad"] else ""
        lines.append(f"{told['neighbours']:,} of {told['interests']:,} other filters overlap it{skipped}")
    return lines


_EXACT: Final = {
    True: "exact",
    False: "with more in it than is asked for: the text is asked again where an event arrives",
}
