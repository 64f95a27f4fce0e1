"""The simulator: a scenario and a system come in, all rows act in blocks, and a trace goes out."""
