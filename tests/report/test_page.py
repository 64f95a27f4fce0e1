"""Pictures and the page: both files of each figure, a page that needs nothing else, text that fits."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gossamer.errors import DataError
from gossamer.report import drawing, text
from gossamer.report.claims import Verdict, verdicts
from gossamer.report.curves import Curve, Result, curves
from gossamer.report.drawing import COLOURS, TITLES, draw
from gossamer.report.experiments import CASES, FIGURES, MAIN, Case
from gossamer.report.page import write_page
from tests.report.made import hops_of, joins, links, nobody, nodes, result, spreads

ROUND = [2, 3, 5, 9, 17, 40, 130]
RUNS = [
    result(
        links([min(1.0, cycle / 30) for cycle in range(61)]),
        spreads((1, ROUND, [1] * 7, [0] * 7), (8, ROUND, [2, 3, 5, 9, 17, 1, 1], [1] * 7), (40, ROUND, ROUND, [3] * 7)),
        joins([4, 5, 7, 12, 60, -1], [1, 2, 2, 3]),
        nodes([10, 20, 30, 40], [0, 10, 20, 30]),
        nobody((0, 60, 60), (1, 60, 1), (2, 60, 0)),
        case=case,
    )
    for case in CASES
]
SHOWN = {name: curves(name, RUNS) for name in FIGURES}
JUDGED = verdicts(list(FIGURES), RUNS)


class Reader(HTMLParser):
    """What a page opens and closes, and where it points."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what is open, its id and what it points to."""
        if tag not in {"meta", "br", "link", "img"}:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in {"href", "xlink:href", "src"}:
                self.links.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open nothing."""
        self.handle_starttag(tag, attrs)
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        """Close what was opened last, or fail."""
        assert self.open.pop() == tag


def page(folder: Path, judged: list[Verdict], *, with_pictures: bool, note: str = "seed 1", command: str = "gossamer") -> str:
    pictures = {name: draw(name, found, folder, note)["svg"] for name, found in SHOWN.items()} if with_pictures else {}
    write_page(folder / "index.html", note, command, judged, pictures, {it: text.figure(it, SHOWN[it]) for it in SHOWN})
    return (folder / "index.html").read_text(encoding="utf-8")


def test_the_page_needs_nothing_beside_it(tmp_path: Path) -> None:
    whole = page(tmp_path, JUDGED, with_pictures=True)
    reader = Reader()
    reader.feed(whole)
    assert reader.open == []
    assert whole.count("<svg") == len(FIGURES)
    assert len(set(reader.ids)) == len(reader.ids)
    assert all(link.startswith("#") and link[1:] in reader.ids for link in reader.links)
    assert set(re.findall(r"url\(#([^)]*)\)", whole)) <= set(reader.ids)
    assert "http" not in whole
    assert "<script" not in whole
    assert "@import" not in whole


def test_the_page_has_every_statement_figure_and_verdict(tmp_path: Path) -> None:
    judged = [*JUDGED[:-2], JUDGED[-2]._replace(holds=False), JUDGED[-1]._replace(holds=None)]
    whole = page(tmp_path, judged, with_pictures=False, command="gossamer reproduce sub2sub --seeds 1")
    assert "gossamer reproduce sub2sub --seeds 1" in whole
    for it in judged:
        assert it.case in whole
    assert whole.count('<td class="yes">holds</td>') == sum(it.holds is True for it in judged)
    assert whole.count('<td class="no">fails</td>') == sum(it.holds is False for it in judged)
    assert whole.count('<td class="untold">') == sum(it.holds is None for it in judged)
    assert whole.count("<pre>") == len(FIGURES)
    assert "verdicts hold, " in whole


def test_what_comes_from_outside_is_escaped(tmp_path: Path) -> None:
    evil = "<script>alert('\"&')</script>"
    judged = [Verdict("rings", evil, evil, evil, evil, evil, holds=True)]
    whole = page(tmp_path, judged, with_pictures=False, note=evil, command=evil)
    assert "<script" not in whole
    assert whole.count("&lt;script&gt;alert") == 7


def test_a_dark_page_has_a_colour_for_each_that_a_figure_uses(tmp_path: Path) -> None:
    whole = page(tmp_path, JUDGED, with_pictures=True)
    figures = "".join(re.findall(r"<svg.*?</svg>", whole, flags=re.DOTALL))
    used = set(re.findall(r"var\(--([\w-]+)\)", figures))
    assert used <= set(COLOURS)
    assert {"ink", "paper", "pale", "full"} <= used
    assert re.findall(r"(?:fill|stroke): (?!none|var\()[^;\"]*", figures) == []


def test_a_page_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(DataError, match="cannot be written"):
        write_page(tmp_path / "file" / "index.html", "", "", [], {}, {})
    with pytest.raises(DataError, match="cannot be written"):
        draw("rings", SHOWN["rings"], tmp_path / "file", "")
    with pytest.raises(DataError, match="cannot be read"):
        write_page(tmp_path / "index.html", "", "", [], {"rings": tmp_path / "none.svg"}, {"rings": []})
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_as_both_files_and_the_same_each_time(name: str, tmp_path: Path) -> None:
    first = {kind: path.read_bytes() for kind, path in draw(name, SHOWN[name], tmp_path, "seed 1").items()}
    again = {kind: path.read_bytes() for kind, path in draw(name, SHOWN[name], tmp_path / "again", "seed 1").items()}
    assert first == again
    assert first["png"].startswith(b"\x89PNG")
    assert TITLES[name].encode() in first["svg"]
    assert b"seed 1" in first["svg"]
    width = int.from_bytes(first["png"][16:20], "big")
    assert width == pytest.approx(300 * (7.0 if name in drawing.WIDE else 4.2), abs=1)


LITTLE: dict[str, Result] = {
    "rings": result(links([0.0, 0.0])),
    "dissemination": result(links([0.0, 0.0]), spreads((1, [2], [1], [0]))),
    "lengths": result(spreads((1, [2], [2], [1]))),
    "hops": result(hops_of([2, 2], 1.0)),
    "joins": result(joins([-1])),
    "load": result(nodes([1], [0], wanted=1)),
    "nobody": result(nobody((1, 1, 0))),
}


@pytest.mark.parametrize("name", FIGURES)
def test_the_least_there_can_be_is_drawn_too(name: str, tmp_path: Path) -> None:
    run = LITTLE[name]
    found = curves(name, [run._replace(case=case) for case in FIGURES[name][:1]])
    assert found
    assert all(path.exists() for path in draw(name, found, tmp_path, "").values())
    assert text.figure(name, found)


def long(case: Case) -> dict[str, dict[Case, Curve]]:
    """Figures of a large world: long rings, many cycles, every case."""
    lengths = [2**n for n in range(1, 14)]
    run = result(
        links([0.5] * 100),
        spreads(*[(date, lengths, lengths, range(13)) for date in (*range(1, 11), *range(12, 41, 2), 60)]),
        joins(list(range(80)), [1]),
        nodes(list(range(500)), list(range(500))),
        nobody((0, 1000, 1000), (1, 1000, 0), (2, 1000, 0)),
    )
    runs = [run._replace(case=it) for it in (case, *CASES)]
    return {name: curves(name, runs) for name in FIGURES}


def test_text_fits_eighty_columns_and_is_plain_where_it_must_be() -> None:
    for shown in (SHOWN, long(MAIN)):
        for name, found in shown.items():
            for line in text.figure(name, found):
                assert len(line) <= 80, line
            assert all(line.isascii() for line in text.figure(name, found, ascii_only=True))
    wide = text.table(JUDGED, 80)
    assert max(map(len, wide)) <= 80
    assert max(map(len, text.table(JUDGED, 50))) <= 50
    assert " ".join(" ".join(wide).split()).count(JUDGED[0].ours) >= 1


def test_bars_are_empty_only_for_nothing_and_full_only_for_all() -> None:
    assert text.bars([0.0, 0.001, 0.5, 0.999, 1.0]) == " ▁▄▇█"
    assert text.bars([0.0, 0.001, 0.5, 0.999, 1.0], ascii_only=True) == " .=#@"
    assert text.bars([3.0], top=0.0) == " "


def test_a_table_marks_what_fails_and_what_cannot_be_told() -> None:
    one = Verdict("rings", "5", "3 attributes", "It holds.", "1", "0.5", holds=True)
    lines = text.table([one, one._replace(holds=False), one._replace(holds=None)])
    assert [line.split()[0] for line in lines[1:]] == ["holds", "FAILS", "-"]
    assert "too small a world to judge: 0.5" in lines[3]
    assert sum("It holds." in line for line in lines) == 1
