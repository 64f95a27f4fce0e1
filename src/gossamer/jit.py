"""How everything compiled is compiled, and where it is cached.

``@kernel`` is one job on one row, or a question about one box; ``@sweep`` is a kernel for every row of a range, and lets
go of the GIL so that ranges run on threads. Type checkers see both as the identity, and with ``NUMBA_DISABLE_JIT=1`` they
are: that is how kernels are debugged and their coverage measured.

The surprising thing: numba's disk cache looks at the file a kernel stands in and misses an edit in a function imported
from another file. So the cache lies in the user's cache folder under a hash of *all* sources of the package, and a change
anywhere starts a new one. Folders not used for a month are removed.

``python -m gossamer.jit`` compiles everything once, so that nobody waits later.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TypeVar

__all__ = ["cache_folder", "kernel", "main", "sweep", "tiny", "user_cache_folder"]

F = TypeVar("F", bound=Callable[..., object])

KEPT_UNUSED_S = 30 * 24 * 3600
_PACKAGE = Path(__file__).parent


def user_cache_folder() -> Path:
    """The folder for what can be made again: ``GOSSAMER_CACHE``, else the platform's own for this user."""
    if chosen := os.environ.get("GOSSAMER_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "gossamer"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "gossamer"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gossamer"


def cache_folder() -> Path:
    """The folder of compiled kernels for exactly these sources."""
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(_PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    return user_cache_folder() / "kernels" / digest.hexdigest()


def _forget_unused(kernels: Path) -> None:
    """Remove the caches of sources nobody has run for a month; a cache in use is touched at each start."""
    now = time.time()
    with suppress(OSError):
        for folder in kernels.iterdir():
            if now - folder.stat().st_mtime > KEPT_UNUSED_S:
                shutil.rmtree(folder, ignore_errors=True)


def _use_cache() -> None:
    """Point numba at our folder; must happen before the first kernel is declared."""
    folder = cache_folder()
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        _forget_unused(folder.parent)
    if "NUMBA_CACHE_DIR" not in os.environ:
        numba.config.CACHE_DIR = str(folder)


import numba  # noqa: E402  (its cache is set just below, before any kernel exists)

_use_cache()


_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}


def kernel(function: F) -> F:
    """Compile a job on one row: loops and numbers only, no exceptions, numpy's division.

    Compiled without numba's reference counting, which would count every column of every argument up and down at every
    call (an exchange of Cyclon took seven times as long with it). So a kernel cannot allocate: room is an argument.
    """
    return numba.njit(**_OPTIONS)(function)  # type: ignore[no-any-return]


def tiny(function: F) -> F:
    """A kernel of a few lines, set into whoever calls it."""
    return numba.njit(forceinline=True, **_OPTIONS)(function)  # type: ignore[no-any-return]


def sweep(function: F) -> F:
    """Compile a loop over a range of rows. An iteration writes its own row and nothing else; nothing is allocated."""
    return numba.njit(**_OPTIONS)(function)  # type: ignore[no-any-return]


def main() -> int:
    """Compile everything, with a line for each part; the second time it takes a second or two."""
    warm: Callable[[Callable[[str], object]], None] = import_module("gossamer.sim.warm").warm
    warm(lambda what: print(f"-- {what}", flush=True))  # noqa: T201  (this one is a command)
    return 0


if __name__ == "__main__":
    sys.exit(main())
