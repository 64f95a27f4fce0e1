"""What holds for every test: warnings are errors, and a failing property is found again by the same command."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

__all__ = ["pytest_configure"]

# A first call may compile a kernel for seconds, so no deadline. CI draws the same examples every time: a failure there is
# the change's own. At home the draws differ from run to run, and pytest prints the line that repeats one.
settings.register_profile("home", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("ci", settings.get_profile("home"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "home")


def pytest_configure(config: pytest.Config) -> None:
    """Let one warning through where kernels run as plain Python: numpy's, that its scalars wrap around, as hashes do."""
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        config.addinivalue_line("filterwarnings", "ignore:overflow encountered:RuntimeWarning")
