"""Where a driver writes down what happened: columns that grow, cheap to append to.

A driver appends a chunk of arrays, one a column, all of one length; scalars stand for a whole column. Nothing is copied
until the table is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from gossamer.trace.tables import TABLES

__all__ = ["Columns", "Trace"]


class Columns:
    """One table while it is written."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._chunks: dict[str, list[pa.Array]] = {name: [] for name in schema.names}
        self._rows = 0

    def __len__(self) -> int:
        """Rows written so far."""
        return self._rows

    def append(self, **columns: ArrayLike) -> None:
        """Write down some rows: an array for each column, or one value for all of them.

        Nothing is written when the columns are not exactly the table's, or their lengths differ.
        """
        if set(columns) != set(self._chunks):
            problem = f"found columns {sorted(columns)}, expected {sorted(self._chunks)}"
            raise ValueError(problem)
        arrays = {name: np.asarray(value) for name, value in columns.items()}
        lengths = {array.shape[0] for array in arrays.values() if array.ndim}
        if len(lengths) > 1:
            problem = f"columns differ in length: { {name: array.shape for name, array in arrays.items()} }"
            raise ValueError(problem)
        size = lengths.pop() if lengths else 1
        made = {name: self._made(name, array, size) for name, array in arrays.items()}
        for name, chunk in made.items():
            self._chunks[name].append(chunk)
        self._rows += size

    def _made(self, name: str, array: NDArray[np.generic], size: int) -> pa.Array:
        kind = self.schema.field(name).type
        if pa.types.is_string(kind):
            return pa.array([str(array)] * size if not array.ndim else [str(item) for item in array], kind)
        whole = array if array.ndim else np.full(size, array)
        # A copy: the driver goes on writing to its own arrays.
        return pa.array(np.array(whole, dtype=kind.to_pandas_dtype()), kind)

    def table(self) -> pa.Table:
        """All that was written, as a table."""
        chunked = [pa.chunked_array(self._chunks[name], self.schema.field(name).type) for name in self.schema.names]
        return pa.Table.from_arrays(chunked, schema=self.schema)


class Trace:
    """All tables of one run while they are written: ``trace["receipts"].append(...)``."""

    def __init__(self) -> None:
        self._tables = {name: Columns(schema) for name, schema in TABLES.items()}

    def __getitem__(self, name: str) -> Columns:
        """The table of this name."""
        return self._tables[name]

    def tables(self) -> Mapping[str, pa.Table]:
        """The tables in which something stands."""
        return {name: columns.table() for name, columns in self._tables.items() if len(columns)}
