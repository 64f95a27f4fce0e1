"""Events that travel while everything happens: every table and metric of a run, typed out from the bare log of its messages."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from gossamer.measure.delivery import Spread
from gossamer.protocol.spread import ARC, COPY, REPAIR
from gossamer.scenario.population import population
from gossamer.scenario.workload import events
from gossamer.sim.riding import Ride
from gossamer.sim.run import Options, Outcome, run
from gossamer.truth.judge import current
from tests.naive.measure import naive_spread
from tests.sim.worlds import turmoil

PATIENCE = 10
"""Cycles a node has to stay to count as one that missed something."""


@dataclass
class Journey:
    """A run, and every message about an event in it as it was received."""

    outcome: Outcome
    log: list[dict[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Who wants what, by plain looking."""
        scenario = self.outcome.scenario
        self.people = population(scenario, self.outcome.seed)
        self.events = events(scenario, self.people, self.outcome.seed)
        self.node = [int(node) for node in self.people.node]
        self.leaves = {int(n): int(c) for n, c in zip(self.people.node, self.people.leaves, strict=True)}
        self.dated = [(e, int(c)) for e, c in enumerate(self.events.cycle) if c < scenario.cycles]
        self.rows_wanting = [
            {int(self.people.owner[h]) for h in current(self.people, cycle) if self.holds(int(h), e)} for e, cycle in self.dated
        ]
        self.wanting = [{self.node[row] for row in rows} for rows in self.rows_wanting]
        self.left = [{node for node in self.leaves if self.leaves[node] <= cycle + PATIENCE} for _, cycle in self.dated]

    def holds(self, handle: int, event: int) -> bool:
        """Whether a descriptor wants an event."""
        low, high = self.people.boxes[handle].tolist()
        return all(a <= x <= b for a, x, b in zip(low, self.events.points[event].tolist(), high, strict=True))

    def between_nodes(self, *, carrying: bool) -> list[dict[str, int]]:
        """Messages from another node or a publisher: those that bring the event, or those that do not."""
        return [
            m
            for m in self.log
            if (m["what"] in (COPY, ARC, REPAIR)) == carrying
            and (m["source"] == -1 or self.node[m["source"]] != self.node[m["row"]])
        ]

    def table(self, name: str) -> list[dict[str, Any]]:
        """A table of the run, row by row."""
        return self.outcome.tables[name].to_pylist()  # type: ignore[no-any-return]


@pytest.fixture(scope="module", params=[("gossamer", "better", 3), ("sub2sub", "faithful", 1)])
def journey(request: pytest.FixtureRequest) -> Journey:
    """A run in which everything happens, three subscriptions a node."""
    system, form, blocks = request.param
    scenario = turmoil(system, form)
    scenario = replace(scenario, population=replace(scenario.population, nodes=40, attributes=1, subscriptions=3))
    log: list[dict[str, int]] = []
    honest = Ride.write_down

    def overhear(ride: Ride, cycle: int) -> None:
        world = ride.world
        for part in ride.lane.log:
            for m in range(int(part.used[0])):
                names = ("event", "row", "hop", "what", "new", "tick")
                message = {name: int(getattr(part, name)[m]) for name in names} | {"cycle": cycle}
                sender = int(part.sender[m])
                message["source"] = -1 if sender == -1 else int(world.people.owner[sender])
                message["own"] = int(world.own[message["row"]])
                log.append(message)
        honest(ride, cycle)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ride, "write_down", overhear)
        outcome = run(scenario, 1, Options(blocks=blocks))
    return Journey(outcome, log)


def test_the_world_is_one_in_which_all_of_this_happens(journey: Journey) -> None:
    spread = Spread(*(journey.outcome.tables["spreads"].column(name).to_numpy() for name in Spread._fields))
    assert len(journey.dated) > 50
    assert any(nodes & gone for nodes, gone in zip(journey.wanting, journey.left, strict=True))
    assert any(len(rows) > len(nodes) for rows, nodes in zip(journey.rows_wanting, journey.wanting, strict=True))
    assert len(journey.between_nodes(carrying=True)) < sum(m["what"] in (COPY, ARC, REPAIR) for m in journey.log)
    assert int((spread.delivered < spread.wanted).sum()) > 0
    assert int(spread.unwanted.sum()) > 0
    if journey.outcome.scenario.system == "gossamer":
        assert int(spread.repaired.sum()) > 0
        assert int(spread.control.sum()) > 0


