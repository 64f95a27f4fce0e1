"""A node's book: what is interned is told again, what is swept is gone, and what is refused leaves no trace."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.arrays import NONE
from gossamer.errors import PeerError
from gossamer.node.door import Descriptor
from gossamer.node.peers import Peers
from tests.node.machines import box, peer

SCALE = (0.1, 0.1)


def written(peers: Peers) -> dict[int, Descriptor]:
    """What the columns say, by handle, as far as somebody stands there."""
    found = {}
    for handle, told in enumerate(peers._told):
        if told is not None:
            low, high = peers.book.wants.boxes[handle].tolist()
            key, version = int(peers.book.key[handle]), int(peers.book.version[handle])
            found[handle] = Descriptor(key, version, (tuple(low), tuple(high)), told.owner)
    return found


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 2)), max_size=300), st.data())
def test_the_book_is_what_was_told_and_not_swept(those: list[tuple[int, int]], data: st.DataObject) -> None:
    peers, model = Peers(SCALE), dict[int, Descriptor]()
    for key, version in those:
        it = peer(key, version, box(key, key + version))
        handle = peers.intern(it)
        assert model.setdefault(handle, it) == it
        if data.draw(st.integers(0, 40)) == 0:
            kept = data.draw(st.sets(st.sampled_from(sorted(model))))
            peers.sweep([np.array(sorted(kept), np.int32), np.array([NONE], np.int32)])
            model = {handle: model[handle] for handle in kept}
    assert written(peers) == model
    assert len(peers) == len(model)
    keys = [it.key for it in model.values()]
    assert peers.book.versioned or len(set(keys)) == len(keys)


def test_a_handle_that_points_nowhere_tells_nothing() -> None:
    peers = Peers(SCALE)
    handle = peers.intern(peer(1))
    peers.sweep([])
    for nobody in (NONE, handle):
        with pytest.raises(KeyError):
            peers.told(nobody)


@pytest.mark.parametrize(
    "bad",
    [
        replace(peer(1), key=-1),
        replace(peer(1), key=1 << 64),
        replace(peer(1), key=1.0),  # type: ignore[arg-type]
        replace(peer(1), version=-1),
        replace(peer(1), version=1 << 32),
        replace(peer(1), version=True),
        replace(peer(1), box=((0,), (1,))),
        replace(peer(1), box=((0, 0), (1,))),
        replace(peer(1), box=((5, 0), (4, 1))),
        replace(peer(1), box=((0, 0), (1, 1 << 63))),
        replace(peer(1), box=((0, 0.5), (1, 1))),  # type: ignore[arg-type]
        replace(peer(1), box=None),  # type: ignore[arg-type]
        replace(peer(9), box=box(0, 11)),  # contradicts the 9 that is known
        replace(peer(5), version=3),  # our own row, which is in version 2
    ],
)
def test_a_bad_descriptor_takes_those_before_it_along(bad: Descriptor) -> None:
    peers = Peers(SCALE)
    peers.mine[5] = 2
    for it in (peer(5, 2), peer(9)):
        peers.intern(it)
    before = written(peers), len(peers), peers.book.versioned
    with pytest.raises(PeerError):
        peers.intern(bad)
    for frame in ([peer(2), peer(9, 1), bad], [bad, peer(2)], [peer(3), peer(3), peer(3, 1), bad]):
        with pytest.raises(PeerError):
            peers.intern_all(frame)
        assert (written(peers), len(peers), peers.book.versioned) == before
    assert len(peers.intern_all([peer(2), peer(9, 1)])) == 2


def test_once_a_peer_is_known_in_two_versions_moves_go_on_comparing_keys() -> None:
    peers = Peers(SCALE)
    peers.intern(peer(1))
    assert not peers.book.versioned
    newer = peers.intern(peer(1, 1))
    peers.sweep([np.array([newer], np.int32)])
    assert peers.book.versioned


def test_a_swept_handle_is_given_out_again() -> None:
    peers = Peers(SCALE)
    for key in range(500):
        peers.intern(peer(key))
        peers.sweep([])
    assert len(peers) == 0
    assert peers.book.key.shape[0] < 100
