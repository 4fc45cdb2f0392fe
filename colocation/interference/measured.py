"""Interference as it was measured live: services in pairs, side by side on a device."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from surplus.colocation.frame.interference_model import INTERFERENCES
from surplus.colocation.interference.pairwise import Pairwise
from surplus.colocation.profiles.measured_profile import load_measured_profile


@INTERFERENCES.register("measured")
class MeasuredInterference(Pairwise):
    """The pairs of a file of ``engine colocate profile``; costs of several neighbours add up.

    Raises
    ------
    ValueError
        If the file is something else, or lacks a service.
    """

    def __init__(self, names: Sequence[str], path: str) -> None:
        extra = load_measured_profile(Path(path)).extra
        missing = [name for name in names if name not in extra]
        if missing:
            raise ValueError(f"{path}: {missing[0]!r} was not measured beside others")
        own = {a: {b: max(0.0, extra[a].get(b, 0.0)) for b in names} for a in names}
        super().__init__(names, extra=own)
