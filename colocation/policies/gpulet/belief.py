"""What a planner believes that neighbours on a device cost, from what it measured of each alone.

References
----------
gpulet (ATC'22), section 4.4: a factor linear in the L2 and DRAM utilisation of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from surplus.colocation.frame.profile import LatencyProfile


@runtime_checkable
class Traffic(Protocol):
    """A profile that knows its utilisation of cache and memory, alone; 0 to 1."""

    @property
    def l2(self) -> float:
        """Of the cache."""
        ...

    @property
    def dram(self) -> float:
        """Of the memory's bandwidth."""
        ...


@dataclass(frozen=True)
class LinearParams:
    """Coefficients of the factor; the paper's c1, c2, c3, c4, c5.

    The defaults were fitted by ``python -m bench gpulet_interference`` on the stated contention
    law of the simulator, not on a GPU. The authors' own, of a 2080 Ti, are 0.113, 0.716, 0.355,
    0.088, 0.895 by their release.
    """

    l2_own: float = 0.162
    l2_other: float = 0.189
    dram_own: float = 0.301
    dram_other: float = 0.286
    constant: float = 0.927


def factor_table(
    profiles: Sequence[LatencyProfile], params: LinearParams
) -> tuple[tuple[float, ...], ...]:
    """``table[own][other]``: what ``own``'s times are multiplied with beside ``other``; >= 1.

    A profile without utilisations costs nothing and suffers nothing.
    """
    return tuple(tuple(_factor(own, other, params) for other in profiles) for own in profiles)


def _factor(own: LatencyProfile, other: LatencyProfile, params: LinearParams) -> float:
    if not (isinstance(own, Traffic) and isinstance(other, Traffic)):
        return 1.0
    own_part = params.l2_own * own.l2 + params.dram_own * own.dram
    other_part = params.l2_other * other.l2 + params.dram_other * other.dram
    return max(1.0, own_part + other_part + params.constant)
