"""Times and sizes of files in our units."""

from __future__ import annotations

from surplus.placement.field_checks import END, ProblemError, shown


def scaled(field: str, value: float, units: float) -> int:
    """``value`` times ``units``, rounded: nanoseconds or bytes.

    Raises
    ------
    ProblemError
        Naming the field, unless that is >= 0 and below 2^53.
    """
    if not 0 <= value * units < END:
        limit = END / units
        raise ProblemError(f"{field} must be >= 0 and below {limit:.4g}, got {shown(value)}")
    return round(value * units)
