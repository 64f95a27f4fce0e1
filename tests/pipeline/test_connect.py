"""Over Spark Connect: truth, measures and streams as in one process."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gossamer.measure.summary import dissemination, summary
from gossamer.scenario.toml import leaves
from gossamer.trace.rolled import roll
from tests.pipeline import client
from tests.pipeline.cluster import Program, connect_server
from tests.pipeline.traced import traced

pytestmark = pytest.mark.cluster


def test_truth_measures_and_streams_over_spark_connect_are_those_of_one_process(tmp_path: Path) -> None:
    made = traced(tmp_path / "run")
    roll(made.tables, tmp_path / "rolled", ticks=30)
    with connect_server(tmp_path) as address:
        words = [address, *(str(tmp_path / name) for name in ("run", "rolled", "out"))]
        program = Program([sys.executable, str(Path(client.__file__)), *words], tmp_path / "log")
        assert program.wait() == 0, program.log.read_text()
        told = json.loads(program.said(r"(?m)^told (.*)$"))
    assert [[event, count, bits % 2**64] for event, count, bits in told["matches"]] == made.matches
    expected = leaves(summary(made.tables, made.rows))
    without = {name for name, value in expected.items() if value is None}
    assert {name for name, value in told["metrics"].items() if value is None} == without
    assert _some(told["metrics"]) == pytest.approx(_some(expected), rel=1e-12, abs=1e-12)
    assert (told["streamed"]["ended"], told["streamed"]["late"]) == (True, 0)
    assert told["streamed"]["metrics"] == pytest.approx(dissemination(made.spread), rel=1e-12, abs=1e-12)


def _some(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Those that have a value."""
    return {name: value for name, value in metrics.items() if value is not None}
