"""gpulet's yardstick: every way of dividing the devices is tried.

References
----------
gpulet (ATC'22), section 5.2: all combinations of whole, 50:50, 40:60 and 20:80. The paper does not
say how services are placed on a combination: here as Algorithm 1 does without dividing, in every
order of up to four services; of more in its order and in the opposite one. Algorithm 1 itself
comes first, so that its result counts, and in the opposite order last, as ``gpulet`` has it. With
``most`` not all are tried: a search that has no time, which the paper does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations_with_replacement, permutations, product

from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.planner import PLANNERS, Demand
from surplus.colocation.policies.gpulet.belief import LinearParams
from surplus.colocation.policies.gpulet.floor import SPLITS, Split
from surplus.colocation.policies.gpulet.packing import PackingParams
from surplus.colocation.policies.gpulet.scheduler import Attempt, RateParams, Scheduler, best_of

_ALL_ORDERS = 4

Order = Sequence[tuple[int, float]]
"""Services and their rates."""


@PLANNERS.register("gpulet_ideal")
class GpuletIdeal:
    """Exhaustive search over partitions; identical devices are not told apart.

    Parameters
    ----------
    interference : bool
        As of ``gpulet``.
    percentile, window_s : float
        See ``RateParams``.
    most : int
        Divisions times orders that are tried at most, evenly out of all; 0 for all of them.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """

    def __init__(
        self,
        interference: bool = True,
        percentile: float = 0.5,
        window_s: float = 0.5,
        most: int = 0,
    ) -> None:
        if most < 0:
            raise ValueError(f"most must be >= 0, got {most}")
        belief = LinearParams() if interference else None
        rates = RateParams(percentile, window_s)
        self._scheduler = Scheduler(PackingParams(), belief, rates)
        self._most = most

    def plan(self, demand: Demand) -> Deployment:
        """Stop at the first combination that serves all rates."""
        return self._scheduler.deployment(demand, best_of(self._attempts(demand)))

    def _attempts(self, demand: Demand) -> Iterator[Attempt]:
        scheduler, devices = self._scheduler, len(demand.devices)
        order = scheduler.order(demand)
        yield scheduler.attempt(demand, order, [SPLITS[0]] * devices, elastic=True)
        for splits, way in self._tried(devices, order):
            yield scheduler.attempt(demand, way, splits, elastic=False)
        yield scheduler.attempt(demand, order[::-1], [SPLITS[0]] * devices, elastic=True)

    def _tried(self, devices: int, order: Order) -> Iterable[tuple[Sequence[Split], Order]]:
        """Divisions of all devices, each with services in several orders."""
        divisions = list(combinations_with_replacement(SPLITS[::-1], devices))
        orders = list(permutations(order)) if len(order) <= _ALL_ORDERS else [order, order[::-1]]
        pairs = product(divisions, orders)
        count, most = len(divisions) * len(orders), self._most
        if not most or count <= most:
            return pairs
        wanted = {number * count // most for number in range(most)}
        return (pair for number, pair in enumerate(pairs) if number in wanted)
