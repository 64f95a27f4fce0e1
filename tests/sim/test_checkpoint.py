"""A run that is stopped and goes on ends as one that was never stopped; anything else is refused."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import IO

import numpy as np
import pytest

from gossamer.errors import DataError
from gossamer.scenario.scenario import ChurnSettings, Scenario
from gossamer.scenario.toml import digest
from gossamer.sim import checkpoint
from gossamer.sim.checkpoint import FORMAT, Stamp, capture, restore
from gossamer.sim.run import CHECKPOINT, Options, Outcome, StoppedError, run
from gossamer.trace.columns import Trace
from tests.sim.worlds import made, still, turmoil

WORLDS = {
    "still": still(),
    "still arcs": still("gossamer"),
    "turmoil": turmoil("sub2sub", "better"),
    "turmoil arcs": turmoil(),
}


@cache
def whole(name: str) -> Outcome:
    """The run that is not stopped."""
    return run(WORLDS[name], 1)


def same(one: Outcome, other: Outcome) -> bool:
    """Whether two runs came to the same."""
    assert one.state == other.state
    assert set(one.tables) == set(other.tables)
    for name, table in one.tables.items():
        assert table.equals(other.tables[name]), name
    return one.metrics == other.metrics


def after(asks: int) -> Callable[[], bool]:
    """Say stop at the n-th asking."""
    left = iter([False] * (asks - 1) + [True])
    return lambda: next(left, False)


@pytest.mark.parametrize("name", WORLDS)
def test_a_run_stopped_at_any_moment_goes_on_to_the_same_end(name: str, tmp_path: Path) -> None:
    for stops in range(1, 30, 4):
        try:
            run(WORLDS[name], 1, Options(folder=tmp_path, stop=after(stops), blocks=2))
        except StoppedError:
            assert same(run(WORLDS[name], 1, Options(folder=tmp_path, resume=True, threads=2)), whole(name))
        else:
            break
    assert stops > WORLDS[name].cycles


@pytest.mark.parametrize("name", ["still", "turmoil arcs"])
def test_a_run_may_be_stopped_after_every_cycle(name: str, tmp_path: Path) -> None:
    outcome: Outcome | None = None
    cycles: list[int] = []
    while outcome is None:
        try:
            asked = 1 if not cycles else 2 if cycles[-1] < WORLDS[name].cycles else 1000
            how = Options(folder=tmp_path, stop=after(asked), resume=bool(cycles), blocks=3)
            outcome = run(WORLDS[name], 1, how)
        except StoppedError as stopped:
            cycles.append(stopped.cycle)
    assert cycles == list(range(WORLDS[name].cycles + 1))
    assert same(outcome, whole(name))


def test_a_run_goes_on_from_the_checkpoint_it_left_on_its_way(tmp_path: Path) -> None:
    assert same(run(WORLDS["turmoil arcs"], 1, Options(folder=tmp_path, every=4)), whole("turmoil arcs"))
    with np.load(tmp_path / CHECKPOINT) as file:
        assert file["clock"].tolist() == [12 * 6, 12]
    assert same(run(WORLDS["turmoil arcs"], 1, Options(folder=tmp_path, resume=True)), whole("turmoil arcs"))


def stopped(folder: Path, scenario: Scenario, seed: int = 1) -> Path:
    """A run stopped in its fourth cycle; its checkpoint."""
    with pytest.raises(StoppedError, match="cycle 3"):
        run(scenario, seed, Options(folder=folder, stop=after(4)))
    return folder / CHECKPOINT


@pytest.mark.parametrize(
    ("scenario", "seed", "what"),
    [
        (replace(still(), churn=ChurnSettings(rate=0.1)), 1, "config"),
        (still("gossamer"), 1, "config"),
        (still(), 2, "seed"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused_and_left_as_it_is(
    scenario: Scenario, seed: int, what: str, tmp_path: Path
) -> None:
    path = stopped(tmp_path, still())
    before = path.read_bytes()
    with pytest.raises(DataError, match=f"belongs to another run: its {what}"):
        run(scenario, seed, Options(folder=tmp_path, resume=True))
    assert path.read_bytes() == before


def test_a_checkpoint_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = stopped(tmp_path, still())
    monkeypatch.setattr("gossamer.sim.run.__version__", "99.0")
    with pytest.raises(DataError, match=r"its gossamer is .*, this one's 99\.0"):
        run(still(), 1, Options(folder=tmp_path, resume=True))
    stamp = Stamp(config=digest(still()), seed=1, gossamer="99.0", blocks=1, cycle=0, format=FORMAT + 1)
    checkpoint.write(path, stamp, made(still()), Trace())
    with pytest.raises(DataError, match=f"a checkpoint of format {FORMAT + 1}, expected {FORMAT}"):
        run(still(), 1, Options(folder=tmp_path, resume=True))


def test_another_name_and_other_seeds_make_no_other_run(tmp_path: Path) -> None:
    stopped(tmp_path, still())
    outcome = run(replace(still(), name="another", seeds=(1, 2)), 1, Options(folder=tmp_path, resume=True))
    assert same(outcome, whole("still"))


@pytest.mark.parametrize("left", [0.0, 0.001, 0.3, 0.9, 0.999])
def test_a_truncated_checkpoint_is_refused(left: float, tmp_path: Path) -> None:
    path = stopped(tmp_path, still())
    data = path.read_bytes()
    path.write_bytes(data[: int(left * len(data))])
    with pytest.raises(DataError, match="truncated, or no checkpoint"):
        run(still(), 1, Options(folder=tmp_path, resume=True))


def test_a_file_that_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    path = tmp_path / CHECKPOINT
    for content in (b"nonsense", b"PK\x03\x04" + bytes(100)):
        path.write_bytes(content)
        with pytest.raises(DataError, match="truncated, or no checkpoint"):
            run(still(), 1, Options(folder=tmp_path, resume=True))
    with path.open("wb") as file:
        np.savez(file, clock=np.zeros(2))
    with pytest.raises(DataError, match="truncated, or no checkpoint"):
        run(still(), 1, Options(folder=tmp_path, resume=True))


def test_where_there_is_no_checkpoint_one_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="Run it without --resume"):
        run(still(), 1, Options(folder=tmp_path, resume=True))


def test_a_checkpoint_that_cannot_be_written_leaves_the_older_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: IO[bytes], **_: object) -> None:
        file.write(b"half of i")
        raise OSError(errno.ENOSPC, "No space left on device")

    path = stopped(tmp_path / "run", still())
    before = path.read_bytes()
    stamp = Stamp(config="", seed=1, gossamer="", blocks=1, cycle=0)
    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(DataError, match=r"cannot be written \(No space left on device\)"):
        checkpoint.write(path, stamp, made(still()), Trace())
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_capture_can_be_come_back_to_many_times() -> None:
    world = made(turmoil(), blocks=2)
    for _ in range(4):
        world.run_cycle()
    before = capture(world)
    ends = []
    for _ in range(2):
        for _ in range(5):
            world.run_cycle()
        ends.append(capture(world))
        restore(world, before)
        now = capture(world)
        assert now.keys() == before.keys()
        for name, column in before.items():
            np.testing.assert_array_equal(now[name], column)
    assert ends[0].keys() == ends[1].keys()
    for name, column in ends[0].items():
        np.testing.assert_array_equal(ends[1][name], column)
