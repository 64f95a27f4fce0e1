"""The types a user's checker sees; mypy reads this file, and running it shows that the names exist."""

from __future__ import annotations

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import gossamer
from gossamer.cli.main import main


def test_the_version_is_text() -> None:
    assert_type(gossamer.__version__, str)


def test_a_command_returns_its_exit_code() -> None:
    assert_type(main(["--version"]), int)


def test_an_interest_error_knows_the_place() -> None:
    error = gossamer.InterestError("no such column", text="a > 1", start=0, stop=1, hint="try b")
    assert_type(error.text, str)
    assert_type(error.start, int)
    assert_type(error.stop, int)
    assert_type(error.hint, str)
    assert isinstance(error, ValueError)


def test_a_scenario_error_knows_the_path_of_the_key() -> None:
    assert_type(gossamer.ScenarioError("nodes", "expected a number").path, str)


def test_everything_raised_on_purpose_has_one_base() -> None:
    ours: list[type[gossamer.GossamerError]] = [
        gossamer.CallerError,
        gossamer.ClosedError,
        gossamer.DataError,
        gossamer.InterestError,
        gossamer.MissingExtraError,
        gossamer.PeerError,
        gossamer.ScenarioError,
    ]
    assert all(issubclass(error, gossamer.GossamerError) for error in ours)


def test_a_filter_of_a_schema() -> None:
    schema = gossamer.Schema(gossamer.Float("price", lo=0, hi=100), gossamer.Enum("venue", values=("X", "Y")))
    wanted = gossamer.Filter.parse(schema, "price > 10 AND venue = 'X'")
    assert_type(wanted, gossamer.Filter)
    assert_type(wanted.boxes, NDArray[np.int64])
    assert_type(wanted.exact, bool)
    assert_type(wanted.matches({"price": 11.0, "venue": "X"}), bool)
    assert_type(schema.encode({"price": 11.0}), NDArray[np.int64])
    assert_type(schema.names, tuple[str, ...])
