"""The command ``gossamer``: finds the verb, gives it its arguments, turns what happened into an exit code.

A verb is a module of this folder with two functions, and one line in ``VERBS``::

    def configure(parser: argparse.ArgumentParser) -> None: ...   # its arguments, its description, its examples
    def run(args: argparse.Namespace) -> int: ...                 # 0, or 1 when it ran but a claim or verdict failed

The surprising thing: only the module of the verb that was asked for is imported. So ``gossamer --help`` answers at once
and works where an optional part is missing. A verb refuses what it cannot do by raising a ``GossamerError``.
"""

from __future__ import annotations

import argparse
import difflib
import errno
import io
import json
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Final, NamedTuple, NoReturn, Protocol, cast

from gossamer import __version__
from gossamer.errors import CallerError, GossamerError

__all__ = ["BUG", "DONE", "FAILED", "INTERRUPTED", "REFUSED", "UNHEARD", "VERBS", "Verb", "main"]

DONE: Final = 0
FAILED: Final = 1
REFUSED: Final = 2
BUG: Final = 3
INTERRUPTED: Final = 130
UNHEARD: Final = 141
_FULL: Final = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}
"""What a disk says that takes no more."""


class Verb(NamedTuple):
    """What the help can tell of a verb before its module is imported."""

    name: str
    help: str
    module: str
    example: str
    """A whole command that works as it stands."""


VERBS: Final[tuple[Verb, ...]] = (
    Verb(
        "beyond",
        "worlds in which things go wrong, and what each way of spreading makes of them",
        "gossamer.cli.beyond",
        "gossamer beyond crash --nodes 1000",
    ),
    Verb(
        "compare",
        "run every system on one workload, and set them beside each other",
        "gossamer.cli.compare",
        "gossamer compare dissemination --set population.nodes=1000",
    ),
    Verb("doctor", "say what would be used on this machine, and what is missing", "gossamer.cli.doctor", "gossamer doctor"),
    Verb(
        "explain",
        "say what a filter becomes, and what to expect of it",
        "gossamer.cli.explain",
        "gossamer explain 'mag >= 6' --events quakes.csv",
    ),
    Verb(
        "pipeline",
        "the whole way on Spark: workload, truth, simulate, measure, report",
        "gossamer.cli.pipeline",
        "gossamer pipeline run rings --out rings-on-spark --set population.nodes=1000",
    ),
    Verb(
        "reproduce",
        "set a paper's statements beside what comes out here",
        "gossamer.cli.reproduce",
        "gossamer reproduce sub2sub --demo",
    ),
    Verb(
        "simulate",
        "run a scenario and write its traces",
        "gossamer.cli.simulate",
        "gossamer simulate rings --out rings --set population.nodes=1000 --seed 1",
    ),
    Verb(
        "truth",
        "say who should have received your own events",
        "gossamer.cli.truth",
        "gossamer truth --events quakes.csv --interests filters.txt",
    ),
)

_DESCRIPTION: Final = "Publish/subscribe without a broker: simulate it, measure it, and check what its papers claim."
_EXIT_CODES: Final = """\
exit codes:
  0    done
  1    ran to its end, but a claim or verdict failed
  2    refused: the arguments or a file are wrong; stderr says what and what to try,
       and with --json stdout has one object {"error": ...}
  3    a bug in gossamer; stderr has the traceback
  130  stopped by Ctrl-C
  141  the reader of the output went away
"""


class _Module(Protocol):
    """What the module of a verb has to offer."""

    def configure(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


class _Parser(argparse.ArgumentParser):
    """An argument parser that raises, so that wrong arguments are reported like everything else that is refused."""

    def error(self, message: str) -> NoReturn:
        problem = f"{message}\nHint: {self.prog} --help"
        raise CallerError(problem)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; ``argv`` is without the program's name."""
    words = list(sys.argv[1:] if argv is None else argv)
    if sys.stdout is None:  # closed by whoever started us
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115  (as long as the program lives)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that lacks a sign gets its number, not a traceback
    try:
        code = _run(words)
        sys.stdout.flush()
    except GossamerError as error:
        return _refuse(error, as_json="--json" in words)
    except KeyboardInterrupt:
        print("\ngossamer: stopped", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _drop_unwritten()
        return UNHEARD
    except OSError as error:
        if error.filename is None and error.errno not in _FULL:
            return _confess()
        if error.filename is None:
            _drop_unwritten()
            error = OSError(error.errno, error.strerror, "standard output")
        return _refuse(error, as_json="--json" in words)
    except Exception:  # noqa: BLE001  (the last resort: its exit code must not be that of a failed claim)
        return _confess()
    return code


def _run(words: list[str]) -> int:
    """Parse the words and run the verb among them."""
    asked = next((word for word in words if not word.startswith("-")), None)
    names = [verb.name for verb in VERBS]
    if asked is not None and asked not in names:
        raise CallerError(f"no verb '{asked}'\nHint: {_near(asked, names)} See gossamer --help")
    parser = _Parser(prog="gossamer", description=_DESCRIPTION, epilog=_epilog(), formatter_class=_Formatter)
    parser.add_argument("--version", action="version", version=f"gossamer {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    module: _Module | None = None
    for verb in VERBS:
        of_verb = verbs.add_parser(verb.name, help=verb.help, description=verb.help, formatter_class=_Formatter)
        if verb.name == asked:
            module = cast("_Module", import_module(verb.module))
            module.configure(of_verb)
    try:
        args = parser.parse_args(words, argparse.Namespace(words=words))
    except SystemExit as ended:  # --help and --version
        return DONE if ended.code is None else int(ended.code)
    if module is None:
        parser.print_help(sys.stderr)
        return REFUSED
    return module.run(args)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Leaves our line breaks alone, so that examples can be copied."""


def _drop_unwritten() -> None:
    """Forget what stdout did not take: Python flushes it once more as it ends, which would fail again with a traceback."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _near(found: str, known: Sequence[str]) -> str:
    """The name that was meant, or all there are."""
    close = difflib.get_close_matches(found, known, 1)
    return f"did you mean '{close[0]}'?" if close else f"there are {', '.join(known)}."


def _epilog() -> str:
    """Examples, one a verb, and the exit codes."""
    examples = "".join(f"  {verb.example}\n" for verb in VERBS)
    return (f"examples:\n{examples}\n" if examples else "") + _EXIT_CODES


def _refuse(error: Exception, *, as_json: bool) -> int:
    """Say what was wrong, in the form that was asked for."""
    if as_json:
        print(json.dumps({"error": _described(error)}))
    print(f"gossamer: {error}", file=sys.stderr)
    return REFUSED


def _described(error: Exception) -> dict[str, object]:
    """An error as an object: its kind, its message, and what else it knows (a place in a text, a key's path)."""
    plain = {name: value for name, value in vars(error).items() if isinstance(value, str | int) and value != ""}
    return {"kind": type(error).__name__, "message": str(error), **plain}


def _confess() -> int:
    """Show the traceback of a bug."""
    traceback.print_exc()
    print("gossamer: this is a bug in gossamer; please report it with the lines above", file=sys.stderr)
    return BUG


if __name__ == "__main__":
    sys.exit(main())
