"""One HTML page that needs nothing beside it: the paper's statements, our figures and the verdicts next to each other."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from gossamer.errors import DataError
from gossamer.report.claims import STATEMENTS, Verdict, tally
from gossamer.report.drawing import COLOURS, TITLES, WIDE
from gossamer.trace.folder import renamed

__all__ = ["inline", "sheet", "write_page"]

_STYLE: Final = """
:root { color-scheme: light dark; %(day)s }
@media (prefers-color-scheme: dark) { :root { %(night)s } }
body { margin: 0 auto; max-width: 62rem; padding: 2.5rem 1.5rem 4rem; color: var(--ink); background: var(--paper);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.25rem; margin: 3rem 0 .4rem; padding-top: 1rem; border-top: 1px solid var(--grid); }
blockquote { margin: .3rem 0 1rem; padding-left: .9rem; border-left: 3px solid var(--pale); color: var(--soft);
  font-style: italic; }
figure { margin: 1rem 0; } figure svg { width: 100%%; max-width: 38rem; height: auto; display: block; }
figure.wide svg { max-width: none; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%%; font-size: .88rem; margin: .8rem 0; }
th { text-align: left; font-weight: 600; color: var(--soft); border-bottom: 1px solid var(--soft); }
th, td { vertical-align: top; padding: .35rem .8rem .35rem 0; } td { border-bottom: 1px solid var(--grid); }
td.world { white-space: nowrap; } .yes, .no, .untold { font-weight: 600; }
.yes { color: var(--yes); } .no { color: var(--no); } .untold { color: var(--soft); }
pre { font: 12.5px/1.35 ui-monospace, Menlo, Consolas, monospace; overflow-x: auto; background: var(--grid); padding: .8rem; }
code { font: .9em ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; } .meta { color: var(--soft); }
nav a { margin-right: .9rem; display: inline-block; } a { color: var(--link); }
"""
_MORE: Final = {"yes": ("#22704a", "#6fcf97"), "no": ("#b03a2e", "#ff8f80"), "link": ("#0b5c94", "#7cc0f2")}
_WORDS: Final = {True: ("yes", "holds"), False: ("no", "fails"), None: ("untold", "too small a world to judge")}
"""Class and words of a verdict."""


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
    failed = any(it.holds is False for it in verdicts)
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Sub-2-Sub, reproduced</title><style>{sheet()}</style></head><body>",
        "<h1>Sub-2-Sub, reproduced</h1>",
        _PAPER,
        f'<p class="meta">{html.escape(note)}<br><code>{html.escape(command)}</code></p>',
        f'<p><strong class="{"no" if failed else "yes"}">{tally(verdicts)}.</strong></p>',
        "<nav>" + "".join(f'<a href="#{name}">{html.escape(TITLES[name])}</a>' for name in text) + "</nav>",
    ]
    for name, lines in text.items():
        parts += [
            f'<h2 id="{name}">{html.escape(TITLES[name])}</h2>',
            f"<blockquote>{html.escape(STATEMENTS[name])}</blockquote>",
        ]
        if name in pictures:
            wide = ' class="wide"' if name in WIDE else ""
            parts.append(f"<figure{wide}>{inline(pictures[name], name, TITLES[name])}</figure>")
        else:
            parts.append(f"<pre>{html.escape(chr(10).join(lines))}</pre>")
        parts.append(_rows([it for it in verdicts if it.figure == name]))
    parts.append("</body></html>\n")
    with renamed(path) as partial:
        partial.write_text("\n".join(parts), encoding="utf-8")


def sheet() -> str:
    """The sheet, with the colours of the figures by day and by night."""
    both = {**COLOURS, **_MORE}
    day, night = (" ".join(f"--{name}: {pair[n]};" for name, pair in both.items()) for n in (0, 1))
    return _STYLE % {"day": day, "night": night}


def _rows(verdicts: Sequence[Verdict]) -> str:
    """A table: each claim once, our figure for each world beside it."""
    if not verdicts:
        return ""
    rows = ["<tr><th>The paper</th><th>Expected</th><th>World</th><th>Ours</th><th>Verdict</th></tr>"]
    for _, group in groupby(verdicts, key=lambda it: (it.statement, it.section, it.expected)):
        for n, it in enumerate(worlds := list(group)):
            says = f"{html.escape(it.statement)}<br><span class='meta'>section {html.escape(it.section)}</span>"
            span = f' rowspan="{len(worlds)}"'
            head = f"<td{span}>{says}</td><td{span}>{html.escape(it.expected)}</td>" if n == 0 else ""
            kind, word = _WORDS[it.holds]
            cells = f'<td class="world">{html.escape(it.case)}</td><td>{html.escape(it.ours)}</td>'
            rows.append(f'<tr>{head}{cells}<td class="{kind}">{word}</td></tr>')
    return f'<div class="scroll"><table>{"".join(rows)}</table></div>'


def inline(path: Path, name: str, title: str) -> str:
    """An SVG as a part of the page: its ids the figure's own, its colours the page's, and no word of other places."""
    try:
        whole = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    svg = re.sub(r"<metadata>.*?</metadata>", "", whole[whole.index("<svg") :], flags=re.DOTALL)
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(?:xlink:)?href="#', f'href="#{name}-', svg).replace("url(#", f"url(#{name}-")
    colours = {day: colour for colour, (day, _) in COLOURS.items()}
    svg = re.sub(r"#[0-9a-f]{6}\b", lambda found: f"var(--{colours[found[0]]})" if found[0] in colours else found[0], svg)
    return svg.replace("<svg", f'<svg role="img" aria-label="{html.escape(title)}"', 1)
