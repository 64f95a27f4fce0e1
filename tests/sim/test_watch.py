"""What is seen of a world, against counting and judging by hand."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gossamer.protocol.view import Mail, Parcels
from gossamer.scenario.scenario import CrashSettings, EventSettings
from gossamer.scenario.workload import events
from gossamer.sim.watch import HEADER_BYTES, Watch, entry_bytes, views
from gossamer.sim.world import World
from gossamer.trace.columns import Trace
from gossamer.truth.judge import current
from tests.naive.measure import naive_link
from tests.sim.worlds import made, still, turmoil

CYCLES = 6


class Counting(World):
    """A world that counts what is filed, message by message and entry by entry."""

    filed: dict[str, list[int]]

    def file(self, lane: Any, mail: Any, now: Any, written: int, *, fresh: bool = False) -> bool:  # noqa: ANN401
        """Count, then file."""
        it = self.filed[self.plan.layers[lane.number].name]
        if written:
            it[0] += int((mail.to != -1).sum())
            for m in np.flatnonzero(mail.to != -1).tolist():
                if isinstance(mail, Mail):
                    it[1] += mail.handles.shape[1]
                elif isinstance(mail, Parcels):
                    it[1] += int(mail.start[m + 1] - mail.start[m])
        return super().file(lane, mail, now, written, fresh=fresh)


def counting(world: World) -> Counting:
    it = Counting(world.scenario, world.plan, world.people, int(world.seed), blocks=len(world.blocks))
    it.filed = defaultdict(lambda: [0, 0])
    return it


@pytest.mark.parametrize("blocks", [1, 3])
def test_what_each_layer_sent_since_it_was_asked_last_is_written_down(blocks: int) -> None:
    scenario = replace(still(), crashes=(CrashSettings(share=0.3, cycle=2),))
    world = counting(made(scenario, blocks=blocks))
    watch, trace = Watch(world, events(scenario, world.people, 1)), Trace()
    world.run_cycle()
    watch.start_counting()
    expected = []
    for cycle in range(1, CYCLES):
        world.filed.clear()
        before = {name: lane.sent["failed"] for name, lane in world.lanes.items()}
        world.run_cycle()
        total = watch.exchanges(trace, cycle)
        assert total == sum(messages for messages, _ in world.filed.values())
        for name, lane in world.lanes.items():
            messages, entries = world.filed[name]
            size = messages * HEADER_BYTES + entries * (8 + 4 + 2 + 2 * 2 * 8)  # key, version, cycle, a box of two attributes
            failed = lane.sent["failed"] - before[name]
            row = {"cycle": cycle, "protocol": name, "messages": messages, "entries": entries, "bytes": size}
            expected.append(row | {"failed": failed})
    assert entry_bytes(2) == 8 + 4 + 2 + 2 * 2 * 8
    assert trace["exchanges"].table().to_pylist() == expected
    assert any(row["failed"] for row in expected)
    assert {row["protocol"] for row in expected if row["messages"]} == {"cyclon", "vicinity", "rings"}


def of_row(world: World, row: int) -> list[int]:
    """The ring view of a row, as it lies in its block."""
    for block, state in zip(world.blocks, world.lanes["rings"].state, strict=True):
        if block.base <= row < block.base + block.rows:
            start, size = int(state.start[row - block.base]), int(state.size[row - block.base])
            return [int(handle) for handle in state.handles[start : start + size]]
    raise IndexError(row)


def naive_judged(world: World, points: Any) -> tuple[list[int], list[int]]:  # noqa: ANN401
    """Links in place of each event's ring, and links there should be."""
    people, right, wanted = world.people, [], []
    key = [int(k) for k in people.key]
    for point in points:
        holds = [bool(((box[0] <= point) & (point <= box[1])).all()) for box in people.boxes]
        members = [int(people.owner[handle]) for handle in current(people, world.cycle) if holds[handle]]
        wanted.append(2 * len(members) if len(members) > 1 else 0)
        good = 0
        for m, row in enumerate(members if len(members) > 1 else []):
            view = [(key[int(people.owner[h])], int(people.owner[h]), holds[h]) for h in of_row(world, row)]
            good += naive_link(key[row], view, ahead=True) == members[(m + 1) % len(members)]
            good += naive_link(key[row], view, ahead=False) == members[m - 1]
        right.append(good)
    return right, wanted


@pytest.mark.parametrize("blocks", [1, 3])
def test_links_are_judged_as_by_hand_while_everything_happens(blocks: int) -> None:
    scenario = replace(turmoil(), events=EventSettings(count=25))
    world = made(scenario, blocks=blocks)
    watch, trace = Watch(world, events(scenario, world.people, 1)), Trace()
    expected, shares = [], []
    for cycle in range(scenario.cycles):
        if cycle == 0 or not world.begin().quiet:
            watch.learn()
        judged = watch.judge()
        right, wanted = naive_judged(world, watch.events.points)
        assert judged.right.tolist() == right
        assert judged.wanted.tolist() == wanted
        real = [n for n, many in enumerate(wanted) if many]
        complete = sum(right[n] == wanted[n] for n in real)
        told = watch.links(trace)
        assert told == pytest.approx((sum(right) / sum(wanted), complete / len(real)))
        shares.append(told)
        row = {"cycle": cycle, "links_right": sum(right), "links_wanted": sum(wanted)}
        expected.append(row | {"rings_complete": complete, "rings_wanted": len(real)})
        world.run_cycle()
    assert trace["links"].table().to_pylist() == expected
    assert shares[0] is not None
    assert max(share[0] for share in shares if share) > shares[0][0]


def test_views_are_told_of_all_rows_in_order_of_keys_after_their_own() -> None:
    world = made(still(), blocks=3)
    for _ in range(CYCLES):
        world.run_cycle()
    it, key = views(world), [int(k) for k in world.people.key]
    assert int(it.starts[-1]) == it.rows.shape[0] > world.rows
    for row in range(world.rows):
        mine = it.rows[it.starts[row] : it.starts[row + 1]].tolist()
        assert sorted(mine) == sorted(of_row(world, row))
        assert mine == sorted(mine, key=lambda other: (key[other] - key[row]) % (1 << 64))


def test_where_there_is_nothing_to_judge_by_nothing_is_written_down() -> None:
    scenario = replace(still(), events=EventSettings(count=0))
    world = made(scenario)
    watch, trace = Watch(world, events(scenario, world.people, 1)), Trace()
    assert watch.links(trace) is None
    assert len(trace["links"]) == 0
