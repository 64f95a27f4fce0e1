"""The wheel, built from the source archive, installed far from the checkout beside the core requirements alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple

import pytest

import gossamer

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("numba", "numpy", "pyarrow", "sqlglot")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links the requirements into place")

IMPORT_ALL = """
import importlib, pkgutil, gossamer
skipped = ("gossamer.report", "gossamer.pipeline")
for module in pkgutil.walk_packages(gossamer.__path__, "gossamer."):
    if not module.name.startswith(skipped):
        importlib.import_module(module.name)
"""


class Installed(NamedTuple):
    """A wheel and the place it was installed in."""

    wheel: Path
    home: Path

    def run(self, *command: str) -> str:
        """Run a program of the environment outside the checkout, and return what it printed."""
        settings = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        path = str(self.home / "bin" / command[0])
        done = subprocess.run([path, *command[1:]], cwd=self.home, env=settings, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


def core_files() -> list[Path]:
    """What the core requirements put beside each other in site-packages."""
    names = re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements" / "core.txt").read_text(encoding="utf-8"), re.MULTILINE)
    tops = {file.parts[0] for name in names for file in distribution(name).files or [] if file.parts[0] != ".."}
    return [Path(sysconfig.get_path("platlib")) / top for top in sorted(tops)]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Build, make an environment that has nothing but the core requirements, and install into it."""
    built, home = tmp_path_factory.mktemp("built"), tmp_path_factory.mktemp("elsewhere")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "-o", str(built), str(ROOT)], check=True, capture_output=True
    )
    (wheel,) = built.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    (site,) = home.glob("lib/python*/site-packages")
    for path in core_files():
        (site / path.name).symlink_to(path)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(home / "bin" / "python"),
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
    ]
    subprocess.run([*pip, str(wheel)], check=True)
    return Installed(wheel, home)


def test_the_wheel_has_the_package_its_types_and_its_licence_alone(installed: Installed) -> None:
    names = zipfile.ZipFile(installed.wheel).namelist()
    about = f"gossamer-{gossamer.__version__}.dist-info"
    assert "gossamer/py.typed" in names
    assert f"{about}/licenses/LICENSE" in names
    assert {name.split("/")[0] for name in names} == {"gossamer", about}
    assert not [name for name in names if "test_" in name]
    ours = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*") if path.is_file()}
    assert {name for name in ours if "__pycache__" not in name} <= set(names)


def test_the_command_tells_its_version(installed: Installed) -> None:
    assert installed.run("gossamer", "--version") == f"gossamer {gossamer.__version__}\n"


def test_it_is_the_installed_one_and_loads_nothing_heavy(installed: Installed) -> None:
    told = installed.run("python", "-c", "import sys, gossamer; print(gossamer.__file__, *sys.modules, sep='\\n')").split("\n")
    assert Path(told[0]).is_relative_to(installed.home)
    assert not set(HEAVY) & set(told)


def test_every_module_without_an_extra_loads_with_the_core_requirements_alone(installed: Installed) -> None:
    installed.run("python", "-c", IMPORT_ALL)
