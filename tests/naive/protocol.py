"""The protocols' definitions, typed out."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Boxes = NDArray[np.int64]
Keys = NDArray[np.uint64]


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
