"""The lanes that mend: who is found dead, and what is fetched because it did not arrive.

Finding the dead has no mail of its own. It stands at the door of every row: whatever arrives for any layer is looked through
first, so that a message that came back tells of a death once for all views, and no entry about the dead gets in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gossamer.arrays import Flags, Handles, Numbers, Offsets
from gossamer.jit import sweep
from gossamer.protocol import alive, repair, spread
from gossamer.protocol.descriptor import Book
from gossamer.protocol.spread import Copies, Happenings, Seen, empty_copies
from gossamer.protocol.view import ANSWER, ASK, BOUNCE, Mail, Now, Parcels, empty_parcels
from gossamer.protocol.views import Views
from gossamer.sim.lanes import Lane, joined, taken

if TYPE_CHECKING:
    from gossamer.sim.spreading import SpreadLane
    from gossamer.sim.world import Block, World

__all__ = ["AliveLane", "RepairLane"]


@sweep
def _door_mail(
    book: Book,
    now: Now,
    it: alive.Graves,
    views: Views,
    own: Handles,
    mail: Mail,
    first: Offsets,
    order: Handles,
    forget_cycles: int,
    alarm: int,
) -> None:
    for i in range(own.shape[0]):
        for q in range(first[i], first[i + 1]):
            m = order[q]
            if mail.asks[m] == BOUNCE:
                alive.lose(book, now, it, views, i, own[i], mail.sender[m], alarm)
            else:
                alive.absolve(book, it, i, mail.sender[m])
                alive.strike(book, now, it, i, mail.handles[m], mail.born[m], forget_cycles)


@sweep
def _door_parcels(
    book: Book,
    now: Now,
    it: alive.Graves,
    views: Views,
    own: Handles,
    mail: Parcels,
    first: Offsets,
    order: Handles,
    forget_cycles: int,
    alarm: int,
    entries: int,
) -> None:
    """`entries` says whether the arena holds entries, and not numbers of events."""
    for i in range(own.shape[0]):
        for q in range(first[i], first[i + 1]):
            m = order[q]
            if mail.asks[m] == BOUNCE:
                alive.lose(book, now, it, views, i, own[i], mail.sender[m], alarm)
            else:
                alive.absolve(book, it, i, mail.sender[m])
                if entries != 0:
                    alive.strike_parcel(book, now, it, i, mail, m, forget_cycles)


@sweep
def _door_copies(
    book: Book,
    now: Now,
    it: alive.Graves,
    views: Views,
    own: Handles,
    mail: Copies,
    first: Offsets,
    order: Handles,
    alarm: int,
) -> None:
    for i in range(own.shape[0]):
        for q in range(first[i], first[i + 1]):
            if mail.asks[order[q]] == BOUNCE:
                alive.lose(book, now, it, views, i, own[i], mail.sender[order[q]], alarm)


@sweep
def _listen_all(
    book: Book, now: Now, it: alive.Graves, views: Views, own: Handles, due: Flags, patience: int, alarm: int
) -> None:
    for i in range(own.shape[0]):
        if due[i] != 0:
            alive.listen(book, now, it, views, i, own[i], patience, alarm)


class AliveLane(Lane):
    """Who is dead."""

    def __init__(self, world: World, number: int, params: alive.Params) -> None:
        """Nobody is."""
        super().__init__(world, number, params)
        self.state = [alive.graves(block.rows, params) for block in world.blocks]

    def tick(self, now: Now, mail: Any, due: int) -> None:  # noqa: ANN401, ARG002  (no mail of its own)
        """Listen for the silent, where timers are due."""
        if due != 0:
            self.world.each_block(lambda block: self._listen(block, now))

    def _listen(self, block: Block, now: Now) -> None:
        _listen_all(
            self.world.book, now, self.state[block.number], self.world.views(block), block.own, block.due,
            int(self.params.patience), self.params.alarm,
        )  # fmt: skip

    def door(self, now: Now, mail: Mail | Parcels | Copies, first: Offsets, order: Handles, *, entries: bool) -> None:
        """Look through what has arrived for any layer, before that layer sees it."""
        self.world.each_block(lambda block: self._door(block, now, mail, first, order, int(entries)))

    def _door(
        self, block: Block, now: Now, mail: Mail | Parcels | Copies, first: Offsets, order: Handles, entries: int
    ) -> None:
        book, views, it = self.world.book, self.world.views(block), self.state[block.number]
        first = first[block.at :]
        forget, alarm = self.params.forget_cycles, self.params.alarm
        match mail:
            case Mail():
                _door_mail(book, now, it, views, block.own, mail, first, order, forget, alarm)
            case Parcels():
                _door_parcels(book, now, it, views, block.own, mail, first, order, forget, alarm, entries)
            case Copies():
                _door_copies(book, now, it, views, block.own, mail, first, order, alarm)


@sweep
def _repair_mail(
    book: Book,
    now: Now,
    happenings: Happenings,
    it: repair.History,
    seen: Seen,
    own: Handles,
    mail: Parcels,
    first: Offsets,
    order: Handles,
    rest_cycles: int,
    window_cycles: int,
    out: Parcels,
    copies: Copies,
    done: Numbers,
) -> int:
    """Deal with every digest and every answer, from row done[0] and its message done[1] on."""
    for i in range(done[0], own.shape[0]):
        for q in range(max(first[i], done[1]), first[i + 1]):
            done[0], done[1] = i, q
            m, answer = order[q], spread.DONE
            if mail.asks[m] == ASK:
                answer = repair.reply(
                    book, now, happenings, it, seen, i, own[i], mail, m, rest_cycles, window_cycles, out, copies
                )
            elif mail.asks[m] == ANSWER:
                answer = repair.merge(it, i, own[i], mail, m, copies)
            if answer != spread.DONE:
                return answer
        done[1] = 0
    done[0] = own.shape[0]
    return spread.DONE


@sweep
def _repair_timers(
    book: Book,
    now: Now,
    happenings: Happenings,
    it: repair.History,
    views: Views,
    own: Handles,
    due: Flags,
    partners: int,
    rest_cycles: int,
    window_cycles: int,
    out: Parcels,
    done: Numbers,
) -> int:
    """Send the digests of every row that is due, from digest done[1] of row done[0] on."""
    for i in range(done[0], own.shape[0]):
        if due[i] == 0:
            continue
        for n in range(done[1], partners):
            answer = repair.request(
                book, now, happenings, it, views.links, views.fingers, i, own[i], n, rest_cycles, window_cycles, out
            )
            if answer != spread.DONE:
                done[0], done[1] = i, n
                return answer
        done[1] = 0
    done[0] = own.shape[0]
    return spread.DONE


class RepairLane(Lane):
    """What is fetched because it did not arrive. Its copies travel in the lane of events."""

    def __init__(self, world: World, number: int, params: repair.Params) -> None:
        """Nothing has happened yet."""
        super().__init__(world, number, params)
        self.state = [repair.history(block.rows, params.history) for block in world.blocks]
        self._room = [(max(64, 2 * block.rows), max(1024, 8 * block.rows)) for block in world.blocks]

    @property
    def _events(self) -> SpreadLane:
        return cast("SpreadLane", self.world.lanes["spread"])

    def tick(self, now: Now, mail: Parcels | None, due: int) -> None:
        """Answer digests and send what is lacked; then send digests, where timers are due."""
        lane = self._events
        out = [empty_parcels(*room) for room in self._room]
        copies = [empty_copies(room[1]) for room in self._room]
        if mail is not None:
            first, order = self.world.route(mail, entries=False)
            self.world.each_block(lambda block: self._deal(block, now, mail, first, order, out, copies))
        if due != 0:
            self.world.each_block(lambda block: self._ask(block, now, out))
        written = [taken(parcels, slice(0, int(parcels.used[0]))) for parcels in out if parcels.used[0]]
        if written:
            self.world.file(self, whole := joined(written), now, whole.to.shape[0])
        sent = [taken(part, slice(0, int(part.used[0]))) for part in copies if part.used[0]]
        if sent:
            self.world.file(lane, whole := joined(sent), now, whole.to.shape[0])

    def _widen(self, b: int, out: list[Parcels], copies: list[Copies] | None) -> None:
        """Twice the room for what is written."""
        messages, entries = self._room[b] = (2 * self._room[b][0], 2 * self._room[b][1])
        grown: list[tuple[list[Any], Any]] = [(out, empty_parcels(messages, entries))]
        if copies is not None:
            grown.append((copies, empty_copies(entries)))
        for which, wide in grown:
            for column, wider in zip(which[b], wide, strict=True):
                wider[: column.shape[0]] = column
            which[b] = wide

    def _deal(
        self, block: Block, now: Now, mail: Parcels, first: Offsets, order: Handles, out: list[Parcels], copies: list[Copies]
    ) -> None:
        b, lane, done = block.number, self._events, np.zeros(2, np.int64)
        while (
            _repair_mail(
                self.world.book, now, lane.happenings, self.state[b], lane.state[b], block.own, mail, first[block.at :], order,
                self.params.rest_cycles, self.params.window_cycles, out[b], copies[b], done,
            )
            != spread.DONE
        ):  # fmt: skip
            self._widen(b, out, copies)

    def _ask(self, block: Block, now: Now, out: list[Parcels]) -> None:
        b, views, done = block.number, self.world.views(block), np.zeros(2, np.int64)
        while (
            _repair_timers(
                self.world.book, now, self._events.happenings, self.state[b], views, block.own, block.due,
                self.params.partners, self.params.rest_cycles, self.params.window_cycles, out[b], done,
            )
            != spread.DONE
        ):  # fmt: skip
            self._widen(b, out, None)
