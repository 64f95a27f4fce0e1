"""One lane a protocol: how the simulator runs its moves over all rows, and carries its mail.

A lane owns the protocol's state, block by block, and is called once a tick: first for the mail that has arrived, then for
the timers that are due. What it wants sent it hands to the world, which files it in the calendar.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gossamer.arrays import Handles, Numbers, Offsets
from gossamer.protocol import cyclon, links, rings, selection, vicinity
from gossamer.protocol.spread import Copies
from gossamer.protocol.view import Mail, Now, Parcels, empty_mail, empty_parcels
from gossamer.sim import sweeps

if TYPE_CHECKING:
    from gossamer.sim.world import Block, World

__all__ = ["CyclonLane", "Lane", "RingsLane", "VicinityLane", "joined", "taken"]

Post = Mail | Parcels | Copies


def taken(mail: Post, which: slice | Numbers) -> Post:
    """Some of the messages, closed up."""
    columns: list[Any] = list(mail)
    if isinstance(mail, Mail):
        closed_up = empty_mail(len(mail.to[which]), mail.handles.shape[1])
        targets: list[Any] = list(closed_up)
        for target, column in zip(targets, columns, strict=True):
            target[:] = column[which]
        return closed_up
    if isinstance(mail, Copies):
        some = [column[which] for column in columns[:-1]]
        return Copies(*[*some, np.array([some[0].shape[0]])])
    length = np.diff(mail.start)[which]
    start = np.concatenate(([0], np.cumsum(length)))
    at = np.repeat(mail.start[:-1][which] - start[:-1], length) + np.arange(start[-1])
    return Parcels(
        sender=mail.sender[which],
        to=mail.to[which],
        stamp=mail.stamp[which],
        asks=mail.asks[which],
        start=start,
        handles=mail.handles[at],
        born=mail.born[at],
        used=np.array([length.shape[0]]),
    )


def joined(mails: list[Post]) -> Post:
    """Several batches as one, in their order."""
    if len(mails) == 1:
        return mails[0]
    head = mails[0]
    if isinstance(head, Mail):
        whole = empty_mail(sum(mail.to.shape[0] for mail in mails), head.handles.shape[1])
        targets: list[Any] = list(whole)
        for target, parts in zip(targets, zip(*mails, strict=True), strict=True):
            np.concatenate(parts, out=target)
        return whole
    if isinstance(head, Copies):
        columns: list[Any] = [np.concatenate(parts) for parts in zip(*mails, strict=True)][:-1]
        return Copies(*[*columns, np.array([columns[0].shape[0]])])
    parcels = [mail for mail in mails if isinstance(mail, Parcels)]
    ends = np.cumsum([0] + [int(mail.start[-1]) for mail in parcels])
    return Parcels(
        sender=np.concatenate([mail.sender for mail in parcels]),
        to=np.concatenate([mail.to for mail in parcels]),
        stamp=np.concatenate([mail.stamp for mail in parcels]),
        asks=np.concatenate([mail.asks for mail in parcels]),
        start=np.concatenate([mail.start[:-1] + end for mail, end in zip(parcels, ends, strict=False)] + [ends[-1:]]),
        handles=np.concatenate([mail.handles[: mail.start[-1]] for mail in parcels]),
        born=np.concatenate([mail.born[: mail.start[-1]] for mail in parcels]),
        used=np.array([sum(mail.sender.shape[0] for mail in parcels)]),
    )


class Lane:
    """What every lane has: its number, its layer's settings, and a state a block."""

    def __init__(self, world: World, number: int, params: object) -> None:
        self.world, self.number = world, number
        self.params: Any = params
        self.state: list[Any] = []
        self.sent = {"messages": 0, "entries": 0, "failed": 0}

    def tick(self, now: Now, mail: Any, due: int) -> None:  # noqa: ANN401  (Mail or Parcels: each lane knows which)
        """Deal with the mail that has arrived, then with the timers that are due."""
        raise NotImplementedError


