"""Scenarios from TOML and back: files, presets, cases and ``--set``.

A file is a list of seeds, the settings all cases share, and a list of cases, each a table of what differs in it::

    seeds = [1, 2, 3]
    [population]
    nodes = 10_000
    [[case]]
    name = "1-uniform"
    population = { attributes = 1, centre = ["uniform"] }

Every case becomes a scenario of its own, named "file/case". Which settings exist, and what they may hold, is written in
``scenario.scenario``; here is only how text becomes them. Each error names the setting by its dotted path.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, is_dataclass
from importlib import resources
from pathlib import Path
from typing import Any, get_args, get_type_hints

from gossamer.errors import ScenarioError
from gossamer.scenario.scenario import Scenario

__all__ = ["digest", "from_dict", "leaves", "load", "loads", "presets", "to_dict", "to_toml"]

Toml = Any
"""A value of a TOML text: of any kind until it is checked."""

_PRESETS = "presets"
_MOST_BYTES = 1 << 20
_CASE = "case"


def presets() -> list[str]:
    """Names of the scenarios that come with the package."""
    folder = resources.files(__package__) / _PRESETS
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load(source: str | Path, sets: Iterable[str] = ()) -> list[Scenario]:
    """The scenarios of a file, or of a preset by name, with ``key=value`` settings put over each case."""
    path = Path(source)
    if isinstance(source, str) and source in presets():
        return loads((resources.files(__package__) / _PRESETS / f"{source}.toml").read_text("utf-8"), source, sets)
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ScenarioError(str(source), f"more than {_MOST_BYTES} bytes, which no scenario needs")
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        if isinstance(error, ScenarioError):
            raise
        close = difflib.get_close_matches(str(source), presets(), 1)
        hint = f"did you mean the preset '{close[0]}'?" if close else "a file, or a preset: " + ", ".join(presets())
        raise ScenarioError(str(source), f"cannot be read ({getattr(error, 'strerror', None) or error})", hint=hint) from error
    try:
        return loads(text, path.stem, sets)
    except ScenarioError as error:
        if isinstance(error.__cause__, tomllib.TOMLDecodeError):
            raise ScenarioError(str(source), error.problem) from error.__cause__
        raise


def loads(text: str, name: str, sets: Iterable[str] = ()) -> list[Scenario]:
    """The scenarios of a text; ``name`` is used where it gives none."""
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ScenarioError(name, f"not TOML: {error}") from error
    cases = table.pop(_CASE, [{}])
    if not isinstance(cases, list) or not all(isinstance(case, dict) for case in cases) or not cases:
        raise ScenarioError(_CASE, f"found {cases!r}, expected tables", hint="[[case]]")
    overrides = [_parsed(setting) for setting in sets]
    named = [value for keys, value in overrides if keys == ["name"] and isinstance(value, str) and value]
    title = named[-1] if named else table.setdefault("name", name)
    found = []
    for i, case in enumerate(cases):
        whole = _merged(table, case)
        if "name" in case or len(cases) > 1:
            whole["name"] = f"{title}/{case.get('name', i + 1)}"
        for keys, value in overrides:
            if keys != ["name"] or not named:
                _put(whole, keys, value)
        found.append(from_dict(whole))
    return found


def from_dict(table: Mapping[str, Any]) -> Scenario:
    """A scenario from tables of settings; what is not given has its default."""
    scenario = _made(Scenario, table, "")
    if not isinstance(scenario, Scenario):
        raise TypeError(scenario)
    return scenario


def to_dict(scenario: Scenario) -> dict[str, Any]:
    """Every setting, defaults as well: what a run's folder records. ``from_dict`` reads it back."""
    found: dict[str, Any] = _plain(asdict(scenario))
    return found


def digest(scenario: Scenario) -> str:
    """A hash of what is run: every setting but the name and the seeds."""
    table = to_dict(from_dict(to_dict(scenario)))
    del table["name"], table["seeds"]
    return hashlib.blake2b(json.dumps(table, sort_keys=True).encode(), digest_size=8).hexdigest()


def leaves(value: object, path: str = "") -> dict[str, Any]:
    """Every value in tables of tables (settings, metrics) with its dotted path; places in a list are numbers."""
    if isinstance(value, Mapping):
        inner = [(str(name), part) for name, part in value.items()]
    elif isinstance(value, list):
        inner = [(str(n), part) for n, part in enumerate(value)]
    else:
        return {path: value}
    return {key: leaf for name, part in inner for key, leaf in leaves(part, f"{path}.{name}".lstrip(".")).items()}


def to_toml(scenario: Scenario) -> str:
    """The scenario as a file that ``load`` reads back."""
    lines: list[str] = []
    _write(to_dict(scenario), "", lines)
    return "\n".join(lines) + "\n"


