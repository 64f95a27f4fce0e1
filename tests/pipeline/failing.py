"""A task that refuses, in a module that workers can import."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from gossamer.errors import DataError

__all__ = ["fails"]


def fails(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Refuse whatever comes."""
    for batch in batches:
        yield batch
        raise DataError("row 7: found nothing, expected something\nHint: look again")
