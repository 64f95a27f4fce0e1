"""All views of a row together: everything in which it may stand to know somebody."""

from __future__ import annotations

from typing import NamedTuple

from gossamer.jit import tiny
from gossamer.protocol import cyclon, fingers, links, vicinity
from gossamer.protocol.descriptor import Book

__all__ = ["Views", "forget", "most_known"]


class Views(NamedTuple):
    """The views of a block's rows; a system without one of them has it empty."""

    links: links.Links
    near: vicinity.Near
    sample: cyclon.Samples
    fingers: fingers.Fingers


@tiny
def forget(book: Book, views: Views, i: int, own: int, dead: int) -> None:
    """Drop one found dead from every view."""
    links.drop(book, views.links, i, own, dead)
    vicinity.drop(book, views.near, i, dead)
    cyclon.drop(book, views.sample, i, dead)
    fingers.drop(book, views.fingers, i, dead)


@tiny
def most_known(views: Views, i: int) -> int:
    """How many peers a row knows at most, each counted in every view."""
    places = views.near.handles.shape[1] + views.sample.handles.shape[1] + views.fingers.handles.shape[1]
    return views.links.size[i] + places  # type: ignore[no-any-return]
