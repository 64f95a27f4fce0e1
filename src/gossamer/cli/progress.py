"""How far a long command has come: one line that redraws itself on a terminal, now and then a plain line elsewhere.

It goes to stderr, so that stdout holds results alone. With ``--json`` nothing is shown at all. A reader of stderr that
went away is no reason to end a run.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from types import TracebackType
from typing import Final, Self, TextIO

__all__ = ["Progress", "spoken"]

_WIDTH: Final = 24
_LINE_EVERY_S: Final = 10.0
_DRAW_EVERY_S: Final = 0.1


class Progress:
    """A bar with the time left. Use it in a ``with``; ``show`` as often as there is something new."""

    def __init__(self, *, quiet: bool = False, stream: TextIO | None = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.quiet = quiet
        self._live = not quiet and self.stream.isatty() and os.environ.get("TERM") != "dumb"
        self._begun = self._last = time.monotonic()
        self._start = 0.0
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.wipe()

    def begin(self, done: float = 0.0) -> None:
        """Count the time left from here, where so much is done already."""
        self._begun = time.monotonic()
        self._last = self._begun
        self._start = done

    def show(self, done: float, what: str) -> None:
        """Draw the bar: how much is done, between 0 and 1, and what is under way."""
        now = time.monotonic()
        if self.quiet or now - self._last < (_DRAW_EVERY_S if self._live else _LINE_EVERY_S):
            return
        self._last = now
        left = self._left(done, now)
        if self._live:
            filled = round(_WIDTH * done)
            line = f"{'#' * filled}{'.' * (_WIDTH - filled)} {done:4.0%}  {left:<12} {what}"
            columns = shutil.get_terminal_size().columns
            self._write(f"\r\x1b[K{line[: columns - 1]}")
            self._drawn = True
        else:
            self._write(f"-- {done:4.0%}  {left}  {what}\n")

    def say(self, what: str) -> None:
        """Write a line that stays."""
        if not self.quiet:
            self.wipe()
            self._write(f"{what}\n")

    def wipe(self) -> None:
        """Take the bar away."""
        if self._drawn:
            self._write("\r\x1b[K")
            self._drawn = False

    def _write(self, text: str) -> None:
        try:
            self.stream.write(text)
            self.stream.flush()
        except OSError:
            self.quiet = True

    def _left(self, done: float, now: float) -> str:
        gone = done - self._start
        if gone <= 0:
            return ""
        return f"{spoken((now - self._begun) * (1 - done) / gone)} left"


def spoken(seconds: float) -> str:
    """A time for people: 42 s, 3 min, 1 h 20 min."""
    whole = round(seconds)
    if whole < 100:  # noqa: PLR2004
        return f"{whole} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"  # noqa: PLR2004
