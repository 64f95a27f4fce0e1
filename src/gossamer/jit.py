"""How everything compiled is compiled, and where it is cached.

``@kernel`` is one job on one row, or a question about one box; ``@sweep`` is a kernel for every row of a range, and lets
go of the GIL so that ranges run on threads. Type checkers see both as the identity, and with ``NUMBA_DISABLE_JIT=1`` they
are: that is how kernels are debugged and their coverage measured.

The surprising thing: numba's disk cache looks at the file a kernel stands in and misses an edit in a function imported
from another file. So what a file compiles to lies in the user's cache folder under a hash of that file and of all it imports
from the package: an edit compiles anew whatever could see it, and nothing else. Folders not used for a month are removed.

Three instructions of the machine that numba has no word for are here too: ``lowest_bit``, ``count_bits`` and ``prefetch``. In
plain Python they are what they say.

``python -m gossamer.jit`` compiles everything once, so that nobody waits later.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["cache_folder", "count_bits", "kernel", "lowest_bit", "main", "prefetch", "sweep", "tiny", "user_cache_folder"]

F = TypeVar("F", bound=Callable[..., object])

KEPT_UNUSED_S = 30 * 24 * 3600
_PACKAGE = Path(__file__).parent
_IMPORT = re.compile(r"^from gossamer\.([\w.]+) import (\([^)]*\)|.*)$", re.MULTILINE)
_NAME = re.compile(r"\w+")


def user_cache_folder() -> Path:
    """The folder for what can be made again: ``GOSSAMER_CACHE``, else the platform's own for this user."""
    if chosen := os.environ.get("GOSSAMER_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "gossamer"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "gossamer"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gossamer"


def cache_folder(source: Path) -> Path:
    """The folder of what is compiled from one file: named by a hash of it and of all in the package that it imports."""
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(_closure(source)):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return user_cache_folder() / "kernels" / digest.hexdigest()


def _closure(source: Path) -> set[Path]:
    """A file, what it imports of the package, what those import, and so on."""
    found, todo = set[Path](), [source]
    while todo:
        path = todo.pop()
        if path not in found:
            found.add(path)
            todo += _imported(path)
    return found


@cache
def _imported(source: Path) -> list[Path]:
    """The package's files that one imports at its first column; what only a type checker needs is indented."""
    found = []
    for room, names in _IMPORT.findall(source.read_text(encoding="utf-8")):
        place = _PACKAGE.joinpath(*room.split("."))
        parts = [place / f"{name}.py" for name in _NAME.findall(names)] if place.is_dir() else [place.with_suffix(".py")]
        found += [part for part in parts if part.is_file()]
    return found


def _forget_unused(kernels: Path) -> None:
    """Remove the caches of sources nobody has run for a month; a cache in use is touched at each start."""
    now = time.time()
    with suppress(OSError):
        for folder in kernels.iterdir():
            if now - folder.stat().st_mtime > KEPT_UNUSED_S:
                shutil.rmtree(folder, ignore_errors=True)


import numba  # noqa: E402  (where its cache is can be said only when it is there)
from llvmlite import ir  # noqa: E402  (numba's own)
from numba import types  # noqa: E402
from numba.extending import intrinsic, overload  # noqa: E402

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}
_CHOSEN = "NUMBA_CACHE_DIR" in os.environ


@cache
def _folder_in_use(source: Path) -> Path:
    """The folder for what one file compiles to, there and marked as used today."""
    folder = cache_folder(source)
    with suppress(OSError):
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            _forget_unused(folder.parent)
        os.utime(folder)
    return folder


def _compiled(function: F, **more: bool) -> F:
    """Declare a kernel, to be compiled at its first call or read from its file's folder."""
    if not _CHOSEN:
        numba.config.CACHE_DIR = str(_folder_in_use(Path(function.__code__.co_filename)))
    return numba.njit(**_OPTIONS, **more)(function)  # type: ignore[no-any-return]


def kernel(function: F) -> F:
    """Compile a job on one row: loops and numbers only, no exceptions, numpy's division.

    Compiled without numba's reference counting, which would count every column of every argument up and down at every
    call (an exchange of Cyclon took seven times as long with it). So a kernel cannot allocate: room is an argument.
    """
    return _compiled(function)


def tiny(function: F) -> F:
    """A kernel of a few lines, set into whoever calls it."""
    return _compiled(function, forceinline=True)


def sweep(function: F) -> F:
    """Compile a loop over a range of rows. An iteration writes its own row and nothing else; nothing is allocated."""
    return _compiled(function)


def lowest_bit(mask: Any) -> int:  # noqa: ANN401  (an int, or numpy's uint64)
    """The lowest place in a mask that is not empty."""
    return (int(mask) & -int(mask)).bit_length() - 1


def count_bits(mask: Any) -> int:  # noqa: ANN401
    """How many places are in a mask."""
    return int(mask).bit_count()


def prefetch(array: Any, row: int) -> None:  # noqa: ANN401  (any array)
    """Say that a row of an array will be looked at soon: the memory is slow, and fetches it meanwhile. Changes nothing."""


@intrinsic  # type: ignore[untyped-decorator]
def _lowest_bit(context: Any, mask: Any) -> Any:  # noqa: ANN401, ARG001  (numba's protocol)
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ANN401, ARG001
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), emit


@intrinsic  # type: ignore[untyped-decorator]
def _count_bits(context: Any, mask: Any) -> Any:  # noqa: ANN401, ARG001
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ANN401, ARG001
        return builder.ctpop(args[0])

    return types.int64(types.uint64), emit


@intrinsic  # type: ignore[untyped-decorator]
def _prefetch(context: Any, array: Any, row: Any) -> Any:  # noqa: ANN401, ARG001
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ANN401
        it = context.make_array(signature.args[0])(context, builder, args[0])
        stride = builder.extract_value(it.strides, 0)
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        place = builder.gep(builder.bitcast(it.data, byte), [builder.mul(stride, args[1])])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, *[number] * 3]))
        builder.call(fetch, [place, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.none(array, types.int64), emit


_overloads = partial(overload, jit_options=_OPTIONS, strict=False)
_overloads(lowest_bit)(lambda mask: lambda mask: _lowest_bit(mask))  # noqa: ARG005, PLW0108  (numba compiles the inner one)
_overloads(count_bits)(lambda mask: lambda mask: _count_bits(mask))  # noqa: ARG005, PLW0108
_overloads(prefetch)(lambda array, row: lambda array, row: _prefetch(array, row))  # noqa: ARG005, PLW0108


def main() -> int:
    """Compile everything, with a line for each part; the second time it takes a second or two."""
    warm: Callable[[Callable[[str], object]], None] = import_module("gossamer.sim.warm").warm
    warm(lambda what: print(f"-- {what}", flush=True))  # noqa: T201  (this one is a command)
    return 0


if __name__ == "__main__":
    sys.exit(main())
