"""Random numbers that do not depend on who asks first.

A draw is a hash of what it is for, so that every policy meets the same luck: the n-th query of a
service takes the same time whoever serves it, and whatever other services there are.

References
----------
Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014 (SplitMix64).
"""

from __future__ import annotations

from zlib import crc32

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def stream_of(seed: int, name: str) -> int:
    """Key of a stream of draws: the run's seed and the service's name."""
    return _mix(seed * _GOLDEN + crc32(name.encode()))


def uniform(stream: int, number: int, part: int) -> float:
    """Draw for part ``part`` of item ``number`` of a stream; 0 < u < 1."""
    word = _mix(stream + number * _GOLDEN + part * 0xD1342543DE82EF95)
    return ((word >> 11) + 0.5) * 2.0**-53


def _mix(word: int) -> int:
    word &= _MASK
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _MASK
    return word ^ (word >> 31)
