"""What Spark says when something goes wrong, in one screen: what was found, what was being done, what to try.

A failed task brings the traces of two languages with it. What a person needs of them is one line, and it is one of a few
kinds: our own refusal, made in a worker; a disk that takes no more; a file that is not what it should be; a worker that died.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from gossamer.errors import DataError, GossamerError

__all__ = ["cause", "told"]

_OURS: Final = re.compile(r"gossamer\.errors\.(\w+): (.*?)(?:\n\s*\n|\n\s*at |\n\t|\Z)", re.DOTALL)
_KNOWN: Final = (
    (r"No space left on device|File too large|Disk quota exceeded", "the disk takes no more", "free some room, and again"),
    (r"not a Parquet file|ould not read footer|FAILED_READ_FILE", "a Parquet file is truncated, or is none", "write it again"),
    (r"Java heap space|OutOfMemoryError", "the JVM ran out of memory", "--conf spark.driver.memory=4g"),
    (r"Python worker exited unexpectedly|EOFException", "a worker died; memory may have run out", "--master local[1]"),
    (r"Connection refused|masters are unresponsive", "nobody answers there", "--master local[*] needs no cluster"),
)
_FULL: Final = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}
_RAISED: Final = re.compile(r"\[USER_RAISED_EXCEPTION\] (.*?)(?: SQLSTATE|$)", re.MULTILINE)
"""Refused by an expression of ours."""
_LONGEST: Final = 300


@contextmanager
def told(doing: str) -> Iterator[None]:
    """Turn what Spark raises into one DataError; our own errors pass, and so does what is nobody's but Python's."""
    try:
        yield
    except GossamerError:
        raise
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise DataError(f"{doing}: the disk takes no more ({error})\nHint: free some room, and again") from error
    except Exception as error:
        if type(error).__module__.split(".")[0] not in {"pyspark", "py4j", "grpc"}:
            raise
        what, hint = cause(str(error))
        raise DataError(f"{doing}: {what}" + (f"\nHint: {hint}" if hint else "")) from error


def cause(said: str) -> tuple[str, str]:
    """The one line that tells it, and what to try where that is known."""
    if ours := _OURS.search(said):
        return ours[2].strip(), ""
    if raised := _RAISED.search(said):
        return raised[1].strip(), ""
    for pattern, what, hint in _KNOWN:
        if found := re.search(pattern, said):
            line = next(line.strip(" :") for line in said.splitlines() if found[0] in line)
            return f"{what} ({line[:_LONGEST]})", hint
    lines = [line.strip(": ") for line in said.splitlines() if line.strip() and not line.startswith("An error occurred while")]
    deepest = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return ([*lines[:1], *deepest[-1:]] or ["Spark gave no reason"])[-1][:_LONGEST], ""
