"""Scenarios are read, checked, overridden and written back; each error names its setting."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import ScenarioError
from gossamer.scenario.population import population
from gossamer.scenario.scenario import CrashSettings, PopulationSettings, Scenario
from gossamer.scenario.toml import digest, from_dict, load, loads, presets, to_dict, to_toml
from gossamer.scenario.workload import events

FIGURES = {"rings", "dissemination", "lengths", "hops", "joins", "load", "nobody"}
BEYOND = {"crash", "churn", "loss", "changes", "wildcards", "several", "partition", "latency", "joining"}


def test_every_figure_has_a_preset() -> None:
    assert set(presets()) == FIGURES | BEYOND


@pytest.mark.parametrize("name", sorted(FIGURES | BEYOND))
def test_a_preset_is_read_written_and_can_be_run_small(name: str) -> None:
    for scenario in load(name):
        assert loads(to_toml(scenario), "again") == [scenario]
        assert from_dict(to_dict(scenario)) == scenario
    nodes = ["population.nodes=200", "events.count=20"]
    few = load(name, nodes)[0]
    assert few.population.nodes == 200
    assert events(few, population(few, few.seeds[0]), few.seeds[0]).key.shape == (20,)


def test_the_six_experiments_are_there() -> None:
    assert [case.name for case in load("rings")] == [f"rings/{d}-{law}" for d in (1, 3, 5) for law in ("uniform", "power")]


def test_a_file_is_a_list_of_seeds_and_a_list_of_cases(tmp_path: Path) -> None:
    text = """
seeds = [4, 5]
[population]
nodes = 50
wide = 0.5
[[case]]
name = "a"
population = { wide = 0.25 }
[[case]]
crashes = [{ share = 0.5, cycle = 3 }]
"""
    path = tmp_path / "mine.toml"
    path.write_text(text)
    one, two = load(path, ["population.attributes=2", "crashes=[]", "system=gossamer"])
    assert (one.name, two.name) == ("mine/a", "mine/2")
    assert (one.population.wide, two.population.wide) == (0.25, 0.5)
    assert one.population.nodes == two.population.nodes == 50
    assert one.population.attributes == 2
    assert two.crashes == ()
    assert one.system == "gossamer"
    assert load(path)[1].crashes == (CrashSettings(share=0.5, cycle=3),)


@pytest.mark.parametrize(
    ("setting", "path", "told"),
    [
        ("population.node=1", "population.node", "did you mean 'population.nodes'"),
        ("zzz=1", "zzz", "known here"),
        ("population.nodes='x'", "population.nodes", "expected a whole number"),
        ("population.nodes=1.5", "population.nodes", "expected a whole number"),
        ("population.nodes=1", "population.nodes", "expected 2 to"),
        ("population.wide=nan", "population.wide", "expected 0.0 to 1.0"),
        ("population.centre=power", "population.centre", '["power"]'),
        ("population.centre=['power', 'x', 'power']", "population.centre.1", "uniform, power"),
        ("population.centre=['power', 'uniform']", "population.centre", "2 laws"),
        ("population=3", "population", "expected a table"),
        ("cycles=true", "cycles", "whole number"),
        ("form=best", "form", "faithful, better"),
        ("crashes=[{share=0.1}]", "crashes.0.cycle", "no default"),
        ("crashes.0.share=1", "crashes", "double brackets"),
        ("crashes=[{share=0.1, cycle=99}]", "crashes", "after the last"),
        ("crashes={share=0.1}", "crashes", "double brackets"),
        ("partitions=[{share=0.1, from_cycle=9, to_cycle=9}]", "partitions.0", "not after its start"),
        ("events.at=[1, 2.5]", "events.at.1", "whole number"),
        ("events.at=1979-05-27", "events.at", "expected a list"),
        ("params=3", "params", "expected a table"),
        ("params.rings=3", "params.rings", "expected a table"),
        ("params.rings.depth=[1]", "params.rings.depth", "expected a number"),
        ("latency.low=3", "latency.low", "above latency.high"),
        ("timers.phases=3", "timers.phases", "raise timers.ticks"),
        ("seeds=[]", "seeds", "at least one"),
        ("name.x=1", "name.x", "not a table"),
        ("nothing", "nothing", "--set"),
        (".=3", ".=3", "--set"),
    ],
)
def test_a_wrong_setting_is_named(setting: str, path: str, told: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        loads("", "it", [setting])
    assert caught.value.path == path
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "text", ["x =", "case = 3", "case = []", "[[case]]\nname = 3\n[population]\nnodes = 1", "a = " + "[" * 5000]
)
def test_a_wrong_file_ends_in_one_error(text: str) -> None:
    with pytest.raises(ScenarioError):
        loads(text, "it")


@given(st.text(max_size=80))
def test_any_text_is_a_scenario_or_one_error(text: str) -> None:
    with suppress(ScenarioError):
        assert loads(text, "it", [text])


def test_a_file_that_cannot_be_read_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "long.toml").write_text("#" * (1 << 21))
    for path in (tmp_path, tmp_path / "none.toml", tmp_path / "bytes.toml", tmp_path / "long.toml"):
        with pytest.raises(ScenarioError):
            load(path)
    with pytest.raises(ScenarioError, match="did you mean the preset 'rings'"):
        load("ring")
    with pytest.raises(ScenarioError):
        load("a\0b")


def test_a_digest_is_of_what_is_run() -> None:
    one = Scenario(name="a", seeds=(1,), population=PopulationSettings(wide=0))
    assert digest(one) == digest(Scenario(name="b", seeds=(2,)))
    assert digest(one) != digest(Scenario(cycles=41))


def test_what_is_written_is_read_back_whatever_the_texts() -> None:
    odd = Scenario(name='"\\\n\x7f é', params={"a b": {'c"': "\t", "d": 1.5e-300, "e": True, "f": -3}, "rings": {}})
    again = loads(to_toml(odd), "it")[0]
    assert again.name == odd.name
    assert again.params["a b"] == odd.params["a b"]
