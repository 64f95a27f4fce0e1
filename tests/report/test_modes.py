"""Worlds in which things go wrong: each is run in every way of spreading, and summed up rightly."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from gossamer.report.modes import MODES, WORLDS, Line, line, markdown, means, scenarios
from gossamer.scenario.scenario import ChangeSettings, Scenario
from gossamer.scenario.toml import presets
from gossamer.sim.run import run
from gossamer.trace.tables import EXCHANGES, SPREADS


def test_every_world_is_a_preset_and_fits_every_mode() -> None:
    assert set(WORLDS) <= set(presets())
    found = scenarios(WORLDS, MODES, 500, [1])
    assert len({it.name for _, it in found}) == len(found)
    assert {mode for mode, _ in found} == set(MODES)
    # so many rows, however many a node has (up to rounding); where newcomers double the world, half of them at the start
    assert {it.population.nodes * it.population.subscriptions for _, it in found} == {250, 496, 500}
    assert all(not it.events.frozen and it.events.count >= 1 for _, it in found)


def spreads(*rows: tuple[int, int, int, int]) -> pa.Table:
    """Spreads of (cycle, wanted, delivered, unwanted), each delivered with two copies."""
    told = {"last_hop": 1, "hops": 1, "control": 0, "repaired": 0}
    table = [
        told | {"event": n, "cycle": c, "wanted": w, "delivered": d, "unwanted": u, "copies": 2 * d + u}
        for n, (c, w, d, u) in enumerate(rows)
    ]
    return pa.Table.from_pylist(table, SPREADS)


def exchanges() -> pa.Table:
    """Thirty messages of repair in each of two cycles, among others."""
    told = {"entries": 0, "bytes": 0, "failed": 0}
    sent = [("repair", 30), ("rings", 7)]
    some = [{**told, "cycle": cycle, "protocol": name, "messages": many} for cycle in (1, 2) for name, many in sent]
    return pa.Table.from_pylist(some, EXCHANGES)


@pytest.mark.parametrize(
    ("rows", "well"),
    [
        ([(4, 5, 5, 0), (6, 5, 5, 0)], 0),
        ([(4, 5, 4, 0), (6, 5, 5, 0)], 0),
        ([(5, 5, 4, 0), (7, 5, 5, 1), (9, 5, 5, 0)], 3),
        ([(5, 5, 5, 0), (9, 5, 4, 0)], None),
    ],
)
def test_a_world_is_well_from_the_cycle_on_in_which_all_get_all_and_nothing_else(
    rows: list[tuple[int, int, int, int]], well: int | None
) -> None:
    scenario = Scenario(name="beyond/changes/1/arcs", changes=(ChangeSettings(share=0.1, cycle=5),))
    scenario = replace(scenario, population=replace(scenario.population, nodes=10))
    found = line("arcs", scenario, 1, {"spreads": spreads(*rows), "exchanges": exchanges()})
    assert found.world == "changes/1"
    assert found.metrics["well_after"] == well
    assert found.metrics["digests_per_node_cycle"] == 3.0


def test_lines_are_meant_over_seeds_and_the_longest_ill_counts() -> None:
    scenario = Scenario(name="beyond/changes/1/arcs", changes=(ChangeSettings(share=0.1, cycle=5),))
    quick, slow, never = (
        line("arcs", scenario, seed, {"spreads": spreads(*rows), "exchanges": exchanges()})
        for seed, rows in enumerate(([(5, 4, 4, 0)], [(5, 4, 2, 0), (8, 4, 4, 0)], [(5, 4, 2, 0)]))
    )
    (both,) = means([quick, slow])
    assert both.metrics["hit_ratio"] == pytest.approx((1.0 + 0.75) / 2)
    assert both.metrics["well_after"] == 1
    (all_three,) = means([quick, slow, never])
    assert all_three.metrics["well_after"] is None
    table = markdown([both, Line("loss/1", "paper", 0, both.metrics | {"well_after": None})])
    assert "| 1 | arcs | 0.8750 |" in "\n".join(table)
    assert table.count("## loss") == 1
    assert "well after" not in table[table.index("## loss") + 2]


def test_of_half_of_the_nodes_gone_arcs_with_repair_reach_more_than_the_paper_as_printed() -> None:
    found = {mode: it for mode, it in scenarios(["crash"], ["as printed", "arcs + repair"], 400, [1]) if "/50/" in it.name}
    metrics = {mode: line(mode, it, 1, run(it, 1).tables).metrics for mode, it in found.items()}
    assert metrics["as printed"]["hit_ratio"] < 0.99
    assert metrics["arcs + repair"]["hit_ratio"] >= 0.999
    assert metrics["arcs + repair"]["copies_per_delivery"] < 1.1


def test_where_half_of_all_change_their_minds_messages_stay_few() -> None:
    """Views that contradict each other once made arcs beget arcs until the memory was full."""
    ((_, it),) = [(mode, it) for mode, it in scenarios(["changes"], ["arcs"], 300, [1]) if "/50/" in it.name]
    metrics = line("arcs", it, 1, run(it, 1).tables).metrics
    assert metrics["copies_per_delivery"] < 4
    assert metrics["control_per_delivery"] < 4