class _Swap(Lane):
    """A protocol whose messages have a fixed size, and whose answers take the place of their requests."""

    entries: int

    def _blank(self) -> Mail:
        """Room for a message of every row, used again as soon as the one before has been dealt with."""
        if self._spare:
            return self._spare.pop()
        return empty_mail(self.world.rows, self.entries)

    _spare: list[Mail]

    def tick(self, now: Now, mail: Mail | None, due: int) -> None:
        """Deal with the mail that has arrived, then with the timers that are due."""
        if mail is not None:
            first, order = self.world.route(mail)
            written = self.world.each_block(lambda block: self._mail(block, now, mail, first, order))
            if not self.world.file(self, mail, now, sum(written)) and mail.to.shape[0] == self.world.rows:
                self._spare.append(mail)
        if due:
            out = self._blank()
            written = self.world.each_block(lambda block: self._timers(block, now, out))
            self.world.file(self, out, now, sum(written), fresh=True)

    def _mail(self, block: Block, now: Now, mail: Mail, first: Offsets, order: Handles) -> int:
        raise NotImplementedError

    def _timers(self, block: Block, now: Now, out: Mail) -> int:
        raise NotImplementedError


class CyclonLane(_Swap):
    """Random samples."""

    def __init__(self, world: World, number: int, params: cyclon.Params) -> None:
        super().__init__(world, number, params)
        self.entries, self._spare = params.shuffle, []
        self.state = [cyclon.samples(block.rows, params) for block in world.blocks]

    def _mail(self, block: Block, now: Now, mail: Mail, first: Offsets, order: Handles) -> int:
        return sweeps.cyclon_mail(self.world.book, now, self.state[block.number], block.own, mail, first[block.at :], order)

    def _timers(self, block: Block, now: Now, out: Mail) -> int:
        return sweeps.cyclon_timers(self.world.book, now, self.state[block.number], block.own, block.due, out, block.at)


class VicinityLane(_Swap):
    """The peers most alike."""

    def __init__(self, world: World, number: int, params: vicinity.Params) -> None:
        super().__init__(world, number, params)
        self.entries, self._spare = params.shuffle, []
        self.state = [vicinity.near(block.rows, params) for block in world.blocks]
        self.desks = [vicinity.desk(params) for _ in world.blocks]
        self._no_links = links.links(1)
        self._rings_too = int(params.rings_too and "rings" in world.plan)

    def _links(self, b: int) -> links.Links:
        """The ring views of a block, where the system has any."""
        lane = self.world.lanes.get("rings")
        return self._no_links if lane is None else lane.state[b]

    def _mail(self, block: Block, now: Now, mail: Mail, first: Offsets, order: Handles) -> int:
        b, sample = block.number, self.world.lanes["cyclon"].state[block.number]
        return sweeps.vicinity_mail(
            self.world.book, now, self.state[b], sample, self._links(b), block.own, mail, first[block.at :], order,
            self._rings_too, self.desks[b],
        )  # fmt: skip

    def _timers(self, block: Block, now: Now, out: Mail) -> int:
        b, sample = block.number, self.world.lanes["cyclon"].state[block.number]
        return sweeps.vicinity_timers(
            self.world.book, now, self.state[b], sample, self._links(b), block.own, block.due, out, block.at,
            self._rings_too, self.desks[b],
        )  # fmt: skip


