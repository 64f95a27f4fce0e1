"""How sphinx builds these pages; ``python3 run.py docs`` does, with every warning an error."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gossamer import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "gossamer"
author = "The gossamer authors"
project_copyright = "The gossamer authors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
nitpicky = True

myst_enable_extensions = ["attrs_block", "deflist", "dollarmath"]
myst_heading_anchors = 3

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"

html_theme = "furo"
html_title = f"gossamer {release}"
html_show_copyright = False


def set_apart(app: Sphinx, what: str, name: str, it: object, options: object, lines: list[str]) -> None:  # noqa: ARG001
    """Show an indented block of a docstring as it stands, without the marks that would clutter the source."""
    text = re.sub(r"\n\n(?=    )", "\n\n::\n\n", re.sub(r"::\n\n(?=    )", "\n\n", "\n".join(lines)))
    lines[:] = re.sub(r"(?<=\n)(    .*)\n\n::\n\n(?=    )", r"\1\n\n", text).split("\n")


def setup(app: Sphinx) -> None:
    """Connect what is above."""
    app.connect("autodoc-process-docstring", set_apart)
