"""Searches the highest load that a policy holds, when more load need not be worse.

Goodput falls with load for most policies, but not for all: a planner may find a better deployment
for a higher rate, a fixed batch fills sooner. So a capacity is the highest probed load that is held
together with every lower probed one, and what contradicts a threshold is told.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

_FINEST = 1e-6
"""Far finer than what any number of queries tells; numbers cannot be halved for ever."""


@dataclass(frozen=True)
class Probe:
    """One load, over all its seeds.

    Parameters
    ----------
    scale : float
        Factor on the scenario's rates.
    goodput : float
        Share of the offered queries that were answered in time, of all seeds together; of the
        worst service, where each of them counts.
    least, most : float
        The same of single seeds.
    held : bool
        Whether the goodput reaches the target.
    """

    scale: float
    goodput: float
    least: float
    most: float
    held: bool


@dataclass(frozen=True)
class CapacitySearchParams:
    """How far and how finely to search.

    Parameters
    ----------
    tolerance : float
        Relative distance of the lowest load that is not held from the highest that is; >= 1e-6.
    least, most : float
        Range of scales; 0 < least <= 1 <= most.
    checks : tuple of float
        Loads to look at beside the one that was found, as factors of it.

    Raises
    ------
    ValueError
        If a value is out of range.
    """

    tolerance: float = 0.02
    least: float = 1 / 64
    most: float = 64.0
    checks: tuple[float, ...] = (0.75, 0.9, 1.15)

    def __post_init__(self) -> None:
        if not _FINEST <= self.tolerance < float("inf"):
            raise ValueError(f"tolerance must be >= {_FINEST:g}, got {self.tolerance}")
        if not 0 < self.least <= 1 <= self.most < float("inf"):
            raise ValueError(f"0 < least <= 1 <= most, got {self.least} and {self.most}")


@dataclass(frozen=True)
class CapacityFound:
    """What a search found.

    Parameters
    ----------
    scale : float
        Highest probed load that is held with all lower ones; 0 if there is none.
    missed_scale : float or None
        Lowest probed load above it, which is not held; None if the search ended before.
    held_above : float or None
        Highest load that is held although a lower one is not.
    probes : tuple of Probe
        By scale.
    """

    scale: float
    missed_scale: float | None
    held_above: float | None
    probes: tuple[Probe, ...]


def search_capacity(probe: Callable[[float], Probe], params: CapacitySearchParams) -> CapacityFound:
    """Double or halve until the answer is bracketed, bisect, and look around it.

    Parameters
    ----------
    probe : callable
        Called once for each load.
    """
    probes: dict[float, Probe] = {}

    def held(scale: float) -> bool:
        if scale not in probes:
            probes[scale] = probe(scale)
        return probes[scale].held

    low, high = _bracket(held, params)
    while low is not None and high is not None and high > low * (1 + params.tolerance):
        middle = sqrt(low * high)
        if held(middle):
            low = middle
        else:
            high = middle
    for factor in params.checks:
        if low is not None and params.least <= low * factor <= params.most:
            held(low * factor)
    return _judge(sorted(probes.values(), key=lambda row: row.scale))


def _bracket(
    held: Callable[[float], bool], params: CapacitySearchParams
) -> tuple[float | None, float | None]:
    """A load that is held and one that is not; None where the range ends before."""
    scale = 1.0
    if held(scale):
        while scale < params.most:
            before, scale = scale, min(2 * scale, params.most)
            if not held(scale):
                return before, scale
        return scale, None
    while scale > params.least:
        before, scale = scale, max(scale / 2, params.least)
        if held(scale):
            return scale, before
    return None, scale


def _judge(rows: list[Probe]) -> CapacityFound:
    lost = [row.scale for row in rows if not row.held]
    missed_scale = min(lost, default=None)
    kept = [row.scale for row in rows if row.held]
    below = [scale for scale in kept if missed_scale is None or scale < missed_scale]
    above = [scale for scale in kept if missed_scale is not None and scale > missed_scale]
    return CapacityFound(
        max(below, default=0.0), missed_scale, max(above, default=None), tuple(rows)
    )
