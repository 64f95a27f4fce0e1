"""The whole world at the beginning of a cycle, as arrays: kept in memory to come back to, or in a file to go on from.

A checkpoint holds every column of every layer, the mail in flight, and what the trace has so far; population, truth and
draws follow from scenario and seed. A run that went on from one ends in the same state as one that was never stopped.

A file is written under another name, flushed and renamed, so whatever stops the program leaves the old checkpoint or the
new one. One of another scenario, seed or version is refused: it would go on, but to a state that nobody could repeat.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gossamer.errors import DataError
from gossamer.protocol.spread import Copies
from gossamer.protocol.view import Mail, Parcels
from gossamer.sim.world import World
from gossamer.trace.columns import Trace

__all__ = [
    "FORMAT",
    "Arrays",
    "Checkpoint",
    "Stamp",
    "block_state",
    "capture",
    "packed",
    "read",
    "restore",
    "resumed",
    "set_block_state",
    "unpacked",
    "write",
]

FORMAT: Final = 1
"""Raised whenever what stands in a checkpoint changes its meaning."""

Arrays = dict[str, NDArray[Any]]

_STAMP, _TRACE = "stamp", "trace/"
_SENT = ("messages", "entries", "failed")


@dataclass(frozen=True, kw_only=True)
class Stamp:
    """What a checkpoint belongs to."""

    config: str
    """``scenario.toml.digest`` of what is run."""
    seed: int
    gossamer: str
    """Version of the package."""
    blocks: int
    """How the rows are cut; a run goes on with the same blocks, on any number of threads."""
    cycle: int
    """The cycle that has begun, gossip and events of it not."""
    format: int = FORMAT


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A world to go on from, and the trace up to it."""

    stamp: Stamp
    arrays: Arrays
    tables: Mapping[str, pa.Table]


# ---------------------------------------------------------------------------------------------------- in memory


def capture(world: World) -> Arrays:
    """A copy of all that changes as the world goes on. To be asked for between cycles only."""
    arrays: Arrays = {
        "clock": np.array([world.tick, world.begun], np.int64),
        "own": world.own.copy(),
        "alive": world.alive.copy(),
    }
    for name, lane in world.lanes.items():
        arrays[f"sent/{name}"] = np.array([lane.sent[what] for what in _SENT], np.int64)
    for number in range(len(world.blocks)):
        arrays |= {path: column.copy() for path, column in block_state(world, number).items()}
    for tick, mails in world.calendar.items():
        for name, batches in mails.items():
            for n, (mail, fresh) in enumerate(batches):
                place = f"mail/{tick}/{name}/{n}"
                arrays[f"{place}/fresh"] = np.array([fresh])
                arrays |= {f"{place}/{path}": column.copy() for path, column in _columns(mail)}
    return arrays


def restore(world: World, arrays: Arrays) -> None:
    """Make the world what it was. What is handed in is copied, so one capture can be come back to many times."""
    world.tick, world.begun = (int(number) for number in arrays["clock"])
    world.own[:], world.alive[:] = arrays["own"], arrays["alive"]
    for name, lane in world.lanes.items():
        lane.sent.update(zip(_SENT, arrays[f"sent/{name}"].tolist(), strict=True))
    for number in range(len(world.blocks)):
        set_block_state(world, number, arrays, number)
    world.calendar.clear()
    places = [
        path.removesuffix("/fresh").split("/")[1:] for path in arrays if path.startswith("mail/") and path.endswith("/fresh")
    ]
    for tick, name, n in sorted(places, key=lambda place: (int(place[0]), place[1], int(place[2]))):
        place = f"mail/{tick}/{name}/{n}"
        columns = {path.removeprefix(f"{place}/") for path in arrays if path.startswith(f"{place}/")} - {"fresh"}
        kind = next(kind for kind in (Mail, Parcels, Copies) if set(kind._fields) == columns)
        mail = kind(*(arrays[f"{place}/{column}"].copy() for column in kind._fields))
        world.calendar[int(tick)][name].append((mail, bool(arrays[f"{place}/fresh"][0])))


