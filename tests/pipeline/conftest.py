"""One Spark session for all tests of the room: two cores, one partition a shuffle, nothing left from test to test."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from gossamer.pipeline.session import session

__all__ = ["spark", "the_session"]

collect_ignore_glob = ["test_*.py"] if os.environ.get("NUMBA_DISABLE_JIT") == "1" else []
"""Spark's workers run kernels by the thousand; as plain Python they are tested where they live."""


@pytest.fixture(scope="session")
def the_session() -> Iterator[SparkSession]:
    """Made by the first test that asks; Python's workers stay for the next."""
    with session(master="local[2]", conf={"spark.sql.shuffle.partitions": "1"}) as made:
        yield made


@pytest.fixture
def spark(the_session: SparkSession) -> Iterator[SparkSession]:
    """The session, wiped after the test."""
    yield the_session
    the_session.catalog.clearCache()
    for table in the_session.catalog.listTables():
        if table.isTemporary:
            the_session.catalog.dropTempView(table.name)
