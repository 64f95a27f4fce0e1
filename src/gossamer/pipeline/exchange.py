"""Arrays in files and in rows: what a block of an overlay was, and the mail between blocks.

A pack is many named arrays with a little text, in one run of bytes: a header in JSON, then the arrays, each in one piece. So a
reader takes out of a file the parts it needs and leaves the rest: a block's mail is a slice of every other block's file. What
was never written on (most of a row's room for links is such) takes no place.

A file is written under a name nobody else uses and renamed. Its bytes follow from what went in alone, so it does not matter
who writes it, how often, or whether two do at once: a task may be tried again, here or elsewhere.
"""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, Self

import numpy as np
from numpy.typing import NDArray

from gossamer.protocol.spread import Copies
from gossamer.protocol.view import Mail, Parcels
from gossamer.sim.checkpoint import Arrays
from gossamer.sim.lanes import Post
from gossamer.sim.part import Batch, Piece

__all__ = ["Pack", "in_bytes", "mail_of", "pieces_for", "write"]

_MAGIC: Final = b"gossamer"
_ALIGNED: Final = 64
_WORTH_IT: Final = 1 << 12
"""So many entries an array has at least to be looked at for whether they are all alike."""
_KINDS: Final[Mapping[str, type[Mail | Parcels | Copies]]] = {"mail": Mail, "parcels": Parcels, "copies": Copies}


class Pack:
    """A pack that is there: its text, and its arrays, whole or some rows of them."""

    def __init__(self, source: Path | bytes) -> None:
        self._file: BinaryIO = io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")
        try:
            size = self._read_header()
        except ValueError as error:
            self._file.close()
            raise ValueError(f"not a pack of arrays, or cut off ({error})") from error
        self._begin = _up(2 * len(_MAGIC) + size)

    def _read_header(self) -> int:
        head = self._file.read(2 * len(_MAGIC))
        if not head.startswith(_MAGIC):
            raise ValueError(f"found {head[: len(_MAGIC)]!r}, expected {_MAGIC!r}")
        size = int.from_bytes(head[len(_MAGIC) :], "little")
        header = json.loads(self._file.read(size))
        self.more: dict[str, Any] = header["more"]
        self._arrays: dict[str, tuple[str, list[int], int, bool]] = header["arrays"]
        return size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def whole(self) -> Arrays:
        """All of it."""
        return {name: self.rows(name) for name in self._arrays}

    def rows(self, name: str, start: int = 0, stop: int | None = None) -> NDArray[Any]:
        """Some rows of an array; to be written on."""
        kind, (count, *inner), offset, alike = self._arrays[name]
        dtype, stop = np.dtype(kind), count if stop is None else stop
        width = int(np.prod(inner, dtype=np.int64))
        shape = (stop - start, *inner)
        if alike:
            return np.full(shape, self._read(dtype, 1, offset)[0])
        return self._read(dtype, (stop - start) * width, offset + start * width * dtype.itemsize).reshape(shape)

    def _read(self, dtype: np.dtype[Any], count: int, offset: int) -> NDArray[Any]:
        out = np.empty(count, dtype)
        self._file.seek(self._begin + offset)
        wanted = memoryview(out.view(np.uint8))  # type: ignore[arg-type]
        while wanted:
            got = self._file.readinto(wanted)  # type: ignore[attr-defined]
            if not got:
                raise ValueError("a pack of arrays is cut off")
            wanted = wanted[got:]
        return out


def _up(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def _laid_out(arrays: Arrays, more: Mapping[str, Any]) -> Iterator[bytes | memoryview]:
    """A pack, piece by piece."""
    table: dict[str, tuple[str, list[int], int, bool]] = {}
    columns, offset = [], 0
    for name, array in arrays.items():
        whole = np.ascontiguousarray(array)
        alike = _alike(whole)
        column = whole.reshape(-1)[:1] if alike else whole.reshape(-1)
        table[name] = whole.dtype.str, list(whole.shape), offset, alike
        columns.append(column)
        offset += _up(column.nbytes)
    header = json.dumps({"more": more, "arrays": table}).encode()
    yield _MAGIC + len(header).to_bytes(len(_MAGIC), "little") + header
    size = 2 * len(_MAGIC) + len(header)
    yield bytes(_up(size) - size)
    for column in columns:
        yield memoryview(column.view(np.uint8))  # type: ignore[arg-type]
        yield bytes(_up(column.nbytes) - column.nbytes)


def _alike(array: NDArray[Any]) -> bool:
    """Whether all of a large array is the same; the first few tell where it is not."""
    flat = array.reshape(-1)
    if flat.shape[0] < _WORTH_IT:
        return False
    return bool((flat[:_WORTH_IT] == flat[0]).all() and (flat == flat[0]).all())


def in_bytes(arrays: Arrays, more: Mapping[str, Any]) -> bytes:
    """A pack as bytes."""
    return b"".join(_laid_out(arrays, more))


def write(path: Path, arrays: Arrays, more: Mapping[str, Any]) -> int:
    """A pack as a file; how many bytes it has."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}.partial")
    try:
        with partial.open("wb") as file:
            size = sum(file.write(part) for part in _laid_out(arrays, more))
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return size


# ---------------------------------------------------------------------------------------------------- mail


def mail_of(batches: Sequence[Batch]) -> tuple[Arrays, list[dict[str, Any]]]:
    """What a block has written in a tick: its columns, and a line on each batch."""
    arrays: Arrays = {}
    lines: list[dict[str, Any]] = []
    for n, batch in enumerate(batches):
        kind = next(name for name, kind in _KINDS.items() if isinstance(batch.mail, kind))
        lines.append({"kind": kind, "tick": batch.tick, "lane": batch.lane, "fresh": batch.fresh})
        arrays[f"{n}/ends"] = batch.ends
        columns: list[Any] = list(batch.mail)
        arrays |= {f"{n}/{name}": column for name, column in zip(batch.mail._fields, columns, strict=True)}
    return arrays, lines


def pieces_for(block: int, tick: int, written: int, source: int, pack: Pack) -> Iterator[tuple[str, Piece]]:
    """What of a pack of mail goes to a block in a tick, with the layer it is for."""
    for n, line in enumerate(pack.more["batches"]):
        if line["tick"] == tick:
            start, stop = pack.rows(f"{n}/ends", block, block + 2).tolist()
            if stop > start:
                yield line["lane"], Piece(written, source, line["fresh"], _some(pack, n, line["kind"], start, stop))


def _some(pack: Pack, n: int, kind: str, start: int, stop: int) -> Post:
    """Some messages of a batch."""
    form = _KINDS[kind]
    columns: dict[str, Any] = {"used": np.array([stop - start])}
    ragged: Iterable[str] = ("start", "handles", "born") if form is Parcels else ()
    for name in form._fields:
        if name != "used" and name not in ragged:
            columns[name] = pack.rows(f"{n}/{name}", start, stop)
    if ragged:
        begins = pack.rows(f"{n}/start", start, stop + 1)
        columns["start"] = begins - begins[0]
        columns |= {name: pack.rows(f"{n}/{name}", int(begins[0]), int(begins[-1])) for name in ("handles", "born")}
    return form(**{name: columns[name] for name in form._fields})
