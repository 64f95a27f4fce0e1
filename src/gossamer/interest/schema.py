"""The schema of a stream: its named fields, in order, and how events become vectors of int64 codes.

    schema = Schema(Float("price", lo=0.01, hi=1000), Enum("venue", values=("X", "Y")), Datetime("at"))
    schema.encode({"price": 10.5, "venue": "X"})        # (D,) int64; a field without a value is null
    schema.encode_columns(table)                        # (E, D) int64, from columns of any library

Two nodes speak of one stream when their schemas have one fingerprint. Everything in the schema counts for it, domains too:
they scale distances, and nodes that measure differently would not arrange themselves alike.

The surprising thing: a domain (``lo``, ``hi``) is not a limit. It says how wide the field is when gaps are measured; values
outside it are values like others.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import json
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import numpy as np

from gossamer.arrays import Coordinates, Scales
from gossamer.errors import InterestError
from gossamer.interest.column import read_column
from gossamer.interest.field import NULL, AnyField, Field, Value, nearest
from gossamer.interest.label import Bool, Datetime, Enum, String
from gossamer.interest.quantity import Float, Grid, Int

__all__ = [
    "MAX_FIELDS",
    "Bool",
    "Datetime",
    "Domain",
    "Enum",
    "Field",
    "Float",
    "Grid",
    "Int",
    "Schema",
    "String",
    "Value",
]

MAX_FIELDS: Final = 64

_KINDS: dict[str, type[AnyField]] = {kind.kind: kind for kind in (Float, Grid, Int, Bool, Enum, String, Datetime)}
_PLAIN: dict[object, type[AnyField]] = {float: Float, int: Int, bool: Bool, str: String, datetime: Datetime}


@dataclasses.dataclass(frozen=True)
class Domain:
    """The domain of an annotated attribute: ``price: Annotated[float, Domain(0, 1000)]``; ``grid`` makes a float a Grid."""

    lo: Value
    hi: Value
    grid: bool = False


class Schema:
    """1 to 64 fields with different names, whatever their case. Immutable; equal when all fields are."""

    __slots__ = ("_place", "fields", "fingerprint")

    fields: tuple[AnyField, ...]
    fingerprint: str
    """128 bits in hex over everything in the schema; the same on every machine and in every version."""

    def __init__(self, *fields: AnyField) -> None:
        if not 1 <= len(fields) <= MAX_FIELDS:
            raise InterestError(f"a schema has 1 to {MAX_FIELDS} fields, not {len(fields)}")
        folded: dict[str, str] = {}
        for field in fields:
            if not isinstance(field, Field):
                raise InterestError(f"expected a field, found {field!r}", hint="Schema(Float('price'), Bool('active'))")
            if (other := folded.get(field.name.lower())) is not None:
                problem = f"two fields are called {other!r} and {field.name!r}"
                raise InterestError(problem, hint="names must differ in more than their case")
            folded[field.name.lower()] = field.name
        self.fields = fields
        self._place = {field.name: d for d, field in enumerate(fields)}
        canonical = json.dumps(list(self.to_dict().items()), separators=(",", ":"), ensure_ascii=True, sort_keys=True)
        self.fingerprint = hashlib.blake2b(canonical.encode(), digest_size=16).hexdigest()

    def __len__(self) -> int:
        """The number of fields, D."""
        return len(self.fields)

    def __iter__(self) -> Iterator[AnyField]:
        """The fields in order."""
        return iter(self.fields)

    def __getitem__(self, name: str) -> AnyField:
        """A field by name; an InterestError names the nearest one."""
        return self.fields[self.index(name)]

    def __contains__(self, name: object) -> bool:
        """Whether a field has this name."""
        return name in self._place

    def __eq__(self, other: object) -> bool:
        """Equal when all fields are, in order."""
        return isinstance(other, Schema) and self.fields == other.fields

    def __hash__(self) -> int:
        """By fingerprint."""
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        """As it would be written."""
        return f"Schema({', '.join(map(repr, self.fields))})"

    @property
    def names(self) -> tuple[str, ...]:
        """The fields' names in order."""
        return tuple(self._place)

    @property
    def exact(self) -> bool:
        """Whether events with one vector are equal: false as soon as a field is a string, which is mapped by its prefix."""
        return all(field.exact for field in self.fields)

    def index(self, name: str) -> int:
        """The place of a field in the vector."""
        if name not in self._place:
            raise InterestError(f"no field is called {name!r}", hint=nearest(name, self.names, "fields"))
        return self._place[name]

    def keys(self, event: object) -> list[Any]:
        """What each field of an event is compared by, None where it has no value.

        An event is a mapping (what it lacks is null), a sequence of one value a field, or a dataclass instance.
        """
        if isinstance(event, Mapping):
            for name in event:
                if name not in self._place:
                    self.index(str(name))
            row: Sequence[object] = [event.get(name) for name in self._place]
        elif dataclasses.is_dataclass(event) and not isinstance(event, type):
            row = [getattr(event, name, None) for name in self._place]
        elif isinstance(event, Sequence | np.ndarray) and not isinstance(event, str | bytes):
            row = event if isinstance(event, Sequence) else list(event)
            if len(row) != len(self.fields):
                problem = f"expected {len(self.fields)} values, found {len(row)}"
                raise InterestError(problem, hint=f"fields: {', '.join(self.names)}")
        else:
            problem = f"expected an event, found {type(event).__name__}"
            raise InterestError(problem, hint="a mapping, a sequence or a dataclass instance")
        return [None if value is None else field.key(value) for field, value in zip(self.fields, row, strict=True)]

    def encode(self, event: object) -> Coordinates:
        """The (D,) int64 vector of one event."""
        codes = [NULL if key is None else field.code(key) for field, key in zip(self.fields, self.keys(event), strict=True)]
        return np.array(codes, dtype=np.int64)

    def encode_columns(self, columns: Any) -> Coordinates:  # noqa: ANN401  (a table of any library, or a mapping)
        """The (E, D) int64 vectors of a table's rows; columns that are no field are left alone."""
        parts: list[Coordinates] = []
        for field in self.fields:
            try:
                data = columns[field.name]
            except (KeyError, IndexError):
                problem = f"the table has no column {field.name!r}"
                raise InterestError(problem, hint="give a column of nulls for what is not known") from None
            values, missing = read_column(data)
            codes = np.full(len(missing), NULL, np.int64)
            if len(values):
                codes[~missing] = field.codes(values)
            if parts and len(codes) != len(parts[0]):
                raise InterestError(f"column {field.name!r} has {len(codes)} rows, {self.fields[0].name!r} has {len(parts[0])}")
            parts.append(codes)
        return np.stack(parts, axis=1)

    def decode(self, vector: Coordinates) -> dict[str, Value]:
        """A vector as values, for showing; of texts only the prefix is known."""
        pairs = zip(self.fields, vector.tolist(), strict=True)
        return {field.name: None if code == NULL else field.value(code) for field, code in pairs}

    def scales(self) -> Scales:
        """(D,) float64: one over each field's width, for gaps between boxes.

        A field without a declared domain is as wide as its type, so a gap in it counts next to nothing: declare domains.
        """
        return np.array([field.scale for field in self.fields], dtype=np.float64)

    def to_dict(self) -> dict[str, dict[str, object]]:
        """A table of settings for each field, as TOML or JSON holds it."""
        return {field.name: field.to_dict() for field in self.fields}

    @classmethod
    def from_dict(cls, table: Mapping[str, object]) -> Schema:
        """The schema of a table such as ``{"price": {"type": "grid", "lo": 0, "hi": 10}, "active": "bool"}``."""
        return cls(*(_field_from_dict(name, settings) for name, settings in table.items()))

    @classmethod
    def from_dataclass(cls, annotated: type) -> Schema:
        """The schema of a class's annotations: a dataclass, a NamedTuple, a TypedDict.

        float, int, bool, str, datetime, a Python Enum (by names) or a Literal of texts; ``| None`` changes nothing.
        """
        try:
            hints = typing.get_type_hints(annotated, include_extras=True)
        except NameError as error:
            problem = f"an annotation of {annotated.__name__} cannot be resolved: {error}"
            raise InterestError(problem, hint="define the class, and what it names, at the top of a module") from None
        return cls(*(_field_from_hint(name, hint) for name, hint in hints.items()))

    def differences(self, other: Schema) -> list[str]:
        """What another schema has otherwise, one line each; empty when they are equal."""
        mine, theirs = self.to_dict(), other.to_dict()
        lines = [f"{name}: only here" for name in mine if name not in theirs]
        lines += [f"{name}: only there" for name in theirs if name not in mine]
        lines += [
            f"{name}: {mine[name]} here, {theirs[name]} there" for name in mine if name in theirs and mine[name] != theirs[name]
        ]
        if not lines and self.names != other.names:
            lines.append(f"order: {', '.join(self.names)} here, {', '.join(other.names)} there")
        return lines


