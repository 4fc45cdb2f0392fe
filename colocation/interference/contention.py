"""Interference as traffic that meets: neighbours collide as often as both use the same memory.

References
----------
gpulet (ATC'22), section 3.4 and Fig. 7 name the causes, cache and memory bandwidth, and say how
much it is: under 18 % for 90 % of the pairs. The law is ours. It is bilinear, so that the linear
model of a planner is an approximation of it, as it is of a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from surplus.colocation.frame.interference_model import INTERFERENCES, UNIT_PPM
from surplus.colocation.frame.work import Group


@INTERFERENCES.register("contention")
class Contention:
    """``1 + sum over neighbours of l2_cost x l2 x l2' + dram_cost x dram x dram'``.

    Utilisations are those of large batches, times ``items / (items + half)``.

    Parameters
    ----------
    names : sequence of str
        Of the services.
    l2, dram : mapping of str to float
        Utilisation of each service alone, 0 to 1; 0 where it is not given.
    l2_cost, dram_cost : float
        Extra time of two that use it all the time; >= 0.
    half : float
        Items at which half of the utilisation is reached; >= 0.

    Raises
    ------
    ValueError
        If a number is out of range or a service unknown.
    """

    def __init__(
        self,
        names: Sequence[str],
        l2: Mapping[str, float],
        dram: Mapping[str, float],
        l2_cost: float = 1.0,
        dram_cost: float = 2.0,
        half: float = 4.0,
    ) -> None:
        if min(l2_cost, dram_cost, half) < 0:
            raise ValueError(f"costs and half must be >= 0, got {(l2_cost, dram_cost, half)}")
        self._l2, self._dram = _by_service(names, l2), _by_service(names, dram)
        self._costs = (l2_cost, dram_cost)
        self._half = half

    def slowdown_ppm(self, group: Group, others: Sequence[Group]) -> int:
        """The worst of the pieces of the group beside all pieces of its neighbours."""
        beside = [(piece.service, piece.items) for other in others for piece in other.pieces]
        extra = max(
            sum(self.extra((piece.service, piece.items), other) for other in beside)
            for piece in group.pieces
        )
        return UNIT_PPM + round(extra * UNIT_PPM)

    def extra(self, own: tuple[int, int], other: tuple[int, int]) -> float:
        """Extra time of a batch beside another, as a fraction; each a service and its items."""
        (l2, dram), (other_l2, other_dram) = self.utilisation(*own), self.utilisation(*other)
        return self._costs[0] * l2 * other_l2 + self._costs[1] * dram * other_dram

    def utilisation(self, service: int, items: int) -> tuple[float, float]:
        """Of cache and memory, by a batch alone."""
        filled = items / (items + self._half)
        return self._l2[service] * filled, self._dram[service] * filled


def _by_service(names: Sequence[str], given: Mapping[str, float]) -> list[float]:
    unknown = set(given) - set(names)
    if unknown:
        raise ValueError(f"unknown service {min(unknown)!r}")
    if not all(0 <= value <= 1 for value in given.values()):
        raise ValueError(f"utilisations must be 0 to 1, got {dict(given)}")
    return [given.get(name, 0.0) for name in names]
