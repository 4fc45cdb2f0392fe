"""How a caller says which query matters more: by priority, then by deadline."""

from __future__ import annotations

import operator

from surplus.engine.errors import InputError

PRIORITIES = range(-(2**31), 2**31)
_DEADLINES_NS = range(2**63)


def check_urgency(priority: int, deadline_ns: int) -> None:
    """Refuse what the core cannot hold.

    Raises
    ------
    InputError
        Naming the bounds.
    """
    _check("priority", priority, PRIORITIES)
    _check("deadline_ns", deadline_ns, _DEADLINES_NS)


def _check(name: str, value: int, bounds: range) -> None:
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{name} must be an integer, got {value!r}") from None
    if number not in bounds:
        raise InputError(f"{name} must be {bounds.start} to {bounds.stop - 1}, got {value}")
