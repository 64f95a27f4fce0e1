"""What Spark says, in one screen."""

from __future__ import annotations

import errno

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from gossamer.errors import CallerError, DataError
from gossamer.pipeline.failures import cause, told
from tests.pipeline.failing import fails

JAVA = """An error occurred while calling o74.parquet.
: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/out. SQLSTATE: 58030
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.taskFailedWhileWritingRowsError(QueryExecutionErrors.scala:823)
Caused by: {}
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
"""


@pytest.mark.parametrize(
    ("deepest", "said", "hinted"),
    [
        ("java.io.IOException: No space left on device", "the disk takes no more", True),
        ("java.io.IOException: File too large", "the disk takes no more", True),
        ("java.lang.RuntimeException: file:/a is not a Parquet file. Expected magic number", "truncated, or is none", True),
        ("java.lang.OutOfMemoryError: Java heap space", "the JVM ran out of memory", True),
        ("java.io.EOFException", "a worker died", True),
        ("java.lang.IllegalStateException: something new", "java.lang.IllegalStateException: something new", False),
    ],
)
def test_the_line_that_tells_it_is_found(deepest: str, said: str, hinted: bool) -> None:  # noqa: FBT001
    what, hint = cause(JAVA.format(deepest))
    assert said in what
    assert "\n" not in what
    assert bool(hint) is hinted


def test_our_own_refusal_in_a_worker_comes_back_as_it_was(spark: SparkSession) -> None:
    with pytest.raises(DataError) as refused, told("counting"):
        spark.range(1).mapInArrow(fails, "id long").collect()
    assert str(refused.value) == "counting: row 7: found nothing, expected something\nHint: look again"
    assert isinstance(refused.value.__cause__, PySparkException)


def test_a_full_disk_is_told_whoever_noticed() -> None:
    with pytest.raises(DataError, match="counting: the disk takes no more"), told("counting"):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_what_is_nobodys_but_pythons_passes() -> None:
    with pytest.raises(ZeroDivisionError), told("counting"):
        raise ZeroDivisionError
    with pytest.raises(FileNotFoundError), told("counting"):
        raise FileNotFoundError
    with pytest.raises(CallerError, match="mine"), told("counting"):
        raise CallerError("mine")
