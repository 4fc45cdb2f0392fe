"""Durations as people write them."""

from __future__ import annotations

import re

_UNITS_NS = {"us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9}
_DURATION = re.compile(r"(?P<number>\d+(\.\d+)?)(?P<unit>us|ms|s|m|h)?")


def parse_duration_ns(text: str) -> int:
    """Read ``10s``, ``500ms``, ``2m``, ``1.5h`` or plain seconds; returns nanoseconds.

    Raises
    ------
    ValueError
        If the text has another form, or means centuries.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"duration {text!r} is not a number with one of us, ms, s, m, h")
    value_ns = float(match["number"]) * _UNITS_NS[match["unit"] or "s"]
    if value_ns >= 2**62:
        raise ValueError(f"duration {text!r} is longer than a century")
    return round(value_ns)
