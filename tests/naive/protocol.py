"""The protocols' definitions, typed out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Boxes = NDArray[np.int64]
Keys = NDArray[np.uint64]
Entry = tuple[int, int]
"""Whom, by handle, and the cycle it was minted in."""


def points_of(box: Boxes) -> NDArray[np.int64]:
    """All grid points of one box (2, D)."""
    ranges = [range(int(low), int(high) + 1) for low, high in box.T]
    return np.array(list(itertools.product(*ranges)), np.int64)


def naive_uncovered(target: Boxes, boxes: Boxes, need: int) -> bool:
    """Whether some grid point of the target lies in fewer than `need` of the boxes."""
    points = points_of(target)[:, None, :]
    inside = ((boxes[None, :, 0] <= points) & (points <= boxes[None, :, 1])).all(axis=2)
    return bool((inside.sum(axis=1) < need).any())


def naive_ring(boxes: Boxes, keys: Keys, own: int, known: Iterable[int], depth: int) -> set[int]:
    """Who, for some point that `own` wants, is among the first `depth` to want it, by key, after or before it."""
    others = sorted((j for j in set(known) if j != own), key=lambda j: (int(keys[j]) - int(keys[own])) % 2**64)
    if not others:
        return set()
    points, them = points_of(boxes[own])[:, None, :], boxes[others]
    wants = np.asarray(((them[None, :, 0] <= points) & (points <= them[None, :, 1])).all(axis=2))
    after = wants & (np.cumsum(wants, axis=1) <= depth)
    before = wants & (np.cumsum(wants[:, ::-1], axis=1)[:, ::-1] <= depth)
    return {j for j, chosen in zip(others, np.asarray((after | before).any(axis=0)).tolist(), strict=True) if chosen}


def naive_nearest(boxes: Boxes, scale: NDArray[np.float64], target: int, others: Iterable[int]) -> list[float]:
    """The squared gaps between one box and others, falling in nearness."""
    far = []
    for j in others:
        gap = np.maximum(0.0, np.maximum(boxes[j, 0] - boxes[target, 1], boxes[target, 0] - boxes[j, 1]))
        far.append(float(((gap * scale) ** 2).sum()))
    return sorted(far)


def naive_latest(entries: Iterable[Entry], key: Sequence[int], version: Sequence[int], own: int) -> dict[int, Entry]:
    """Of all entries for a peer the one that counts, by key: the newest version, then the youngest. Oneself is left out."""
    found: dict[int, Entry] = {}
    for handle, born in entries:
        rank = (version[handle], born)
        old = found.get(key[handle])
        if key[handle] != key[own] and (old is None or rank > (version[old[0]], old[1])):
            found[key[handle]] = (handle, born)
    return found


def naive_distance(boxes: Boxes, scale: NDArray[np.float64], one: int, other: int) -> float:
    """The squared gaps between two boxes; 0 when they overlap."""
    return naive_nearest(boxes, scale, one, [other])[0]


@dataclass
class NaiveSamples:
    """One Cyclon view: its places, those that are locked, and the partner's while an exchange is under way.

    key, version : by handle; of two entries for one key the higher version counts, then the younger.
    """

    own: int
    key: Sequence[int]
    version: Sequence[int]
    places: list[Entry | None]
    locked: set[int] = field(default_factory=set)
    partner: int | None = None

    def same(self, one: int, other: int) -> bool:
        """Whether two handles speak of one peer."""
        return self.key[one] == self.key[other]

    def free(self) -> list[int]:
        """The free places, rising."""
        return [k for k, entry in enumerate(self.places) if entry is None]

    def recognise(self, entries: Sequence[Entry]) -> tuple[set[int], list[Entry]]:
        """The places of those known already, brought up to date; and the entries that are new. Oneself is neither."""
        known, new = set[int](), []
        for handle, born in entries:
            if self.same(handle, self.own):
                continue
            there = [(k, entry) for k, entry in enumerate(self.places) if entry is not None and self.same(entry[0], handle)]
            if not there:
                new.append((handle, born))
            for k, (old, old_born) in there:
                known.add(k)
                if (self.version[handle], born) > (self.version[old], old_born):
                    self.places[k] = (handle, born)
        return known, new

    def give_up(self) -> None:
        """No answer: the partner goes, unless it was heard of meanwhile or is all there is; nothing is locked any more."""
        if self.partner in self.locked and len(self.free()) < len(self.places) - 1:
            self.places[self.partner] = None
        self.locked, self.partner = set(), None

    def reply(self, request: Sequence[Entry], giving: set[int]) -> set[Entry]:
        """Take in a request where these places are given away; what is answered."""
        free = self.free()
        known, new = self.recognise(request)
        self.locked -= known
        answer = {entry for k in giving if (entry := self.places[k]) is not None}
        room = free + sorted(giving - known)
        for entry, k in zip(new, room, strict=False):
            self.places[k] = entry
        return answer

    def merge(self, sender: int, stamp: int, answer: Sequence[Entry]) -> None:
        """Take in an answer: to free places, then the partner's, then those that were sent."""
        room, spare, partner = self.free(), set[int](), self.partner
        held = None if partner is None else self.places[partner]
        expected = held is not None and self.same(held[0], sender)
        if expected:
            spare, self.locked, self.partner = self.locked, set(), None
        known, new = self.recognise(answer)
        spare = spare - known
        room += sorted(spare, key=lambda k: (k != partner, k))
        for entry, k in zip(new, room, strict=False):
            self.places[k] = entry
        kept = len(new) <= room.index(partner) if expected and partner in spare else False
        if kept and partner is not None and held is not None:
            self.places[partner] = (held[0], stamp)


Happening = tuple[int, int]
"""An event, and the cycle it was received in."""


def naive_digest(
    memory: Sequence[Happening], now: int, rest: int, window: int, wanted: Callable[[int], bool]
) -> list[Happening]:
    """What of a row's memory is told: what is wanted, has rested and is not too old."""
    return [(event, when) for event, when in memory if rest <= now - when <= window and wanted(event)]


def naive_pull(listed: Sequence[Happening], wanted: Callable[[int], bool], had: set[int]) -> list[Happening]:
    """What of a digest its reader asks for."""
    return [(event, when) for event, when in listed if wanted(event) and event not in had]


def naive_push(
    memory: Sequence[Happening], listed: Sequence[Happening], now: int, rest: int, window: int, wanted: Callable[[int], bool]
) -> list[int]:
    """What the writer of a digest seems to lack: what it wants and did not list, though it has rested a cycle longer."""
    told = {event for event, _ in listed}
    return [event for event, _ in naive_digest(memory, now, rest + 1, window, wanted) if event not in told]
