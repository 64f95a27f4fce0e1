"""A program that runs one overlay on Spark, for tests to start, submit and kill: MASTER OUT SYSTEM FORM EXCHANGE BLOCKS.

It says each cycle as it is done, and at the end the state. With MASTER ``-`` the settings are
spark-submit's.
"""

from __future__ import annotations

import sys
from pathlib import Path

from gossamer.pipeline.overlay import simulate
from gossamer.pipeline.session import session
from gossamer.scenario.scenario import EventSettings, PopulationSettings, Scenario
from gossamer.sim.run import Report

__all__ = ["CONF", "scenario"]

CONF = {
    "spark.executor.memory": "512m",
    "spark.driver.memory": "512m",
    "spark.sql.shuffle.partitions": "2",
    "spark.task.maxFailures": "8",
}


def scenario(system: str, form: str) -> Scenario:
    """The world of these tests."""
    people = PopulationSettings(nodes=240, attributes=2)
    return Scenario(system=system, form=form, cycles=4, population=people, events=EventSettings(count=40))


def say(report: Report) -> None:
    """Tell of a cycle."""
    print(f"cycle {report.cycle} {report.doing}", flush=True)


def main(words: list[str]) -> None:
    """Run it."""
    master, out, system, form, exchange, blocks = words
    with session(master=None if master == "-" else master, conf=CONF if master.startswith("spark:") else {}) as spark:
        done = simulate(spark, scenario(system, form), 1, Path(out), blocks=int(blocks), exchange=exchange, tell=say)
    print(f"state {done.outcome.state}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
