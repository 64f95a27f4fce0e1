"""A Spark session: the one that is handed in, or one of our own with the right settings for one machine.

    with session() as spark: ...                               # local[*]
    with session(master="spark://host:7077") as spark: ...     # a cluster
    with session(master="sc://host:15002") as spark: ...       # Spark Connect
    with session(mine) as spark: ...                           # used and left running

Under ``spark-submit`` there is a session's worth of settings already, and those win. What we make we stop; what is handed in
we never do. Nothing but the DataFrame API is used on a session anywhere in the pipeline, so Spark Connect will do.
"""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gossamer.errors import CallerError, DataError, MissingExtraError
from gossamer.pipeline import java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["DEFAULTS", "LOCAL", "parsed", "session", "settings", "under_spark_submit"]

LOCAL: Final = "local[*]"
DEFAULTS: Final[Mapping[str, str]] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.sources.partitionOverwriteMode": "dynamic",
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.defaultJavaOptions": f"-Dlog4j.configurationFile={Path(__file__).with_name('log4j2.properties')}",
}
"""What holds for every session we make."""
_ONE_MACHINE: Final[Mapping[str, str]] = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
}
"""What holds beside for a master on this machine: nothing listens to the outside, and the JVM leaves room for kernels."""
_PATIENCE_S: Final = 5.0
"""How long a master may take to answer a knock. Spark itself would ask for minutes."""
_PORTS: Final = {"spark": 7077, "sc": 15002}
_FEWEST, _MOST = 2, 8
"""Partitions of a shuffle on one machine."""


def under_spark_submit() -> bool:
    """Whether ``spark-submit`` has started this program."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def settings(master: str, conf: Mapping[str, str]) -> dict[str, str]:
    """The configuration of a session we make; what was asked for wins."""
    found = dict(DEFAULTS)
    if _is_here(master):
        found |= _ONE_MACHINE
        found["spark.sql.shuffle.partitions"] = str(min(max(os.cpu_count() or 1, _FEWEST), _MOST))
    return found | dict(conf)


def _is_here(master: str) -> bool:
    """Whether a master is on this machine alone."""
    return master.startswith(("local", "spark://127.0.0.1", "spark://localhost"))


@contextmanager
def session(
    spark: SparkSession | None = None, *, master: str | None = None, conf: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """A session to work with; one of our own is stopped at the end.

    spark  : one to use and leave running
    master : where to run; LOCAL where nobody says otherwise
    conf   : settings of Spark, over ours
    """
    if spark is not None:
        yield spark
        return
    made = _made(master, conf or {})
    try:
        yield made
    finally:
        made.stop()


def _knock(master: str) -> None:
    """Find out whether anybody listens where a cluster should be; one of several masters will do."""
    found = re.fullmatch(r"(spark|sc)://([^/;]+).*", master)
    if found is None:
        return
    problems = []
    for place in found[2].split(","):
        host, _, port = place.rpartition(":") if re.search(r":\d+$", place) else (place, "", str(_PORTS[found[1]]))
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE_S).close()
        except (OSError, ValueError, OverflowError) as error:
            problems.append(f"{place}: {getattr(error, 'strerror', None) or error}")
        else:
            return
    said = "; ".join(problems)
    raise DataError(f"no Spark on {master} ({said})\nHint: start the cluster, or leave --master out: {LOCAL} needs none")


def _made(master: str | None, conf: Mapping[str, str]) -> SparkSession:
    try:
        from pyspark.sql import SparkSession as Session  # noqa: PLC0415  (an extra; needed from here on alone)
    except ImportError as missing:
        raise MissingExtraError("pipeline", "the data pipeline") from missing
    _knock(master or "")
    builder = Session.builder.appName("gossamer")
    if master is not None and master.startswith("sc://"):
        for name, value in conf.items():
            builder = builder.config(name, value)
        return _opened(builder.remote(master), master)
    if under_spark_submit():
        for name, value in DEFAULTS.items():
            builder = builder.config(name, value) if name.startswith("spark.sql.") else builder
    else:
        where = master or LOCAL
        found = java.find()
        os.environ["JAVA_HOME"] = str(found.home)
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
        if _is_here(where):
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = builder.master(where)
        for name, value in settings(where, conf).items():
            builder = builder.config(name, value)
    for name, value in conf.items():
        builder = builder.config(name, value)
    return _opened(builder, master or LOCAL)


def _opened(builder: SparkSession.Builder, master: str) -> SparkSession:
    """Start what was built; what Spark says when it cannot is put in one screen."""
    try:
        return builder.getOrCreate()
    except Exception as error:
        first = str(error).strip().splitlines()
        raise DataError(
            f"no Spark session on {master}: {first[0] if first else type(error).__name__}\n"
            "Hint: gossamer doctor shows what would be used; --master local[*] needs no cluster"
        ) from error


def parsed(pairs: list[str]) -> dict[str, str]:
    """Settings given as ``key=value``."""
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.startswith("spark."):
            raise CallerError(f"--conf {pair}: expected key=value with a key of Spark's\nHint: --conf spark.driver.memory=4g")
        found[name] = value
    return found
