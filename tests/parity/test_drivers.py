"""One scenario, several drivers, equal rows, cycle by cycle: blocks, threads, machines; with open eyes and blindfold."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import islice
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings

from gossamer.arrays import NONE
from gossamer.interest.ask import Interests
from gossamer.protocol import cyclon
from gossamer.protocol.descriptor import Book
from gossamer.protocol.spread import ARC, CLOSE, COPY, HINT, REPAIR, SEEK
from gossamer.scenario.scenario import EventSettings, PopulationSettings, Scenario
from tests.parity.blindfold import Blindfold, blindfolded
from tests.parity.drivers import Blocks, Driver, Machines, Setting, differences, setting
from tests.sim.worlds import SYSTEMS, scenarios, turmoil

each_system = pytest.mark.parametrize(("system", "form"), SYSTEMS)
compiled = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="too many moves for plain Python")


def calm(system: str, form: str, nodes: int, cycles: int, attributes: int = 3) -> Setting:
    """A world in which events travel, and nothing else happens."""
    events = EventSettings(count=4 * cycles, frozen=False, per_cycle=4)
    population = PopulationSettings(nodes=nodes, attributes=attributes)
    return setting(Scenario(system=system, form=form, cycles=cycles, population=population, events=events))


def first_differences(one: Driver, other: Driver, *, every: int = 1) -> list[str]:
    """The first few, or nothing."""
    return list(islice(differences(one, other, one.it.scenario.cycles, every=every), 4))


@each_system
def test_machines_and_blocks_agree_row_by_row_in_every_cycle(system: str, form: str) -> None:
    it = calm(system, form, 60, 12)
    blocks = Blocks(it)
    assert first_differences(blocks, Machines(it)) == []
    assert len(blocks.delivered) > 50


@compiled
@each_system
def test_machines_and_blocks_agree_where_everything_happens(system: str, form: str) -> None:
    it = setting(turmoil(system, form, 40), seed=3)
    blocks = Blocks(it, count=3)
    assert first_differences(blocks, Machines(it)) == []
    assert len(blocks.delivered) > 20
    carried = {receipt.what for receipt in blocks.receipts}
    assert carried >= ({COPY} | ({ARC, CLOSE, HINT, SEEK} if (system, form) == ("gossamer", "better") else set()))
    assert carried >= ({REPAIR} if system == "gossamer" else set())


@pytest.mark.parametrize("layers", [("cyclon",), ("cyclon", "vicinity"), ("cyclon", "vicinity", "rings")])
def test_machines_and_blocks_agree_on_some_layers_alone(layers: tuple[str, ...]) -> None:
    scenario = Scenario(form="better", cycles=15, population=PopulationSettings(nodes=50), events=EventSettings(count=0))
    it = setting(scenario, only=layers)
    assert first_differences(Blocks(it, count=2), Machines(it)) == []


@compiled
@settings(max_examples=6)
@given(scenario=scenarios())
def test_machines_and_blocks_agree_in_any_world(scenario: Scenario) -> None:
    it = setting(scenario)
    assert first_differences(Blocks(it, count=min(3, it.people.key.shape[0])), Machines(it)) == []


@pytest.mark.slow
@pytest.mark.parametrize(("nodes", "cycles"), [(300, 40), (3000, 5)])
@pytest.mark.parametrize(("system", "form"), [("sub2sub", "faithful"), ("gossamer", "better")])
def test_machines_and_blocks_agree_on_many_rows(system: str, form: str, nodes: int, cycles: int) -> None:
    it = calm(system, form, nodes, cycles)
    assert first_differences(Blocks(it, count=8, threads=2), Machines(it), every=cycles) == []


# ---------------------------------------------------------------------------------------------------- blocks and threads


@compiled
@pytest.mark.parametrize(("count", "threads"), [(3, 1), (8, 1), (3, 2), (8, 2)])
@each_system
def test_neither_blocks_nor_threads_can_be_seen(system: str, form: str, count: int, threads: int) -> None:
    it = setting(turmoil(system, form, 80))
    assert first_differences(Blocks(it), Blocks(it, count=count, threads=threads)) == []


@compiled
@pytest.mark.parametrize(("nodes", "cycles"), [(300, 40), (3000, 5)])
@each_system
def test_neither_blocks_nor_threads_can_be_seen_among_many_rows(system: str, form: str, nodes: int, cycles: int) -> None:
    it = calm(system, form, nodes, cycles)
    assert first_differences(Blocks(it), Blocks(it, count=8, threads=2), every=cycles) == []


# ---------------------------------------------------------------------------------------------------- blindfold


@compiled
@each_system
def test_moves_made_blindfold_end_in_the_same_state(system: str, form: str) -> None:
    it = setting(turmoil(system, form, 24))
    with blindfolded() as fold:
        assert first_differences(Blocks(it), Machines(it)) == []
    assert fold.moves > 1000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "form", "nodes", "cycles"), [("gossamer", "better", 300, 40), ("sub2sub", "faithful", 3000, 5)]
)
def test_many_rows_blindfold_end_in_the_same_state(system: str, form: str, nodes: int, cycles: int) -> None:
    it = calm(system, form, nodes, cycles)
    with blindfolded():
        assert first_differences(Blocks(it), Machines(it), every=cycles) == []


def test_a_blindfold_move_that_peeps_never_sees_what_is_true() -> None:
    def peep(book: Book, own: int, other: int) -> tuple[int, int]:
        return int(book.key[own]), int(book.key[other])

    module = ModuleType("peeping")
    module.__dict__["peep"] = peep
    count = 64
    book = Book(
        key=np.arange(count, dtype=np.uint64),
        version=np.zeros(count, np.uint32),
        owner=np.full(count, NONE, np.int32),
        wants=Interests(np.zeros((count, 2, 1), np.int64), np.ones(1)),
        versioned=0,
    )
    moves = Blindfold(1).over(module)
    seen = [moves.peep(book, np.int32(7), 9) for _ in range(20)]
    assert {own for own, _ in seen} == {7}
    assert not {other for _, other in seen} & set(range(count)) - {7}


def test_a_blindfold_move_that_orders_by_handle_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cyclon writes to the oldest; in this world to the one whose handle is highest."""
    honest = cyclon.request

    def request(book: Book, now: object, view: cyclon.Samples, i: int, own: int, mail: object, m: int) -> bool:
        best = int(np.argmax(view.handles[i]))
        view.born[i, best] = 40_000
        return honest(book, now, view, i, own, mail, m)  # type: ignore[arg-type]

    monkeypatch.setattr("gossamer.protocol.cyclon.request", request)
    scenario = Scenario(cycles=8, population=PopulationSettings(nodes=20), events=EventSettings(count=0))
    it = setting(scenario, only=("cyclon",))
    told = []
    for seed in (1, 2):
        with blindfolded(seed):
            machines = Machines(it)
            for _ in range(scenario.cycles):
                machines.run_cycle()
            told.append(machines.fingerprint)
    assert told[0] != told[1]


# ---------------------------------------------------------------------------------------------------- plain Python


@pytest.mark.slow
def test_kernels_as_plain_python_end_in_the_same_state() -> None:
    """100 rows, 5 cycles, each system, with events."""
    code = (
        "from tests.parity.test_drivers import *\n"
        "for system, form in SYSTEMS:\n"
        "    blocks = Blocks(calm(system, form, 100, 5, 2))\n"
        "    for _ in range(5):\n"
        "        blocks.run_cycle()\n"
        "    print(blocks.fingerprint, len(blocks.receipts), len(blocks.delivered))\n"
    )
    told = [
        subprocess.run(
            [sys.executable, "-W", "ignore:overflow:RuntimeWarning", "-c", code],
            env=os.environ | {"NUMBA_DISABLE_JIT": disabled},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for disabled in ("0", "1")
    ]
    assert len(told[0].splitlines()) == len(SYSTEMS)
    assert told[0] == told[1]


def test_another_seed_ends_in_another_state() -> None:
    it = calm("sub2sub", "better", 30, 2)
    assert first_differences(Blocks(it), Blocks(it._replace(seed=2))) != []
