"""On a real standalone cluster, under spark-submit and over Spark Connect: the same state, whoever is killed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pyspark
import pytest

from gossamer.sim.run import run
from tests.pipeline import driver
from tests.pipeline.cluster import Cluster, Program, cluster, connect_server

pytestmark = pytest.mark.cluster

DRIVER = str(Path(driver.__file__))


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers."""
    with cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


@pytest.fixture(scope="module")
def connected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Spark Connect server, by its address."""
    with connect_server(tmp_path_factory.mktemp("connect")) as address:
        yield address


@lru_cache
def expected(system: str, form: str) -> str:
    """The state a run in one process ends in."""
    return run(driver.scenario(system, form), 1).state


def started(cluster: Cluster, out: Path, system: str, form: str, exchange: str, blocks: int) -> Program:
    """A driver on a cluster."""
    log = out.with_suffix(f".{os.urandom(4).hex()}.log")
    return Program([sys.executable, DRIVER, cluster.url, str(out), system, form, exchange, str(blocks)], log)


@pytest.mark.parametrize(
    ("system", "form", "exchange", "blocks"),
    [("sub2sub", "faithful", "files", 1), ("sub2sub", "better", "files", 8), ("gossamer", "better", "shuffle", 3)],
)
def test_a_cluster_ends_in_the_state_of_one_process(
    machines: Cluster, tmp_path: Path, system: str, form: str, exchange: str, blocks: int
) -> None:
    program = started(machines, tmp_path / "out", system, form, exchange, blocks)
    assert program.wait() == 0, program.log.read_text()
    assert program.said(r"state (\w+)") == expected(system, form)


def test_a_driver_killed_in_mid_run_goes_on_from_the_last_finished_cycle(machines: Cluster, tmp_path: Path) -> None:
    first = started(machines, tmp_path / "out", "sub2sub", "better", "files", 3)
    first.said("(cycle 2)")
    first.kill()
    assert "state" not in first.log.read_text()
    second = started(machines, tmp_path / "out", "sub2sub", "better", "files", 3)
    assert second.wait() == 0, second.log.read_text()
    assert "cycle 1 " not in second.log.read_text()
    assert second.said(r"state (\w+)") == expected("sub2sub", "better")


def test_a_worker_killed_in_mid_run_is_not_missed(tmp_path: Path) -> None:
    with cluster(tmp_path) as machines:
        program = started(machines, tmp_path / "out", "sub2sub", "better", "files", 3)
        program.said("(cycle 1)")
        machines.workers[0].kill()
        assert program.wait() == 0, program.log.read_text()
        assert program.said(r"state (\w+)") == expected("sub2sub", "better")


def test_spark_submit_will_do(tmp_path: Path) -> None:
    submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    words = ["--master", "local[2]", "--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1"]
    program = Program([submit, *words, DRIVER, "-", str(tmp_path / "out"), "sub2sub", "better", "files", "2"], tmp_path / "log")
    assert program.wait() == 0, program.log.read_text()
    assert program.said(r"state (\w+)") == expected("sub2sub", "better")


@pytest.mark.parametrize("exchange", ["files", "shuffle"])
def test_spark_connect_will_do(connected: str, tmp_path: Path, exchange: str) -> None:
    log = tmp_path / "log"
    program = Program([sys.executable, DRIVER, connected, str(tmp_path / "out"), "sub2sub", "better", exchange, "3"], log)
    assert program.wait() == 0, program.log.read_text()
    assert program.said(r"state (\w+)") == expected("sub2sub", "better")
