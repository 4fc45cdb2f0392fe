"""Sizes as people write them: ``4GiB``, ``500MB``, ``1.5 GiB``, ``4096``."""

from __future__ import annotations

import re
from fractions import Fraction

_UNITS = {
    "": 1,
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "TiB": 1 << 40,
}

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]*)", re.ASCII)


def bytes_of(text: str) -> int:
    """Whole bytes of a size with an optional unit, rounded down.

    Raises
    ------
    ValueError
        If it is no number followed by one of the known units, or less than a byte.
    """
    match = _SIZE.fullmatch(text)
    if match is None or match[2] not in _UNITS:
        units = ", ".join(filter(None, _UNITS))
        raise ValueError(f"size {text!r} is not understood: a number and one of {units}")
    size = int(Fraction(match[1]) * _UNITS[match[2]])
    if size < 1:
        raise ValueError(f"size {text!r} is less than a byte")
    return size
