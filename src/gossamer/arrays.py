"""Array aliases: one name, one dtype, one mark for "empty".

A signature reads as a sentence: ``Handles`` are row numbers of a book, ``Cycles`` the cycles entries were minted in.
Shapes, everywhere: N rows, K entries of a view, L entries of an exchange, D attributes, B boxes, M messages.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "NONE",
    "Bits",
    "Coordinates",
    "Counts",
    "Cycles",
    "Flags",
    "Handles",
    "Keys",
    "Mask",
    "Numbers",
    "Offsets",
    "Reals",
    "Rows",
    "Scales",
    "Ticks",
]

NONE: Final = -1
"""The mark for "empty" in every array of handles, rows or positions."""

Handles = NDArray[np.int32]
"""Row numbers of a book; NONE in a free entry."""
Rows = NDArray[np.int32]
"""Numbers of rows (virtual peers); NONE where there is none."""
Cycles = NDArray[np.uint16]
"""Cycles in which entries were minted, modulo 2**16; an age is a subtraction."""
Keys = NDArray[np.uint64]
"""Places in the order of a system; also hashes."""
Bits = NDArray[np.uint64]
"""Bit masks over the entries of a view."""
Coordinates = NDArray[np.int64]
"""Order-preserving codes of attribute values."""
Scales = NDArray[np.float64]
"""One over the width of each attribute's domain."""
Reals = NDArray[np.float64]
Numbers = NDArray[np.int64]
Counts = NDArray[np.int32]
Offsets = NDArray[np.int64]
"""Where a ragged column's parts begin in its arena."""
Ticks = NDArray[np.int64]
Flags = NDArray[np.uint8]
Mask = NDArray[np.bool_]
