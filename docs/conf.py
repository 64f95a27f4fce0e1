"""How sphinx builds these pages; ``python3 run.py docs`` does, with every warning an error."""

from __future__ import annotations

import re
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from gossamer import __version__
from gossamer.system.catalogue import SYSTEMS

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


def wiring(system: str, form: str) -> str:
    """The wiring table of a system in one of its forms."""
    head = ("layer", "looks at", "timer", "message: move", "set differently")
    lines = [f"The {form} form:", "", f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    for layer in SYSTEMS[system](form).layers:
        usual = {it.name: it.default for it in fields(layer.params)}
        own = [f"`{name} = {value!r}`" for name, value in asdict(layer.params).items() if value != usual[name]]
        mail = [f"{message}: `{move}`" for message, move in layer.mail.items()]
        reads, timer = ", ".join(layer.reads) or "-", f"`{layer.timer}`" if layer.timer else "-"
        lines.append(f"| {layer.name} | {reads} | {timer} | {', '.join(mail) or '-'} | {', '.join(own) or '-'} |")
    return "\n".join(lines)


def fill_in(app: Sphinx, page: str, source: list[str]) -> None:  # noqa: ARG001
    """Put wiring tables where a page asks for them."""
    source[0] = re.sub(r"<!-- wiring (\w+) (\w+) -->", lambda found: wiring(found[1], found[2]), source[0])


def setup(app: Sphinx) -> None:
    """Connect what is above."""
    app.connect("autodoc-process-docstring", set_apart)
    app.connect("source-read", fill_in)
