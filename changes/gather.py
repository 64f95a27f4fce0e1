"""Gather the fragments in this folder into CHANGELOG.md, at a release: ``python3 run.py changelog --write``."""

from __future__ import annotations

import argparse
import datetime as dt
import re
import sys
from pathlib import Path

__all__ = ["KINDS", "gather", "main"]

KINDS = ("added", "changed", "fixed", "removed")
FOLDER = Path(__file__).resolve().parent
TITLE = "# Changelog\n"


def fragments(folder: Path) -> list[Path]:
    """The fragments of a folder by kind and name; one whose kind is unknown is an error, not a loss."""
    found = [path for path in folder.glob("*.md") if path.name != "README.md"]
    for path in found:
        if len(path.name.split(".")) != len(("name", "kind", "md")) or path.name.split(".")[1] not in KINDS:
            raise ValueError(f"{path.name}: expected <name>.<kind>.md, the kind one of {', '.join(KINDS)}")
    return sorted(found, key=lambda path: (KINDS.index(path.name.split(".")[1]), path.name))


def gather(folder: Path, changelog: str, version: str, day: str) -> str:
    """The changelog with a section for a version on top, made of the fragments."""
    if f"\n## {version} " in changelog:
        raise ValueError(f"CHANGELOG.md already has a section {version}; raise the version first")
    lines = [f"\n## {version} ({day})\n"]
    kind = ""
    for path in fragments(folder):
        if path.name.split(".")[1] != kind:
            kind = path.name.split(".")[1]
            lines.append(f"\n### {kind.capitalize()}\n\n")
        lines.append("- " + "\n  ".join(path.read_text(encoding="utf-8").strip().splitlines()) + "\n")
    return TITLE + "".join(lines) + changelog.removeprefix(TITLE)


def main(argv: list[str]) -> int:
    """Show the new changelog, or write it and remove the fragments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write CHANGELOG.md and remove the fragments")
    args = parser.parse_args(argv)
    source = (FOLDER.parent / "src" / "gossamer" / "__init__.py").read_text(encoding="utf-8")
    version = re.findall(r'^__version__ = "(.*)"$', source, re.MULTILINE)[0]
    changelog = FOLDER.parent / "CHANGELOG.md"
    found = fragments(FOLDER)
    today = dt.datetime.now(dt.UTC).date().isoformat()
    text = gather(FOLDER, changelog.read_text(encoding="utf-8"), version, today)
    if not args.write:
        print(text, end="")
        return 0
    changelog.write_text(text, encoding="utf-8")
    for path in found:
        path.unlink()
    print(f"{changelog.name}: {version}, {len(found)} changes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
