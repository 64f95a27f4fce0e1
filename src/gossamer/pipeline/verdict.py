"""The text's own answer for many events at once: what the subscriber asks at last.

Where a filter's boxes hold more than what matches (``Filter.exact`` is false), each event in a box is asked again. A question
whose spans of codes are exact is answered by the codes; the others, all of them of texts, by the texts, which Arrow compares
byte by byte: the order of the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gossamer.arrays import Coordinates, Mask
from gossamer.interest.condition import Comparison, Condition, Either, Op

__all__ = ["holds_all"]

Texts = Mapping[int, Any]
"""For each field of texts its column of pyarrow."""


def holds_all(condition: Condition, codes: Coordinates, texts: Texts) -> Mask:
    """(n,) bool: which events satisfy the condition.

    codes : (n, D) int64
    texts : the column of each field whose codes do not say all, by its number
    """
    if isinstance(condition, Comparison):
        return _compared(condition, codes[:, condition.d], texts)
    either = isinstance(condition, Either)
    found = np.full(codes.shape[0], not either, dtype=np.bool_)
    for part in condition.parts:
        one = holds_all(part, codes, texts)
        found = found | one if either else found & one
    return found


def _compared(asked: Comparison, codes: Coordinates, texts: Texts) -> Mask:
    spans, exact = asked.spans()
    inside = np.zeros(codes.shape[0], dtype=np.bool_)
    for low, high in spans:
        inside |= (codes >= low) & (codes <= high)
    if exact:
        return inside
    found = pc.fill_null(_of_texts(asked, texts[asked.d]), fill_value=False)
    return inside & np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _of_texts(asked: Comparison, column: Any) -> Any:  # noqa: ANN401  (pyarrow ships no types)
    bounds = [pa.scalar(key, pa.string()) for key in asked.keys]
    low, high = bounds[0], bounds[-1]
    match asked.op:
        case Op.STARTS:
            return pc.starts_with(column, asked.keys[0])
        case Op.NOT_STARTS:
            return pc.invert(pc.starts_with(column, asked.keys[0]))
        case Op.BETWEEN:
            return pc.and_(pc.greater_equal(column, low), pc.less_equal(column, high))
        case Op.NOT_BETWEEN:
            return pc.or_(pc.less(column, low), pc.greater(column, high))
        case Op.IN | Op.NOT_IN:
            # A set look-up calls null a member of no set; SQL gives no answer.
            among = pc.if_else(pc.is_valid(column), pc.is_in(column, pa.array(list(asked.keys), pa.string())), None)
            return among if asked.op is Op.IN else pc.invert(among)
    return _PLAIN[asked.op](column, low)


_PLAIN: dict[Op, Any] = {
    Op.EQ: pc.equal,
    Op.NE: pc.not_equal,
    Op.LT: pc.less,
    Op.LE: pc.less_equal,
    Op.GT: pc.greater,
    Op.GE: pc.greater_equal,
}
