"""gossamer: all of it, with everything we know better; what the live node runs.

Sub-2-Sub in its better form, with events delegated by arcs instead of flooded along ring and shortcuts, which needs fingers
on long rings and fails over to whoever is known next. Ring views are two deep: where one in ten nodes is gone at once, a lone
neighbour hides whoever lies behind it too often (docs/papers/beyond.md).
"""

from __future__ import annotations

from gossamer.protocol import alive, cyclon, fingers, repair, rings, spread, vicinity
from gossamer.system.plan import EVENT, Layer, Plan

__all__ = ["plan"]


def plan(form: str = "better") -> Plan:
    """The wiring table; the faithful form spreads as the papers do, over the same layers."""
    arcs = form == "better"
    return Plan(
        name="gossamer",
        form=form,
        layers=(
            Layer(
                name="spread",
                params=spread.Params(mode="arcs" if arcs else "paper"),
                reads=("rings", "vicinity", "cyclon", "fingers"),
                timer="",
                mail=EVENT,
            ),
            Layer(
                name="alive", params=alive.Params(), reads=("rings", "vicinity", "cyclon", "fingers"), timer="listen", mail={}
            ),
            Layer(name="repair", params=repair.Params(), reads=("spread", "rings", "fingers")),
            Layer(
                name="rings",
                params=rings.Params(depth=2, in_turn=True, haste=8, stray=0.2, samples_too=False),
                reads=("vicinity", "cyclon"),
            ),
            Layer(name="fingers", params=fingers.Params(), reads=("vicinity", "cyclon"), timer="learn", mail={}),
            Layer(name="vicinity", params=vicinity.Params(view=40, shuffle=20, rings_too=True), reads=("cyclon", "rings")),
            Layer(name="cyclon", params=cyclon.Params()),
        ),
    )
