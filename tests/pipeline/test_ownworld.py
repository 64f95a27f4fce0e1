"""The user's own world: what lies in a box and does not match the text is counted apart."""

from __future__ import annotations

import csv
from pathlib import Path

from gossamer.interest.predicate import Filter
from gossamer.pipeline.ownworld import read

PLACES = ["Southampton", "Southampton Row", "Southwark", "South", "Southampt", "", "Northampton"]
FILTERS = [
    "place = 'Southampton'",
    "place LIKE 'Southampton R%'",
    "place = 'South' OR size > 8",
    "size BETWEEN 2 AND 5",
    "place > 'Southampton' AND size < 5",
    "place <> 'Southampton Row'",
]


def test_what_lies_in_a_box_and_does_not_match_its_text_is_counted_apart(tmp_path: Path) -> None:
    events = [{"place": PLACES[n % len(PLACES)], "size": n % 11} for n in range(140)]
    with (tmp_path / "events.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["place", "size"])
        writer.writeheader()
        writer.writerows(events)
    (tmp_path / "filters.txt").write_text("\n".join(FILTERS) + "\n", encoding="utf-8")
    (tmp_path / "schema.toml").write_text('place = "string"\nsize = "int"\n', encoding="utf-8")
    world = read([str(tmp_path / "events.csv")], tmp_path / "filters.txt", tmp_path / "schema.toml", 1_000)
    rows = [it | {"place": it["place"] or None} for it in events]
    apart = 0
    for text in FILTERS:
        wanted = Filter.parse(world.reading.schema, text)
        apart += sum(wanted.may_match(world.reading.schema.encode(row)) and not wanted.matches(row) for row in rows)
    assert apart > 20
    assert world.only_in_box == apart
    few = read([str(tmp_path / "events.csv")], tmp_path / "filters.txt", tmp_path / "schema.toml", 20)
    assert 0 < few.only_in_box < apart