def test_publications_are_handed_to_one_who_wants_them(journey: Journey) -> None:
    table = journey.table("publications")
    assert [(row["event"], row["cycle"]) for row in table] == journey.dated
    assert [row["wanted"] for row in table] == [len(nodes) for nodes in journey.wanting]
    for row, rows in zip(table, journey.rows_wanting, strict=True):
        assert row["first"] in (rows or {-1})
        assert row["tries"] == 0
        assert row["tick"] == row["cycle"] * journey.outcome.scenario.timers.ticks
    handed = {(m["event"], m["row"], m["tick"]) for m in journey.log if m["source"] == -1}
    assert handed == {(row["event"], row["first"], row["tick"]) for row in table if row["first"] != -1}


def test_receipts_are_the_messages_between_nodes_that_bring_an_event(journey: Journey) -> None:
    expected = [
        {
            "event": m["event"],
            "node": journey.node[m["row"]],
            "row": m["row"],
            "sender": m["source"],
            "cycle": m["cycle"],
            "tick": m["tick"],
            "hop": m["hop"],
            "wanted": journey.holds(m["own"], m["event"]),
            "duplicate": not m["new"],
            "repaired": m["what"] == REPAIR,
        }
        for m in journey.between_nodes(carrying=True)
    ]
    table = journey.table("receipts")
    assert sorted(map(str, table)) == sorted(map(str, expected))
    assert [row["tick"] for row in table] == sorted(row["tick"] for row in table)


def test_deliveries_are_each_nodes_first_receipt_by_a_row_that_wants_it(journey: Journey) -> None:
    first: dict[tuple[int, int], tuple[int, int, int, bool]] = {}
    for m in journey.between_nodes(carrying=True):
        if journey.holds(m["own"], m["event"]):
            pair, mine = (m["event"], journey.node[m["row"]]), (m["tick"], m["hop"], m["cycle"], m["what"] == REPAIR)
            if pair not in first or mine[:2] < first[pair][:2]:
                first[pair] = mine
    table = journey.table("deliveries")
    told = {(row["event"], row["node"]): (row["tick"], row["hop"], row["cycle"], row["repaired"]) for row in table}
    assert len(told) == len(table)
    assert told == first


def spreads(journey: Journey) -> list[tuple[int, ...]]:
    """(wanted, delivered, copies, unwanted, last hop, sum of hops, repaired) of each event."""
    rows = []
    mail = journey.between_nodes(carrying=True)
    for n, (event, _) in enumerate(journey.dated):
        mine = [(0, journey.node[m["row"]], m["hop"], m["tick"], m["what"] == REPAIR) for m in mail if m["event"] == event]
        rows += naive_spread(mine, [journey.wanting[n]], journey.left[n])
    return rows


def test_spreads_are_receipts_summed_up_by_event_without_those_who_soon_left(journey: Journey) -> None:
    names = ("wanted", "delivered", "copies", "unwanted", "last_hop", "hops", "repaired")
    control = Counter(m["event"] for m in journey.between_nodes(carrying=False))
    table = journey.table("spreads")
    assert [(row["event"], row["cycle"]) for row in table] == journey.dated
    assert [tuple(row[name] for name in names) for row in table] == spreads(journey)
    assert [row["control"] for row in table] == [control[event] for event, _ in journey.dated]


def test_nodes_carry_what_they_received_sent_and_wanted(journey: Journey) -> None:
    mail = journey.between_nodes(carrying=True)
    received = Counter(journey.node[m["row"]] for m in mail)
    sent = Counter(journey.node[m["source"]] for m in mail if m["source"] != -1)
    control = Counter(journey.node[m["source"]] for m in journey.between_nodes(carrying=False))
    wanted = Counter(node for nodes in journey.wanting for node in nodes)
    expected = [
        {"node": n, "wanted": wanted[n], "receipts": received[n], "sends": sent[n], "control": control[n]}
        for n in range(max(journey.node) + 1)
    ]
    assert journey.table("nodes") == expected


def test_metrics_are_those_of_the_definitions(journey: Journey) -> None:
    rows, metrics = spreads(journey), journey.outcome.metrics
    some = [row for row in rows if row[0]]
    got, copies, control = sum(r[1] for r in rows), sum(r[2] for r in rows), len(journey.between_nodes(carrying=False))
    assert metrics["events"] == len(rows)
    assert metrics["deliveries"] == got
    assert metrics["hit_ratio"] == pytest.approx(sum(row[1] / row[0] for row in some) / len(some))
    assert metrics["hit_ratio_at_once"] == pytest.approx(sum((row[1] - row[6]) / row[0] for row in some) / len(some))
    assert metrics["complete"] == pytest.approx(sum(row[1] == row[0] for row in rows) / len(rows))
    assert metrics["spam"] == pytest.approx(sum(row[3] for row in rows) / copies)
    assert metrics["copies_per_delivery"] == pytest.approx(copies / got)
    assert metrics["control_per_delivery"] == pytest.approx(control / got)
