"""Sub-2-Sub (Voulgaris, Riviere, Kermarrec, van Steen; IPTPS 2006 and INRIA report 5772).

Three layers of gossip, each finding candidates for the next: random samples (Cyclon), peers alike (Vicinity), and for every
event the ring of those who want it. An event goes along the ring both ways, and over a shortcut or two.

``faithful`` is the plain reading of the papers: one exchange a cycle with a random ring neighbour, and 20 places in
Vicinity. ``better`` gets all rings complete in two thirds of the cycles at half the work. Links never met are asked first
and in addition (whoever has just learned of a neighbour is a neighbour its neighbour has yet to learn of); Vicinity holds 40
and chooses what it sends out of the ring view too, which knows the few who share a box's thin corners; a row that knows
nobody who overlaps asks its nearest; and ring exchanges carry ring links alone, since each row looks at its own samples.
"""

from __future__ import annotations

from gossamer.protocol import cyclon, rings, spread, vicinity
from gossamer.system.plan import EVENT, Layer, Plan

__all__ = ["FORMS", "plan"]

FORMS = {
    "faithful": (rings.Params(), vicinity.Params()),
    "better": (
        rings.Params(in_turn=True, haste=8, stray=0.2, samples_too=False),
        vicinity.Params(view=40, shuffle=20, rings_too=True),
    ),
}


def plan(form: str) -> Plan:
    """The wiring table."""
    ring, likeness = FORMS[form]
    return Plan(
        name="sub2sub",
        form=form,
        layers=(
            Layer(
                name="spread",
                params=spread.Params(fail_over=form != "faithful"),
                reads=("rings", "vicinity"),
                timer="",
                mail=EVENT,
            ),
            Layer(name="rings", params=ring, reads=("vicinity", "cyclon")),
            Layer(name="vicinity", params=likeness, reads=("cyclon",)),
            Layer(name="cyclon", params=cyclon.Params()),
        ),
    )
