"""``python -m gossamer``: the command, where no script of it is on the path."""

from __future__ import annotations

import sys

from gossamer.cli.main import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