def _field_from_dict(name: str, settings: object) -> AnyField:
    """A field from a table of settings, or from its type's name alone."""
    table = {"type": settings} if isinstance(settings, str) else settings
    if not isinstance(table, Mapping) or "type" not in table:
        raise InterestError(f"{name}: expected a type or a table with a type", hint=f"types: {', '.join(_KINDS)}")
    kind = table["type"]
    if kind not in _KINDS:
        raise InterestError(f"{name}: {kind!r} is no type of field", hint=nearest(str(kind), list(_KINDS), "types"))
    known = ["type", *(f.name for f in dataclasses.fields(_KINDS[kind]) if f.name != "name")]
    for setting in table:
        if setting not in known:
            raise InterestError(f"{name}: {setting!r} is no setting of {kind}", hint=nearest(str(setting), known, "settings"))
    return _KINDS[kind](name, **{key: value for key, value in table.items() if key != "type"})


def _field_from_hint(name: str, hint: object) -> AnyField:
    """A field from one annotation."""
    domain: dict[str, Value] = {}
    grid = False
    if typing.get_origin(hint) is typing.Annotated:
        hint, *notes = typing.get_args(hint)
        for note in notes:
            if isinstance(note, Domain):
                domain, grid = {"lo": note.lo, "hi": note.hi}, note.grid
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        kept = [part for part in typing.get_args(hint) if part is not type(None)]
        hint = kept[0] if len(kept) == 1 else hint
    if typing.get_origin(hint) is typing.Literal:
        return Enum(name, values=typing.get_args(hint))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return Enum(name, values=tuple(hint.__members__))
    if hint not in _PLAIN or (grid and hint is not float):
        problem = f"{name}: {hint!r} is no type of field"
        raise InterestError(problem, hint="float, int, bool, str, datetime, an Enum, or a Literal of texts")
    kind: Any = Grid if grid else _PLAIN[hint]
    if domain and kind is Bool:
        raise InterestError(f"{name}: a bool has no domain to declare")
    return kind(name, **domain)  # type: ignore[no-any-return]
