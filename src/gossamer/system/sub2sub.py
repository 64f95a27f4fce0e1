"""Sub-2-Sub (Voulgaris, Riviere, Kermarrec, van Steen; IPTPS 2006 and INRIA report 5772).

Three layers of gossip, each finding candidates for the next: random samples (Cyclon), peers alike (Vicinity), and for every
event the ring of those who want it. An event goes along the ring both ways, and over a shortcut or two.

``faithful`` is the plain reading of the papers. ``better`` changes three things and nothing else: hubs start one exchange
per 16 ring links and ask them in turn (a node with a thousand links cannot keep them with one exchange a cycle), every
fifth exchange goes to a random overlapping peer, and Vicinity holds 40 instead of 20, which finds neighbours sooner.
"""

from __future__ import annotations

from gossamer.protocol import cyclon, rings, vicinity
from gossamer.system.plan import Layer, Plan

__all__ = ["FORMS", "plan"]

FORMS = {
    "faithful": (rings.Params(), vicinity.Params()),
    "better": (
        rings.Params(links_per_exchange=16, in_turn=True, stray=0.2),
        vicinity.Params(view=40, shuffle=20),
    ),
}


def plan(form: str) -> Plan:
    """The wiring table."""
    ring, likeness = FORMS[form]
    return Plan(
        name="sub2sub",
        form=form,
        layers=(
            Layer(name="rings", params=ring, reads=("vicinity", "cyclon")),
            Layer(name="vicinity", params=likeness, reads=("cyclon",)),
            Layer(name="cyclon", params=cyclon.Params()),
        ),
    )
