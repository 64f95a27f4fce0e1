"""The changelog is what the fragments say, and none is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from changes.gather import TITLE, fragments, gather

ROOT = Path(__file__).resolve().parent.parent


def test_fragments_are_put_on_top_by_kind_and_name(tmp_path: Path) -> None:
    (tmp_path / "b.added.md").write_text("B.\n")
    (tmp_path / "a.fixed.md").write_text("A,\nin two lines.\n")
    (tmp_path / "a.added.md").write_text("A.\n")
    (tmp_path / "README.md").write_text("not one")
    old = TITLE + "\n## 0.1.0 (2026-01-01)\n\n### Added\n\n- Old.\n"
    new = "\n## 0.2.0 (2026-02-02)\n\n### Added\n\n- A.\n- B.\n\n### Fixed\n\n- A,\n  in two lines.\n"
    assert gather(tmp_path, old, "0.2.0", "2026-02-02") == TITLE + new + old.removeprefix(TITLE)


def test_a_version_is_released_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="already has a section"):
        gather(tmp_path, TITLE + "\n## 0.1.0 (2026-01-01)\n", "0.1.0", "2026-02-02")


@pytest.mark.parametrize("name", ["a.md", "a.wrong.md", "a.b.added.md"])
def test_a_fragment_of_no_known_kind_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(ValueError, match=name):
        fragments(tmp_path)


def test_our_own_fragments_are_well_named() -> None:
    assert all(path.read_text(encoding="utf-8").strip() for path in fragments(ROOT / "changes"))
