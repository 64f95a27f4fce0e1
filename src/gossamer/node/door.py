"""The only door of a machine: what may come in (Mail, Due, a Command), and what comes out.

All of it is plain, frozen data without methods, so a shell can carry it out, a test compare it and a codec write it down.
Handles stay inside: at the door a peer is a ``Descriptor``, and who can be written to is an address no machine looks into.
"""

from __future__ import annotations

from dataclasses import dataclass

from gossamer.errors import PeerError

__all__ = [
    "Action",
    "Address",
    "Box",
    "Change",
    "Command",
    "Deliver",
    "Descriptor",
    "Drop",
    "Due",
    "Event",
    "Frame",
    "Input",
    "Mail",
    "Meet",
    "Publish",
    "Record",
    "Send",
    "Subscribe",
    "Timer",
    "Unsubscribe",
    "Wake",
    "Word",
]

Address = str
"""Where a node is written to. The shell knows what it means."""
Box = tuple[tuple[int, ...], tuple[int, ...]]
"""Lower and upper corner, both inside."""


@dataclass(frozen=True, slots=True)
class Descriptor:
    """What one peer tells of another. Immutable: a changed subscription is another descriptor, same key, next version."""

    key: int
    version: int
    box: Box
    owner: Address
    """The node whose row it is."""


@dataclass(frozen=True, slots=True)
class Event:
    """What is published."""

    key: int
    """64 bits; distinct for distinct events."""
    point: tuple[int, ...]
    """Its place among the attributes, which filters are about."""
    payload: bytes = b""


@dataclass(frozen=True, slots=True)
class Word:
    """What a frame says about an event."""

    what: int
    """COPY, ARC, CLOSE, HINT, REPAIR or SEEK, of ``protocol.spread``; CLOSE, HINT and SEEK carry no payload."""
    event: Event
    hop: int
    low: int = 0
    high: int = 0
    """ARC: it covers the keys above the one, up to and with the other, cyclically."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message, decoded."""

    layer: str
    """Which protocol it belongs to: the name of a layer of the plan."""
    asks: int
    """ASK, ANSWER, or BOUNCE: made by the shell alone, for a frame it could not hand over; the sender is then the dead one."""
    sender: Descriptor
    to: int
    """The key of the row it is for."""
    stamp: int
    """The cycle of writing, modulo 2**16."""
    who: tuple[Descriptor, ...] = ()
    born: tuple[int, ...] = ()
    """The entries: of whom, and minted when."""
    word: Word | None = None
    """For a layer that carries events; of a HINT the one entry is of whom there is word."""
    events: tuple[Event, ...] = ()
    """For a layer of digests: which events are meant, without their payloads; ``born`` says when each came."""


@dataclass(frozen=True, slots=True)
class Timer:
    """What a machine wants to be woken for. One that has become stale is recognised, not cancelled."""

    row: int
    at: int


# ---------------------------------------------------------------------------------------------------- in


@dataclass(frozen=True, slots=True)
class Mail:
    """All frames that arrived in one tick, in the order each sender wrote its own. Comes before the tick's timers."""

    frames: tuple[Frame, ...]


@dataclass(frozen=True, slots=True)
class Due:
    """A timer's time has come."""

    timer: Timer


@dataclass(frozen=True, slots=True)
class Command:
    """What the owner of the node wants. One of those below."""


@dataclass(frozen=True, slots=True)
class Subscribe(Command):
    """Be one row more, with this key and this interest."""

    row: int
    box: Box
    phase: int = 0
    """The tick within a cycle at which its timers fire."""


@dataclass(frozen=True, slots=True)
class Meet(Command):
    """Let a row know a peer from elsewhere: how it joins."""

    row: int
    peer: Descriptor


@dataclass(frozen=True, slots=True)
class Change(Command):
    """Let a row want something else from now on."""

    row: int
    box: Box


@dataclass(frozen=True, slots=True)
class Unsubscribe(Command):
    """Be one row less."""

    row: int


@dataclass(frozen=True, slots=True)
class Publish(Command):
    """Hand an event to a row that wants it, which sees to all others."""

    row: int
    event: Event


Input = Mail | Due | Command

# ---------------------------------------------------------------------------------------------------- out


@dataclass(frozen=True, slots=True)
class Send:
    """Carry a frame to the node of this descriptor; where that is this very node, hand it back without a wire."""

    to: Descriptor
    frame: Frame


@dataclass(frozen=True, slots=True)
class Wake:
    """Come back with Due when this timer's tick has come."""

    timer: Timer


@dataclass(frozen=True, slots=True)
class Deliver:
    """Give an event to the application: once a node, however many of its rows want it."""

    row: int
    """The key of the first row that did."""
    event: Event
    hop: int


@dataclass(frozen=True, slots=True)
class Drop:
    """This frame was thrown away; nothing of it remains. The shell may think about the link it came over."""

    frame: Frame
    reason: PeerError


@dataclass(frozen=True, slots=True)
class Record:
    """Something worth a line in the trace."""

    what: str
    row: int
    """The key of the row it happened to."""
    tick: int
    text: str = ""
    numbers: tuple[int, ...] = ()
    """"receipt": the event's key, the sender's key (NONE for the publisher), hop, what, and whether the row saw it first."""


Action = Send | Wake | Deliver | Drop | Record
