"""Columns of any library as numpy arrays and the places of their nulls.

Libraries are recognised by what their columns can do, never imported: numpy and its masked arrays, pyarrow, pandas, polars,
and plain sequences. What a library calls missing is null (in pandas that includes NaN); in a plain array only None and
NaT are, for NaN among numpy's floats is as often a bug as a gap.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gossamer.arrays import Mask

__all__ = ["read_column"]


def read_column(data: Any) -> tuple[NDArray[Any], Mask]:  # noqa: ANN401  (a column of any library)
    """The values that are there, in order, and a mask over all rows of those that are not."""
    if isinstance(data, np.ma.MaskedArray):
        return _without_gaps(np.asarray(data.compressed()), np.ma.getmaskarray(data))
    if isinstance(data, np.ndarray):
        return _without_gaps(data, np.zeros(len(data), np.bool_))
    if hasattr(data, "isna"):  # pandas
        missing = np.asarray(data.isna(), dtype=np.bool_)
        return _without_gaps(np.asarray(data[~missing].to_numpy()), missing)
    if hasattr(data, "drop_nulls"):  # polars
        return _without_gaps(np.asarray(data.drop_nulls().to_numpy()), np.asarray(data.is_null().to_numpy(), dtype=np.bool_))
    if hasattr(data, "drop_null"):  # pyarrow, whole or in chunks
        whole = data.combine_chunks() if hasattr(data, "combine_chunks") else data
        whole = whole.dictionary_decode() if hasattr(whole, "dictionary_decode") else whole
        missing = np.asarray(whole.is_null().to_numpy(zero_copy_only=False), dtype=np.bool_)
        return _without_gaps(np.asarray(whole.drop_null().to_numpy(zero_copy_only=False)), missing)
    rows = list(data)
    plain = np.empty(len(rows), object)
    plain[:] = rows
    return _without_gaps(plain, np.zeros(len(rows), np.bool_))


def _without_gaps(values: NDArray[Any], missing: Mask) -> tuple[NDArray[Any], Mask]:
    """Move None and NaT among the values into the mask."""
    if values.dtype.kind == "O":
        gaps = np.fromiter((value is None for value in values), np.bool_, len(values))
    elif values.dtype.kind == "M":
        gaps = np.isnat(values)
    else:
        return values, missing
    if gaps.any():
        missing = missing.copy()
        missing[np.flatnonzero(~missing)[gaps]] = True
        values = values[~gaps]
    return values, missing
