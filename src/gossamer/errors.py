"""The whole family of exceptions.

    GossamerError
    ├── CallerError            what you asked cannot be done as you asked it
    │   ├── InterestError      a schema or a filter (also a ValueError); carries the text and the place in it
    │   ├── ScenarioError      a scenario file or a setting (also a ValueError); carries the key's path
    │   ├── DataError          a file that is not what it should be
    │   ├── MissingExtraError  an optional part is not installed (also an ImportError)
    │   └── ClosedError        the thing was closed before
    └── PeerError              another node's fault: becomes a drop and a record, never a crash

The first branching is whose fault it is. Every message says what was found, what was expected, and what to try.
"""

from __future__ import annotations

__all__ = [
    "CallerError",
    "ClosedError",
    "DataError",
    "GossamerError",
    "InterestError",
    "MissingExtraError",
    "PeerError",
    "ScenarioError",
]


class GossamerError(Exception):
    """The base of all; catching it catches everything raised on purpose."""


class CallerError(GossamerError):
    """What you asked cannot be done as you asked it. Nothing was changed."""


class InterestError(CallerError, ValueError):
    """A schema or a filter is wrong. Nothing was changed.

    ``text`` is the filter, ``start`` and ``stop`` the place in it (both 0 when the whole is meant), ``hint`` what to try.
    """

    def __init__(self, problem: str, *, text: str = "", start: int = 0, stop: int = 0, hint: str = "") -> None:
        self.problem, self.text, self.start, self.stop, self.hint = problem, text, start, stop, hint
        lines = [problem]
        if text:
            lines.append(f"  {text}")
            if stop > start:
                lines.append(f"  {' ' * start}{'^' * (stop - start)}")
        if hint:
            lines.append(f"Hint: {hint}")
        super().__init__("\n".join(lines))


class ScenarioError(CallerError, ValueError):
    """A scenario or one of its settings is wrong. Nothing was run and nothing written. ``path`` is the key's, dotted."""

    def __init__(self, path: str, problem: str, *, hint: str = "") -> None:
        self.path, self.problem, self.hint = path, problem, hint
        super().__init__(f"{path}: {problem}" + (f"\nHint: {hint}" if hint else ""))


class DataError(CallerError):
    """A file is not what it should be: truncated, of another run, of another version. It was left as it is."""


class MissingExtraError(CallerError, ImportError):
    """An optional part is not installed. Nothing was changed."""

    def __init__(self, extra: str, needed_for: str) -> None:
        self.extra = extra
        super().__init__(f"{needed_for} needs the extra '{extra}'\nHint: pip install 'gossamer[{extra}]'")


class ClosedError(CallerError):
    """The node, subscription or run was closed before. It stays closed."""


class PeerError(GossamerError):
    """Another node sent what it must not. The message is dropped and recorded; our state is as before it came."""
