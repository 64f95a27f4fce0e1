"""Tables of a scenario are the same however they are cut, and those that one process draws."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.sql import SparkSession

from gossamer.pipeline import workload
from gossamer.pipeline.schemas import numbers, points_of, subscribed
from gossamer.scenario.population import population
from gossamer.scenario.scenario import Scenario
from gossamer.scenario.toml import to_toml
from gossamer.scenario.workload import events
from gossamer.truth.judge import holding
from tests.pipeline.tables import BUSY, QUIET


@pytest.mark.parametrize(("scenario", "partitions"), [(BUSY, 1), (BUSY, 3), (BUSY, 8), (QUIET, 3)])
def test_subscriptions_are_those_of_one_process(spark: SparkSession, scenario: Scenario, partitions: int) -> None:
    people = population(scenario, 4)
    since, until = holding(people)
    turn = np.lexsort((people.version, people.owner))
    table = (
        workload.subscriptions(spark, scenario, 4, partitions)
        .toArrow()
        .sort_by([("row", "ascending"), ("version", "ascending")])
    )
    found = subscribed(table)
    assert np.array_equal(found.row, people.owner[turn])
    assert np.array_equal(found.key, people.key[people.owner][turn])
    assert np.array_equal(found.node, people.node[people.owner][turn])
    assert np.array_equal(numbers(table, "version"), people.version[turn])
    assert np.array_equal(found.boxes, people.boxes[turn])
    assert np.array_equal(found.since, since[turn])
    assert np.array_equal(found.until, until[turn])


@pytest.mark.parametrize("partitions", [1, 3, 8])
def test_events_are_those_of_one_process(spark: SparkSession, partitions: int) -> None:
    for scenario in (BUSY, QUIET):
        wanted = events(scenario, population(scenario, 4), 4)
        table = workload.events(spark, scenario, 4, partitions).toArrow().sort_by("event")
        assert numbers(table, "event").tolist() == list(range(scenario.events.count))
        assert np.array_equal(numbers(table, "key").view(np.uint64), wanted.key)
        assert np.array_equal(numbers(table, "cycle"), wanted.cycle)
        assert np.array_equal(points_of(table), wanted.points)


def test_batches_of_a_task_do_not_show(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = workload.subscriptions(spark, QUIET, 1, 2).toArrow()
    monkeypatch.setattr(workload, "ROWS_AT_ONCE", 7)
    it = workload.world(to_toml(QUIET), 1)
    parts = [workload._subscribed(it, {}, first, min(first + 7, 150)) for first in range(0, 150, 7)]
    assert [row for part in parts for row in part.to_pylist()] == whole.to_pylist()