class RingsLane(Lane):
    """The next ones, for every event."""

    def __init__(self, world: World, number: int, params: rings.Params) -> None:
        super().__init__(world, number, params)
        attributes = world.book.wants.boxes.shape[2]
        self.state: list[links.Links] = [links.links(block.rows) for block in world.blocks]
        self.desks = [selection.desk(attributes) for _ in world.blocks]
        self._room = [(max(64, 2 * block.rows), max(1024, 64 * block.rows)) for block in world.blocks]
        self._no_mail = np.zeros(world.rows + 1 if world.book.versioned else 1, np.int64), np.empty(0, np.int32)

    def tick(self, now: Now, mail: Parcels | None, due: int) -> None:
        """Tell of changed minds, answer all requests, merge all mail, then start what is due."""
        out = [empty_parcels(*self._room[block.number]) for block in self.world.blocks]
        first, order = self._no_mail if mail is None else self.world.route(mail)
        if self.world.book.versioned:
            self.world.each_block(lambda block: self._tell(block, now, first, out))
        if mail is not None:
            self.world.each_block(lambda block: self._answer(block, now, mail, first, order, out))
            self.world.each_block(lambda block: self._merge(block, mail, first, order))
        if due:
            self.world.each_block(lambda block: self._ask(block, now, out))
        written = [taken(parcels, slice(0, int(parcels.used[0]))) for parcels in out if parcels.used[0]]
        if written:
            self.world.file(self, whole := joined(written), now, whole.to.shape[0])

    def _run(self, block: Block, out: list[Parcels] | None, move: Callable[[], int]) -> None:
        """Make a move until it is through, giving it more of what it runs out of."""
        b = block.number
        while (lacks := move()) != selection.DONE:
            old = self.desks[b]
            if lacks == selection.NO_ARENA:
                self.state[b] = links.widen(self.state[b])
            elif lacks == selection.NO_DESK:
                self.desks[b] = selection.desk(old.line.low.shape[0], 2 * old.fresh.shape[0], old.line.after.shape[0])
            elif lacks == selection.NO_PIECES:
                self.desks[b] = selection.desk(old.line.low.shape[0], old.fresh.shape[0], 4 * old.line.after.shape[0])
            elif out is not None:
                full = out[b]
                messages, entries = self._room[b] = (2 * full.to.shape[0], 2 * full.handles.shape[0])
                wide = empty_parcels(messages, entries)
                columns: tuple[tuple[Any, Any], ...] = tuple(zip(wide, full, strict=True))
                for grown, column in columns:
                    grown[: column.shape[0]] = column
                out[b] = wide

    def _views(self, block: Block) -> tuple[Any, Any]:
        lanes = self.world.lanes
        return lanes["vicinity"].state[block.number], lanes["cyclon"].state[block.number]

    def _tell(self, block: Block, now: Now, first: Offsets, out: list[Parcels]) -> None:
        b, first, done = block.number, first[block.at :], np.zeros(1, np.int64)
        self._run(block, out, lambda: sweeps.rings_tell(now, self.state[b], block.own, block.due, first, out[b], done))

    def _answer(self, block: Block, now: Now, mail: Parcels, first: Offsets, order: Handles, out: list[Parcels]) -> None:
        b, (near, sample), book = block.number, self._views(block), self.world.book
        first = first[block.at :]
        done = np.array([first[0]], np.int64)
        self._run(
            block,
            out,
            lambda: sweeps.rings_reply(
                book, now, self.state[b], near, sample, block.own, mail, first, order, block.base, book.owner, out[b],
                int(self.params.samples_too), self.params.depth, self.desks[b], done,
            ),
        )  # fmt: skip

    def _merge(self, block: Block, mail: Parcels, first: Offsets, order: Handles) -> None:
        b, (near, sample), book = block.number, self._views(block), self.world.book
        done = np.zeros(1, np.int64)
        self._run(
            block,
            None,
            lambda: sweeps.rings_merge(
                book, self.state[b], near, sample, block.own, mail, first[block.at :], order,
                self.params.depth, self.desks[b], done,
            ),
        )  # fmt: skip

    def _ask(self, block: Block, now: Now, out: list[Parcels]) -> None:
        b, (near, sample), book, params = block.number, self._views(block), self.world.book, self.params
        done = np.zeros(3, np.int64)
        self._run(
            block,
            out,
            lambda: sweeps.rings_timers(
                book, now, self.state[b], near, sample, block.own, block.due, out[b], params.links_per_exchange,
                int(params.in_turn), params.haste, params.stray, int(params.samples_too), params.depth, self.desks[b], done,
            ),
        )  # fmt: skip