def block_state(world: World, number: int) -> Arrays:
    """All columns of every layer of one block, by their paths; the world's own, no copies."""
    return {
        f"state/{name}/{number}/{path}": column
        for name, lane in world.lanes.items()
        for path, column in _columns(lane.state[number])
    }


def set_block_state(world: World, number: int, arrays: Arrays, named: int) -> None:
    """Give a block what stands under the paths of a block of that number. It is copied."""
    for name, lane in world.lanes.items():
        lane.state[number] = _rebuilt(lane.state[number], f"state/{name}/{named}", arrays)


def _columns(state: Any) -> Iterator[tuple[str, NDArray[Any]]]:  # noqa: ANN401  (whatever record of arrays a layer keeps)
    """Every array of a record, by its path; records may stand in records."""
    for name in state._fields:
        value = getattr(state, name)
        if hasattr(value, "_fields"):
            yield from ((f"{name}/{path}", column) for path, column in _columns(value))
        else:
            yield name, value


def _rebuilt(state: Any, place: str, arrays: Arrays) -> Any:  # noqa: ANN401
    """A record like the one given, with the columns that stand under a place."""
    values = []
    for name in state._fields:
        inner = getattr(state, name)
        path = f"{place}/{name}"
        values.append(_rebuilt(inner, path, arrays) if hasattr(inner, "_fields") else arrays[path].copy())
    return type(state)(*values)


# ---------------------------------------------------------------------------------------------------- in a file


def write(path: Path, stamp: Stamp, world: World, trace: Trace, more: Mapping[str, NDArray[Any]] | None = None) -> None:
    """Write a checkpoint, with whatever ``more`` there is; an older one is replaced at once or, if anything fails, stays."""
    arrays = capture(world) | dict(more or {})
    arrays[_STAMP] = np.frombuffer(json.dumps(asdict(stamp)).encode(), np.uint8)
    for name, table in trace.tables().items():
        arrays[_TRACE + name] = np.frombuffer(packed(table), np.uint8)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        partial.unlink(missing_ok=True)


def read(path: Path, wanted: Stamp) -> Checkpoint:
    """Read a checkpoint of the run that is wanted; its blocks and its cycle may be any."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:  # by path, it would leave a broken one open
            arrays: Arrays = {name: file[name] for name in file.files}
        stamp = _stamp(path, arrays.pop(_STAMP))
        tables = {name.removeprefix(_TRACE): unpacked(arrays.pop(name)) for name in list(arrays) if name.startswith(_TRACE)}
    except FileNotFoundError as error:
        raise DataError(f"{path}: not there, so there is nothing to go on from. Run it without --resume") from error
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, pa.ArrowException) as error:
        raise DataError(f"{path}: cannot be read; truncated, or no checkpoint ({error})") from error
    for name in ("config", "seed", "gossamer"):
        found, expected = getattr(stamp, name), getattr(wanted, name)
        if found != expected:
            problem = f"{path}: belongs to another run: its {name} is {found}, this one's {expected}"
            raise DataError(f"{problem}. Run it without --resume, or into another folder")
    return Checkpoint(stamp=stamp, arrays=arrays, tables=tables)


def resumed(checkpoint: Checkpoint, world: World, trace: Trace) -> None:
    """Give a new world and an empty trace what a checkpoint holds."""
    try:
        restore(world, checkpoint.arrays)
    except (KeyError, ValueError, TypeError, StopIteration) as error:
        raise DataError(f"the checkpoint does not fit the world it says it is of ({error})") from error
    for name, table in checkpoint.tables.items():
        trace[name].append(**{column: table.column(column).to_numpy() for column in table.column_names})


def _stamp(path: Path, text: NDArray[np.uint8]) -> Stamp:
    found = json.loads(text.tobytes())
    if found.get("format") != FORMAT or set(found) != {entry.name for entry in fields(Stamp)}:
        problem = f"{path}: a checkpoint of format {found.get('format')!r}, expected {FORMAT}"
        raise DataError(f"{problem}. Run it without --resume")
    return Stamp(**found)


def packed(table: pa.Table) -> bytes:
    """A table as bytes."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def unpacked(data: NDArray[np.uint8]) -> pa.Table:
    """The table that was packed."""
    return pa.ipc.open_stream(data.tobytes()).read_all()
