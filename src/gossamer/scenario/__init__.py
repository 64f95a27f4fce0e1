"""A world to run a system in: a TOML file comes in; settings, a population, events and a network go out as arrays.

Every row and every event is a function of the seed and its own number, so any partitioning gives the same tables.
"""
