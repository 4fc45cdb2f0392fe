"""How much measured groups can save, as far as a sample shows: an estimate, not a proof.

``GroupTimes`` has no lower limit that could be proved: a regressor and errors drawn from a table
say what a group takes. So the least of many groups stands for the least of all, twice over: what
parts save by running side by side, and what a model saves by running in two parts.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from surplus.colocation.frame.planner import Demand
from surplus.colocation.overlap.features import GroupPart
from surplus.colocation.overlap.group_times import GroupTimes
from surplus.colocation.overlap.known_models import KnownModels

_SAMPLES = 400


def sampled_saving(demand: Demand, times: GroupTimes, seed: int = 0) -> float:
    """Most that groups of the scenario's models were seen to save, 0 to 1.

    Parameters
    ----------
    demand : Demand
        Batches are drawn from one item to the largest one, lengths up to the longest.
    times : GroupTimes
    seed : int
        Of the sample.
    """
    draw = np.random.default_rng(seed)
    sample = _Sample(demand, times, draw)
    services = range(len(demand.services))
    side_by_side = [
        sample.together(pair) for pair in combinations(services, 2) for _ in range(_SAMPLES)
    ]
    if len(services) > 2:
        side_by_side += [sample.together(tuple(services)) for _ in range(_SAMPLES)]
    cut = [sample.cut(service) for service in services for _ in range(_SAMPLES)]
    kept = min(side_by_side, default=1.0) * min(cut, default=1.0)
    return 1.0 - min(1.0, kept)


class _Sample:
    def __init__(self, demand: Demand, times: GroupTimes, draw: np.random.Generator) -> None:
        self._demand = demand
        self._times = times
        self._draw = draw
        self._models = KnownModels(demand.services, times.layout).of_service

    def together(self, services: tuple[int, ...]) -> float:
        """Time of parts side by side, over the sum of their times alone."""
        parts = tuple(self._part(service) for service in services)
        return self._ns(*parts) / sum(self._ns(part) for part in parts)

    def cut(self, service: int) -> float:
        """Time of a model in two parts, over its profiled time as a whole."""
        whole = self._part(service)._replace(start=0, end=self._demand.services[service].operators)
        middle = int(self._draw.integers(0, whole.end))
        parts = [whole._replace(end=middle), whole._replace(start=middle)]
        cut_ns = sum(self._ns(part) for part in parts if part.start < part.end)
        profile = self._demand.profiles[service]
        return cut_ns / profile.latency_ns(whole.items, whole.sequence, 100)

    def _part(self, service: int) -> GroupPart:
        own = self._demand.services[service]
        start, end = sorted(self._draw.choice(own.operators + 1, 2, replace=False).tolist())
        items = int(self._draw.integers(1, own.max_batch + 1))
        longest = self._demand.sequences[service]
        sequence = int(self._draw.integers(min(1, longest), longest + 1))
        return GroupPart(self._models[service], start, end, items, sequence)

    def _ns(self, *parts: GroupPart) -> float:
        return self._times.of(parts).median_ns
