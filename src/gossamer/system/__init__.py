"""One file a system: which layers, with which settings, spreading how. Wiring, no algorithm."""
