"""Durations as people write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


def duration_ns(text: str) -> int:
    """Read a duration such as ``50ms``, ``1.5s`` or ``800us``.

    Raises
    ------
    ValueError
        If it is none, or not > 0.
    """
    for unit, unit_ns in (("ms", 1e6), ("us", 1e3), ("s", 1e9)):
        if text.endswith(unit):
            try:
                value_ns = float(text.removesuffix(unit)) * unit_ns
            except ValueError:
                break
            if 1 <= value_ns < 2**62:
                return round(value_ns)
            break
    raise ValueError(f"expected a duration such as 50ms, got {text!r}")
