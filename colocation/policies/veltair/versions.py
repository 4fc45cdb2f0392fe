"""Versions of a layer, from many candidates to the few that are kept.

References
----------
VELTAIR (ASPLOS'22), section 4.1, Algorithm 1. A candidate is kept if it meets the layer's target
alone, and no other that does is smaller in both parallelism and blocks (the text; Algorithm 1 does
not define ``ExtractDominant``); here no worse in one and smaller in the other is enough, so that
equals do not both stay. Of the frontier, ordered by blocks, five are picked evenly, and one is left
out again while the rest keep 90 % of the speed of all five at every level of interference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MOST = 5
KEPT = 0.9


@dataclass(frozen=True)
class VersionCandidate:
    """An implementation of a layer.

    Parameters
    ----------
    parallelism : int
        Threads times unrolling; of an ONNX Runtime session its width.
    block : int
        Size of its tiles: its locality.
    time_ns : int
        Alone.
    """

    parallelism: int
    block: int
    time_ns: int


def dominant(
    candidates: Sequence[VersionCandidate], target_ns: int
) -> tuple[VersionCandidate, ...]:
    """The frontier of those that meet a target, by size of their blocks; empty if none do."""
    meeting = {c for c in candidates if c.time_ns <= target_ns}
    kept: list[VersionCandidate] = []
    for candidate in sorted(meeting, key=lambda c: (c.block, c.parallelism, c.time_ns)):
        if not kept or candidate.parallelism < kept[-1].parallelism:
            kept.append(candidate)
    return tuple(kept)


def picked(frontier: Sequence[VersionCandidate], most: int = MOST) -> tuple[VersionCandidate, ...]:
    """Evenly from a frontier, its ends among them.

    Raises
    ------
    ValueError
        If ``most`` is below 1.
    """
    if most < 1:
        raise ValueError(f"most must be >= 1, got {most}")
    if len(frontier) <= most:
        return tuple(frontier)
    steps = max(1, most - 1)
    return tuple(frontier[k * (len(frontier) - 1) // steps] for k in range(most))


def pruned(loaded_ns: Sequence[Sequence[float]], kept: float = KEPT) -> tuple[int, ...]:
    """Indices of the versions that are worth keeping, by times measured under load.

    One after the other goes, as long as the best of the others is fast enough at each level; of
    several the one that is missed least.

    Parameters
    ----------
    loaded_ns : sequence of sequence of float, (versions, levels)
    kept : float
        Share of the speed of all versions that has to be kept at each level, 0 to 1.

    Raises
    ------
    ValueError
        If there are no times, rows are of different lengths, or ``kept`` is out of range.
    """
    if not loaded_ns or not loaded_ns[0] or len({len(row) for row in loaded_ns}) != 1:
        raise ValueError("each version needs a time for each level")
    if not 0 < kept <= 1:
        raise ValueError(f"kept must be > 0 and <= 1, got {kept}")
    best = [float(min(column)) for column in zip(*loaded_ns, strict=True)]

    def speed(indices: Sequence[int]) -> float:
        """The worst over the levels, of the best that is left."""
        rows = [loaded_ns[k] for k in indices]
        left = [float(min(column)) for column in zip(*rows, strict=True)]
        return min(fastest / now for fastest, now in zip(best, left, strict=True))

    left = list(range(len(loaded_ns)))
    while len(left) > 1:
        without = [(speed([k for k in left if k != gone]), gone) for gone in left]
        most, gone = max(without)
        if most < kept:
            break
        left.remove(gone)
    return tuple(left)


class VersionChoice:
    """The version for the present pressure, changed only for a gain that is worth it.

    Parameters
    ----------
    times : sequence of float
        Of each version alone, in any unit.
    sensitivities : sequence of float
        A version takes ``1 + sensitivity x pressure`` times as long.
    hysteresis : float
        Share of the time by which another version must be faster; >= 0.

    Raises
    ------
    ValueError
        If there are not as many times as sensitivities, or a number is negative.
    """

    def __init__(
        self, times: Sequence[float], sensitivities: Sequence[float], hysteresis: float = 0.03
    ) -> None:
        if not times or len(times) != len(sensitivities):
            text = f"{len(times)} times, {len(sensitivities)} sensitivities"
            raise ValueError(f"each version needs a time and a sensitivity: {text}")
        if min(*times, *sensitivities, hysteresis) < 0:
            raise ValueError("times, sensitivities and hysteresis must be >= 0")
        self._rows = tuple(zip(times, sensitivities, strict=True))
        self._hysteresis = hysteresis
        self._now = 0

    def at(self, pressure: float) -> int:
        """The version to run now."""
        loaded = [time * (1 + sensitivity * pressure) for time, sensitivity in self._rows]
        best = min(range(len(loaded)), key=lambda k: (loaded[k], k))
        if loaded[best] < loaded[self._now] * (1 - self._hysteresis):
            self._now = best
        return self._now
