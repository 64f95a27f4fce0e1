"""What the pipeline reads and answers, typed out."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta

__all__ = ["naive_csv", "naive_moment"]

_FORMS = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%Y-%m-%d %H:%M",
    "%Y/%m/%d %H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%dT%H:%M:%S.%f",
)
_LAST = ("", " %H:%M", " %H:%M:%S")


def naive_csv(text: str, width: int) -> tuple[list[tuple[int, list[str | None]]], list[int]]:
    """Rows of a CSV without its header line, each with the line it begins in; and the lines of those of another width."""
    good, bad = [], []
    reader = csv.reader(io.StringIO(text, newline=""), strict=False)
    line = 1
    for row in reader:
        begins, line = line, reader.line_num + 1
        if not row:
            continue
        if len(row) == width:
            good.append((begins, [cell or None for cell in row]))
        else:
            bad.append(begins)
    return good, bad


def naive_moment(cell: str, *, day_first: bool) -> int | None:
    """Microseconds since 1970 of a cell in one of the forms, by Python's own reader."""
    zone = timedelta()
    if cell.endswith("Z"):
        cell = cell[:-1]
    elif len(cell) > 10 and cell[-6] in "+-" and cell[-3] == ":":
        sign = -1 if cell[-6] == "-" else 1
        zone, cell = sign * timedelta(hours=int(cell[-5:-3]), minutes=int(cell[-2:])), cell[:-6]
    dates = ("%d/%m/%Y", "%d-%m-%Y") if day_first else ("%m/%d/%Y", "%m-%d-%Y")
    for form in (*_FORMS, *(date + time for date in (*dates, "%d.%m.%Y") for time in _LAST)):
        try:
            moment = datetime.strptime(cell, form).replace(tzinfo=UTC) - zone
        except ValueError:
            continue
        return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    return None
