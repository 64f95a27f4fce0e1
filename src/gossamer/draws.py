"""Randomness as a function of (seed, key, cycle, purpose, n): no generator state anywhere.

Who draws, when, what for and the how-manieth are hashed, so a row draws alike in every driver, in any order, on any
number of threads; and looking at a run cannot change it, because measurements have purposes of their own.

The mixing is two rounds of the splitmix64 finaliser (Steele, Lea, Flood 2014) over the five words. Everything is uint64:
a 64-bit draw does not cross into Python, where it would become an int that no longer fits.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from gossamer.jit import tiny

__all__ = ["Purpose", "below", "draw", "mix", "uniform"]


class Purpose(IntEnum):
    """What a draw is for. One number a purpose, for ever: a reused number would tie two choices together."""

    CYCLON_SENT = 1
    CYCLON_ANSWERED = 2
    VICINITY_TIE = 3
    VICINITY_PARTNER = 4
    RING_PARTNER = 5
    RING_OTHER = 6
    SHORTCUT = 7
    FINGER = 8
    SEARCH_PARTNER = 9
    REPAIR_PARTNER = 10
    PHASE = 11

    KEY = 32
    ATTRIBUTE = 33
    WIDTH = 34
    CONTACT = 35
    EVENT = 36
    LATENCY = 37
    LOSS = 38
    CHURN = 39
    SESSION = 40
    CHANGE = 41
    PUBLISHER = 42
    PLACE = 43
    WILDCARD = 44
    WIDE = 45
    CRASH = 46
    SILENCE = 47
    PARTITION = 48
    REJOIN = 49

    SAMPLE = 64
    BLINDFOLD = 65


_ONE = np.uint64(0x9E3779B97F4A7C15)
_TWO = np.uint64(0xBF58476D1CE4E5B9)
_THREE = np.uint64(0x94D049BB133111EB)
_FOUR = np.uint64(0xD6E8FEB86659FD93)
_S30, _S27, _S31, _S32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_FRACTION = 2.0**-53
_S11 = np.uint64(11)


@tiny
def mix(word: np.uint64) -> np.uint64:
    """Every bit of the answer depends on every bit of the word; one to one."""
    word = (word ^ (word >> _S30)) * _TWO
    word = (word ^ (word >> _S27)) * _THREE
    return word ^ (word >> _S31)


@tiny
def draw(seed: np.uint64, key: np.uint64, cycle: int, purpose: int, n: int) -> np.uint64:
    """64 random bits that belong to these five words alone.

    seed    : uint64  the run's
    key     : uint64  whose draw it is
    cycle   : int     when; below 2**32
    purpose : int     what for, one of Purpose; below 2**8
    n       : int     the how-manieth; below 2**24
    """
    when = (np.uint64(cycle) << _S32) | (np.uint64(purpose) << np.uint64(24)) | np.uint64(n)
    return mix(mix(seed + _ONE ^ key) + when * _FOUR)


@tiny
def below(bits: np.uint64, bound: int) -> int:
    """A number in 0 .. bound-1 from the upper half of a draw; bound is at most 2**31."""
    return np.int64(((bits >> _S32) * np.uint64(bound)) >> _S32)  # type: ignore[return-value]


@tiny
def uniform(bits: np.uint64) -> float:
    """A float in [0, 1) from the upper 53 bits of a draw; exact, so equal in compiled and plain Python."""
    return float(bits >> _S11) * _FRACTION