def _made(kind: type, table: object, path: str) -> object:
    """A settings object from a table; whole numbers become reals where reals are meant, so that digests agree."""
    if not isinstance(table, Mapping):
        raise ScenarioError(path.rstrip("."), f"found {table!r}, expected a table of settings")
    hints = get_type_hints(kind)
    known = [entry.name for entry in fields(kind)]
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            close = _inside(kind, str(key)) or difflib.get_close_matches(str(key), known, 1, 0.5)
            hint = f"did you mean '{path}{close[0]}'?" if close else "known here: " + ", ".join(known)
            raise ScenarioError(f"{path}{key}", "no such setting", hint=hint)
        values[key] = _value(hints[key], value, f"{path}{key}")
    for entry in fields(kind):
        if entry.name not in values and entry.default is entry.default_factory:
            raise ScenarioError(f"{path}{entry.name}", "not given, and has no default")
    return kind(**values)


def _inside(kind: type, key: str) -> list[str]:
    """Where a setting lies that was looked for one table too far out: the nodes are the population's."""
    tables = ((name, hint) for name, hint in get_type_hints(kind).items() if is_dataclass(hint))
    return [f"{name}.{key}" for name, hint in tables if key in {entry.name for entry in fields(hint)}][:1]


def _value(hint: Toml, value: object, path: str) -> object:
    if is_dataclass(hint) and isinstance(hint, type):
        return _made(hint, value, path + ".")
    inner = get_args(hint)
    if inner and inner[-1] is Ellipsis:
        if not isinstance(value, list | tuple):
            single = isinstance(value, str | int | float) and not is_dataclass(inner[0])
            wanted = f"[{json.dumps(value)}]" if single else "one or more tables in double brackets"
            raise ScenarioError(path, f"found {value!r}, expected a list", hint=wanted)
        return tuple(_value(inner[0], item, f"{path}.{i}") for i, item in enumerate(value))
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def _parsed(setting: str) -> tuple[list[str], Any]:
    """A dotted path and a value from ``path=value``; a value that is not TOML is taken for a text."""
    path, sign, text = setting.partition("=")
    keys = path.strip().split(".")
    if not sign or not all(keys):
        raise ScenarioError(setting, "not a setting", hint="--set population.nodes=1000")
    try:
        return keys, tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return keys, text.strip()


def _put(table: dict[str, Any], keys: list[str], value: object) -> None:
    """Set one value; a number in the path counts in a list."""
    at: Any = table
    for i, key in enumerate(keys):
        path, last = ".".join(keys[: i + 1]), i == len(keys) - 1
        if isinstance(at, list):
            if not key.isdecimal() or int(key) >= len(at):
                raise ScenarioError(path, f"no such place in a list of {len(at)}")
            where: Any = int(key)
        elif isinstance(at, dict):
            where = key
            if not last:
                at.setdefault(key, {})
        else:
            raise ScenarioError(path, f"'{'.'.join(keys[:i])}' is {at!r}, not a table")
        if last:
            at[where] = value
        at = at[where]


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """A deep copy of base with over put on top: tables are merged, all else replaced."""
    found = {key: _merged(value, {}) if isinstance(value, dict) else _copied(value) for key, value in base.items()}
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(found.get(key), dict)
        found[key] = _merged(found[key], value) if both else _merged(value, {}) if isinstance(value, dict) else _copied(value)
    return found


def _copied(value: Toml) -> Toml:
    if isinstance(value, list):
        return [_merged(item, {}) if isinstance(item, dict) else _copied(item) for item in value]
    return value


def _plain(value: Toml) -> Toml:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


def _write(table: Mapping[str, Any], path: str, lines: list[str]) -> None:
    """Values first, then tables: TOML's own order."""
    tables = {key: value for key, value in table.items() if isinstance(value, dict)}
    lists = {key: value for key, value in table.items() if isinstance(value, list) and value and isinstance(value[0], dict)}
    lines += [f"{_key(key)} = {_text(value)}" for key, value in table.items() if key not in tables and key not in lists]
    for key, value in tables.items():
        if value:
            lines += ["", f"[{path}{_key(key)}]"]
            _write(value, f"{path}{_key(key)}.", lines)
    for key, items in lists.items():
        for item in items:
            lines += ["", f"[[{path}{_key(key)}]]"]
            _write(item, f"{path}{_key(key)}.", lines)


def _key(key: str) -> str:
    return key if key.isascii() and key.replace("_", "").replace("-", "").isalnum() else json.dumps(key)


def _text(value: object) -> str:
    """A value in TOML; a text as in JSON, whose escapes TOML shares (but for DEL, escaped here)."""
    if isinstance(value, str):
        return json.dumps(value).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(_text(item) for item in value) + "]"
    return repr(value)
