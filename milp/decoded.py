"""A solver's answer in the problem's own terms."""

from __future__ import annotations

from dataclasses import dataclass, field

from surplus.milp.copies import LinkCopy


@dataclass(frozen=True)
class Decoded:
    """A solution of a program.

    Parameters
    ----------
    device_of : list of int
        Device of each task.
    starts_ns : list of float
        Start of each task.
    copy_starts_ns : dict of Copy to float
        Start of each copy that the devices make necessary.
    width_of : dict of int to int
        Width of each task that has a choice.
    """

    device_of: list[int]
    starts_ns: list[float]
    copy_starts_ns: dict[LinkCopy, float]
    width_of: dict[int, int] = field(default_factory=dict)
