"""A verb that does whatever its argument says, to see what the command makes of it."""

from __future__ import annotations

import argparse

from gossamer.errors import InterestError, PeerError, ScenarioError

__all__ = ["configure", "run"]

_RAISED: dict[str, BaseException] = {
    "interest": InterestError("no such column", text="a > 1", start=0, stop=1, hint="the columns are: b"),
    "scenario": ScenarioError("cases.0.nodes", "expected a positive number, found -1", hint="try 100"),
    "peer": PeerError("a peer sent nonsense"),
    "file": FileNotFoundError(2, "No such file or directory", "missing.toml"),
    "ctrl-c": KeyboardInterrupt(),
    "pipe": BrokenPipeError(),
    "bug": ZeroDivisionError("division by zero"),
    "bug-of-the-system": OSError("no name in it"),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """One word, what to do."""
    parser.add_argument("what")
    parser.add_argument("--json", action="store_true")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    if args.what in _RAISED:
        raise _RAISED[args.what]
    return int(args.what)
