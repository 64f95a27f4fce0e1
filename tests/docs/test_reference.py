"""What the reference lists is what there is: every table with its columns, every metric, every layer of every system."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from docs import conf, spread
from gossamer.scenario.scenario import EventSettings, PopulationSettings, PublisherSettings, RejoinSettings, Scenario
from gossamer.sim.run import run
from gossamer.system.catalogue import SYSTEMS
from gossamer.trace.tables import TABLES

REFERENCE = Path(__file__).resolve().parent.parent.parent / "docs" / "reference"
BY_NUMBER = {"dissemination": "cycle", "nobody": "wanted"}
BY_PROTOCOL = ("messages_per_row_cycle", "bytes_per_row_cycle")


def read(page: str) -> str:
    return (REFERENCE / page).read_text(encoding="utf-8")


def test_the_page_of_traces_has_every_column_of_every_table_and_no_other() -> None:
    sections = re.split(r"^## ", read("traces.md"), flags=re.MULTILINE)[1:]
    listed = {part.split("\n", 1)[0]: re.findall(r"^\| `(\w+)` \| (\w+) \|", part, flags=re.MULTILINE) for part in sections}
    assert listed == {name: [(it.name, str(it.type)) for it in schema] for name, schema in TABLES.items()}


def names(found: Mapping[str, object], before: str = "") -> Iterator[str]:
    """The dotted name of every metric, with a word for what differs from run to run."""
    for key, value in found.items():
        word = BY_NUMBER.get(before.rstrip(".")) or ("protocol" if before.rstrip(".") in BY_PROTOCOL else None)
        path = before + (f"<{word}>" if word else key)
        if isinstance(value, Mapping):
            yield from names(value, path + ".")
        else:
            yield path


def listed_metrics() -> set[str]:
    """The names in the first column of the page's tables; ``.p99`` beside ``load.sends.mean`` is ``load.sends.p99``."""
    found = set()
    for cells in re.findall(r"^\| (`[^|]*) \|", read("metrics.md"), flags=re.MULTILINE):
        stem = ""
        for name in re.findall(r"`([^`]+)`", cells):
            whole = stem + name if name.startswith(".") else name
            stem = whole.rsplit(".", 1)[0]
            found.add(whole)
    return found


def test_the_page_of_metrics_has_every_metric_and_no_other() -> None:
    scenario = Scenario(
        cycles=12,
        population=PopulationSettings(nodes=120),
        events=EventSettings(count=60, at=(6, 12)),
        rejoins=RejoinSettings(count=1, from_cycle=12, limit_cycles=2),
        publishers=PublisherSettings(count=10, nobody=5, from_cycle=12),
    )
    made = {re.sub(r"^dissemination\.<cycle>\.", "", name) for name in names(run(scenario, 1).metrics)}
    assert made == listed_metrics()


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_is_on_its_page_with_all_that_it_is_made_of(system: str) -> None:
    page = read("systems.md")
    assert f"<!-- wiring {system} better -->" in page
    table = conf.wiring(system, "better")
    for layer in SYSTEMS[system]("better").layers:
        assert f"| {layer.name} |" in table
        assert f"gossamer.protocol.{layer.name}.Params" in page


def test_the_picture_in_the_readme_shows_a_run() -> None:
    """By arcs as many copies are received as nodes want the event, along the ring more; and every node is drawn twice."""
    drawn = ET.fromstring(spread.picture())  # noqa: S314  (our own)
    texts = [it.text or "" for it in drawn.iter("{http://www.w3.org/2000/svg}text")]
    told = [re.match(r"(\d+) nodes want it: (\d+) copies received", text) for text in texts]
    (wanted, copies), (same, fewest) = [(int(it[1]), int(it[2])) for it in told if it]
    assert wanted == same == fewest < copies
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}circle"))) == 2 * spread.NODES + 4
