"""Checks of single fields of a problem, each of which names the field and whose it is."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from numbers import Integral

END = 2**53
"""Times (104 days in ns) and sizes (9 PB) are below it, each and all of a problem together: floats
are exact so far, and 64 bits hold sums and products with the prices of bounds."""

_END_IN_WORDS = "2^53"
_SHOWN = 40


class ProblemError(ValueError):
    """A placement problem that is none; the message says of what and which field."""


def check_whole(owner: str, field: str, value: object, least: int = 0, end: int = END) -> None:
    """Raise ProblemError unless the value is a whole number, at least ``least``, below ``end``."""
    if type(value) is int and least <= value < end:
        return
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ProblemError(f"{owner}: {field} must be a whole number, got {shown(value)}")
    number = int(value)
    if number < least:
        raise ProblemError(f"{owner}: {field} must be >= {least}, got {shown(value)}")
    if number >= end:
        limit = _END_IN_WORDS if end == END else str(end)
        raise ProblemError(f"{owner}: {field} must be below {limit}, got {shown(value)}")


def check_wholes(owner: str, field: str, values: Sequence[object], count: int) -> None:
    """Raise ProblemError unless these are ``count`` whole numbers >= 0."""
    check_count(owner, field, values, count)
    for place, value in enumerate(values):
        check_whole(owner, f"{field}[{place}]", value)


def check_count(owner: str, field: str, values: Sequence[object], count: int) -> None:
    """Raise ProblemError unless there is a value for each device."""
    if len(values) != count:
        raise ProblemError(f"{owner}: {field} has {len(values)} values for {count} devices")


def check_positive(owner: str, field: str, value: object, most: float) -> None:
    """Raise ProblemError unless the value is a number above 0, at most ``most``."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ProblemError(f"{owner}: {field} must be a number, got {shown(value)}")
    if not 0 < value < inf:
        raise ProblemError(f"{owner}: {field} must be > 0 and finite, got {shown(value)}")
    if value > most:
        raise ProblemError(f"{owner}: {field} must be <= {most:g}, got {shown(value)}")


def check_flag(owner: str, field: str, value: object) -> None:
    """Raise ProblemError unless the value is true or false."""
    if not isinstance(value, bool):
        raise ProblemError(f"{owner}: {field} must be true or false, got {shown(value)}")


def shown(value: object) -> str:
    """A value on one line that is not long, whatever it is."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
