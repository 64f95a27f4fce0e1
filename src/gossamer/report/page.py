"""One HTML page that needs nothing beside it: the paper's statements, our figures and the verdicts next to each other."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from gossamer.errors import DataError
from gossamer.report.claims import STATEMENTS, Verdict
from gossamer.report.drawing import TITLES

__all__ = ["write_page"]

_STYLE: Final = """
:root { color-scheme: light; }
body { margin: 0 auto; max-width: 62rem; padding: 2.5rem 1.5rem 4rem; color: #1f2933; background: #fff;
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.25rem; margin: 3rem 0 .4rem; padding-top: 1rem; border-top: 1px solid #e4e7eb; }
blockquote { margin: .3rem 0 1rem; padding-left: .9rem; border-left: 3px solid #a9cce3; color: #52606d; font-style: italic; }
figure { margin: 1rem 0; } figure svg { width: 100%; height: auto; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; margin: .8rem 0; }
th { text-align: left; font-weight: 600; color: #52606d; border-bottom: 1px solid #9aa5b1; padding: .35rem .6rem .35rem 0; }
td { vertical-align: top; border-bottom: 1px solid #e4e7eb; padding: .4rem .6rem .4rem 0; }
.yes { color: #2f6f4f; font-weight: 600; white-space: nowrap; } .no { color: #b03a2e; font-weight: 600; white-space: nowrap; }
pre { font: 12.5px/1.35 ui-monospace, Menlo, Consolas, monospace; overflow-x: auto; background: #f5f7fa; padding: .8rem; }
code { font: .9em ui-monospace, Menlo, Consolas, monospace; } .meta { color: #52606d; margin: 0 0 1rem; }
nav a { margin-right: .9rem; }
"""


_PAPER: Final = """\
<p>Voulgaris, Rivière, Kermarrec, van Steen: <em>Sub-2-Sub: Self-Organizing Content-Based Publish Subscribe for Dynamic Large
Scale Collaborative Networks</em>, IPTPS 2006; and INRIA research report 5772 (its figures in brackets).</p>"""


def write_page(
    path: Path,
    note: str,
    command: str,
    verdicts: Sequence[Verdict],
    pictures: Mapping[str, Path],
    text: Mapping[str, Sequence[str]],
) -> None:
    """Write the page: pictures (SVG, laid into it) where there are any, the figure as text where there are none."""
    failed = sum(not it.holds for it in verdicts)
    told = f"{len(verdicts) - failed} of {len(verdicts)} verdicts hold" + (f", {failed} do not." if failed else ".")
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Sub-2-Sub, reproduced</title><style>{_STYLE}</style></head><body>",
        "<h1>Sub-2-Sub, reproduced</h1>",
        _PAPER,
        f'<p class="meta">{html.escape(note)}<br><code>{html.escape(command)}</code></p>',
        f'<p><strong class="{"no" if failed else "yes"}">{told}</strong></p>',
        "<nav>" + "".join(f'<a href="#{name}">{html.escape(TITLES[name])}</a>' for name in text) + "</nav>",
    ]
    for name, lines in text.items():
        parts += [
            f'<h2 id="{name}">{html.escape(TITLES[name])}</h2>',
            f"<blockquote>{html.escape(STATEMENTS[name])}</blockquote>",
        ]
        if name in pictures:
            parts.append(f"<figure>{_inline(pictures[name], name)}</figure>")
        else:
            parts.append(f"<pre>{html.escape(chr(10).join(lines))}</pre>")
        parts.append(_rows([it for it in verdicts if it.figure == name]))
    parts.append("</body></html>\n")
    _replace(path, "\n".join(parts))


def _rows(verdicts: Sequence[Verdict]) -> str:
    if not verdicts:
        return ""
    head = "<tr><th>The paper</th><th>Section</th><th>World</th><th>Ours</th><th>Expected</th><th>Verdict</th></tr>"
    rows = []
    for it in verdicts:
        cells = "".join(f"<td>{html.escape(text)}</td>" for text in (it.statement, it.section, it.case, it.ours, it.expected))
        rows.append(f'<tr>{cells}<td class="{"yes" if it.holds else "no"}">{"holds" if it.holds else "fails"}</td></tr>')
    return f"<table>{head}{''.join(rows)}</table>"


def _inline(path: Path, name: str) -> str:
    """An SVG as a part of the page: from its element on, its ids made the figure's own."""
    try:
        whole = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    svg = whole[whole.index("<svg") :]
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    return re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{name}-", svg)


def _replace(path: Path, text: str) -> None:
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        partial.unlink(missing_ok=True)
