"""How sphinx builds these pages; ``python3 run.py docs`` does, with every warning an error."""

from __future__ import annotations

from gossamer import __version__

project = "gossamer"
author = "The gossamer authors"
project_copyright = "The gossamer authors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
nitpicky = True

myst_enable_extensions = ["attrs_block", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"

html_theme = "furo"
html_title = f"gossamer {release}"
html_show_copyright = False
