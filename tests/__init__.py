"""The tests: a folder a room, as in src; ``naive`` has the oracles."""
