"""The habits of the house that a tool can check."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import gossamer
import run
from gossamer.cli.main import VERBS

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "gossamer"
MODULES = sorted(SOURCE.rglob("*.py"))
HEAVY = {"numba", "numpy", "pyarrow", "sqlglot", "matplotlib", "asyncio"}
LONGEST = 500

# The brackets keep this file from containing what it looks for.
PLACES = re.compile(r"[p]ypi\.org|[p]ythonhosted|[n]pmjs|deb\.[d]ebian|/[w]ork/|/[r]oot/|/[h]ome/")


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def loaded_by(statement: str) -> set[str]:
    """The heavy packages a fresh interpreter has loaded after a statement."""
    ask = f"{statement}\nimport json, sys\nprint('\\n' + json.dumps(sorted(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    return HEAVY & set(json.loads(answer.stdout.splitlines()[-1]))


def test_importing_gossamer_loads_nothing_heavy() -> None:
    assert loaded_by("import gossamer") == set()


def test_the_help_loads_nothing_heavy() -> None:
    assert loaded_by("from gossamer.cli.main import main\nassert main(['--help']) == 0") == set()


@pytest.mark.parametrize("name", gossamer.__all__)
def test_a_public_name_can_be_had(name: str) -> None:
    assert getattr(gossamer, name) is not None
    assert name in dir(gossamer)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = gossamer.nonsense


def test_there_is_one_version() -> None:
    assert version("gossamer") == gossamer.__version__


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: str(verb.name))
def test_a_verb_has_a_module_with_both_functions_and_an_example(verb: tuple[str, str, str, str]) -> None:
    name, _, module, example = verb
    assert callable(import_module(module).configure)
    assert callable(import_module(module).run)
    assert example.split()[:2] == ["gossamer", name]


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_a_module_says_what_it_is_for(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), "a module begins with a docstring"
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    assigned = {target.id for target in targets if isinstance(target, ast.Name)}
    if path.name != "__init__.py":
        assert "__all__" in assigned, "a module names what it offers"
    elif path.parent != SOURCE:
        assert len(tree.body) == 1, "a room's __init__ is a docstring; we import from modules, by name"


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_a_module_can_be_read_in_one_sitting(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").count("\n")
    assert lines <= LONGEST, "look for the seam"


@pytest.mark.parametrize("path", sorted((ROOT / "requirements").glob("*.txt")), ids=named)
def test_a_requirement_is_one_version_known_by_its_hashes(path: Path) -> None:
    entries = re.sub(r"\\\n", " ", path.read_text(encoding="utf-8")).splitlines()
    entries = [entry for entry in entries if entry.strip() and not entry.lstrip().startswith("#")]
    assert entries
    for entry in entries:
        assert re.match(r"[a-z0-9-]+==[\w.]+( ;.*?)?(\s+--hash=sha256:[0-9a-f]{64})+\s*$", entry), entry.split()[0]


def test_the_lock_fits_the_project_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    core = project["project"]["dependencies"]
    extras = [requirement for extra in project["project"]["optional-dependencies"].values() for requirement in extra]
    build, dev = (project["dependency-groups"][name] for name in ("build", "dev"))
    plain = [requirement for requirement in dev if isinstance(requirement, str)]
    for name, wanted in (("core", core), ("build", build), ("dev", core + extras + build + plain)):
        text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
        locked = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", text, re.MULTILINE))
        for requirement in map(Requirement, wanted):
            found = locked.get(canonicalize_name(requirement.name))
            assert found, f"{requirement.name} is not in {name}.txt; python3 run.py lock"
            assert requirement.specifier.contains(found, prereleases=True), requirement


def test_a_decision_has_a_number_of_its_own_and_its_three_parts() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    assert len({page.name[:4] for page in pages}) == len(pages)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert text.startswith(f"# {int(page.name[:4])}. "), named(page)
        assert all(part in text.lower() for part in ("context", "decision", "consequence")), named(page)


def texts() -> list[Path]:
    """What we wrote: everything in the checkout but pictures, data and what tools leave behind."""
    folders = [".ci", "benchmarks", "changes", "docs", "requirements", "src", "tests"]
    found = [path for folder in folders for path in (ROOT / folder).rglob("*")] + list(ROOT.iterdir())
    left = {"__pycache__", "_build", ".git"}
    return [path for path in found if path.is_file() and not left & set(path.parts) and path.suffix not in {".png", ".parquet"}]


def test_no_file_names_a_registry_or_a_place_on_one_machine() -> None:
    found = {named(path): match[0] for path in texts() if (match := PLACES.search(path.read_text(encoding="utf-8")))}
    assert found == {}


def test_make_has_the_recipes_of_run_and_no_others() -> None:
    in_make = re.search(r"^RECIPES := (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert in_make is not None
    told = set(re.findall(r"^  ([a-z-]+) +(?:BASE +)?[a-z]", run.USAGE, re.MULTILINE)) | set(run.STEPS)
    assert set(in_make[1].split()) == told
