"""Interference as traffic that meets: neighbours collide as often as both use the same memory.

References
----------
gpulet (ATC'22), section 3.4 and Fig. 7 name the causes, cache and memory bandwidth, and say how
much it is: under 18 % for 90 % of the pairs. The law is ours. It is bilinear, so that the linear
model of a planner is an approximation of it, as it is of a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy

from surplus.colocation.frame.interference_model import INTERFERENCES, UNIT_PPM
from surplus.colocation.frame.work import Group
from surplus.colocation.profiles.bandwidth import filled, stretched

Batch = tuple[int, int, int]
"""Service, items, share in percent."""

Used = tuple[float, float]
"""Utilisation of cache and of memory."""


@INTERFERENCES.register("contention")
class Contention:
    """``1 + sum over neighbours of l2_cost x l2 x l2' + dram_cost x dram x dram'``.

    Utilisations are those of large batches on a whole device, times ``items / (items + half)``,
    over how much longer a share makes them: the same traffic takes ``1 - scaled + scaled x 100 /
    share`` times as long.

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
    scaled : mapping of str to float
        Part of a service's time that a share divides, 0 to 1; 0 where it is not given.

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
        scaled: Mapping[str, float] | None = None,
    ) -> None:
        if min(l2_cost, dram_cost, half) < 0:
            raise ValueError(f"costs and half must be >= 0, got {(l2_cost, dram_cost, half)}")
        self._l2, self._dram = _by_service(names, l2), _by_service(names, dram)
        self._costs = (l2_cost, dram_cost)
        self._half = half
        self._scaled = _by_service(names, scaled or {})
        self._known: dict[Batch, Used] = {}

    def of(self, services: Sequence[int]) -> Contention:
        """The same law for some of the services, which have these indices here."""
        own = copy(self)
        own._l2, own._dram, own._scaled = (
            [values[k] for k in services] for values in (self._l2, self._dram, self._scaled)
        )
        own._known = {}
        return own

    def slowdowns_ppm(self, groups: Sequence[Group]) -> list[int]:
        """The worst of the pieces of each group beside all pieces of its neighbours."""
        used = [[self._used(row) for row in _batches(group)] for group in groups]
        each = [_sum(own) for own in used]
        total = _sum(each)
        return [
            UNIT_PPM + round(self._worst(own, _less(total, one)) * UNIT_PPM)
            for own, one in zip(used, each, strict=True)
        ]

    def _worst(self, own: Sequence[Used], beside: Used) -> float:
        return max(self._extra(one, beside) for one in own)

    def extra(self, own: Batch, other: Batch) -> float:
        """Extra time of a batch beside another, as a fraction."""
        return self._extra(self._used(own), self._used(other))

    def utilisation(self, service: int, items: int, share_percent: int) -> Used:
        """Of cache and memory, by a batch alone on a share."""
        used = filled(items, self._half) / stretched(self._scaled[service], share_percent)
        return self._l2[service] * used, self._dram[service] * used

    def _extra(self, own: Used, other: Used) -> float:
        return self._costs[0] * own[0] * other[0] + self._costs[1] * own[1] * other[1]

    def _used(self, batch: Batch) -> Used:
        """Utilisation, found once for each batch: neighbours ask again whenever one comes."""
        found = self._known.get(batch)
        if found is None:
            found = self._known[batch] = self.utilisation(*batch)
        return found


def _batches(group: Group) -> list[Batch]:
    return [(piece.service, piece.items, group.share_percent) for piece in group.pieces]


def _sum(rows: Sequence[Used]) -> Used:
    return sum(l2 for l2, _ in rows), sum(dram for _, dram in rows)


def _less(total: Used, own: Used) -> Used:
    """What the others use; no less than nothing, as rounding may have it."""
    return max(0.0, total[0] - own[0]), max(0.0, total[1] - own[1])


def _by_service(names: Sequence[str], given: Mapping[str, float]) -> list[float]:
    unknown = set(given) - set(names)
    if unknown:
        raise ValueError(f"unknown service {min(unknown)!r}")
    if not all(0 <= value <= 1 for value in given.values()):
        raise ValueError(f"utilisations and scaled must be 0 to 1, got {dict(given)}")
    return [given.get(name, 0.0) for name in names]
