"""An upper bound on the queries that any policy answers in time.

Why nothing beats it. Take any run. Charge the share times time that each batch held to the queries
of it that were answered in time: each of them gets at least its least work (``least_work.py``), all
of it between its arrival and its deadline, and at no moment do devices hold more than they have.
So works ``y = w`` for those queries, 0 for the others, are a feasible flow from queries to moments,
and the number of queries is the sum of ``y / w``. The bound is the largest such sum over all flows
with ``y <= w``, fractions included. Feasible flows are a polymatroid whose rank ``most_work``
computes, and over a polymatroid the greedy order, least ``w`` first, is optimal (Edmonds 1970).

It knows the future and the luck, splits queries, interrupts them at no cost, spreads one over all
devices, gives every batch the best share and size, and forgets memory and neighbours: a policy may
be optimal and stay below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor, inf
from typing import Any

import numpy as np

from surplus.colocation.clairvoyant.cheapest_cores import cheapest
from surplus.colocation.clairvoyant.least_work import FULL_PERCENT, LeastWork, in_levels
from surplus.colocation.clairvoyant.most_work import most_work
from surplus.colocation.clairvoyant.sampled_floor import sampled_saving
from surplus.colocation.frame.load import Load
from surplus.colocation.frame.planner import Demand
from surplus.colocation.randomness.noise import Noise
from surplus.colocation.scenarios.scenario import Scenario

_LEVELS = 24
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Bound:
    """What no policy exceeds.

    Parameters
    ----------
    offered, in_time : int
        Queries, and how many of them at most are answered in time.
    services : tuple of int
        The same for each service alone, as if it had all devices.
    need : tuple of float
        Devices that each service's least work takes on the mean.
    proved : bool
        False where what groups save was sampled: then it is an estimate, likely too high.
    """

    offered: int
    in_time: int
    services: tuple[int, ...]
    need: tuple[float, ...]
    proved: bool = True

    @property
    def goodput(self) -> float:
        """Share of the offered queries; 1 if there were none."""
        return self.in_time / self.offered if self.offered else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Make plain values for JSON."""
        return {
            "offered": self.offered,
            "in_time": self.in_time,
            "goodput": self.goodput,
            "services": list(self.services),
            "need": list(self.need),
            "proved": self.proved,
        }


def scenario_bound(scenario: Scenario, load: Load | None = None) -> Bound:
    """Bound of a scenario; an estimate if its truth is measured groups (``sampled_floor.py``).

    Parameters
    ----------
    load : Load, optional
        The scenario's, where it has been drawn already.
    """
    load = scenario.load() if load is None else load
    demand = scenario.demand()
    truth = (scenario.noise, scenario.seed)
    if scenario.group_times is None:
        return clairvoyant_bound(demand, load, *truth, scenario.overlap)
    saving = sampled_saving(demand, scenario.group_times)
    return replace(clairvoyant_bound(demand, load, *truth, saving), proved=False)


def clairvoyant_bound(
    demand: Demand, load: Load, noise: Noise, seed: int, overlap: float = 0.0
) -> Bound:
    """Bound for a load whose truth is ``ProfileTruth`` with these values.

    Returns
    -------
    Bound
        Valid with any interference, failure and change, too: they only take away.
    """
    own = [load.service == index for index in range(len(demand.services))]
    works = np.full(len(load), inf)
    for index, mask in enumerate(own):
        service = demand.services[index]
        profile = cheapest(demand.profiles[index], demand.devices)
        least = LeastWork(service, profile, noise, seed, overlap, load, index)
        works[mask] = in_levels(least.of_queries(), _LEVELS)
    speed = FULL_PERCENT * len(demand.devices)
    return Bound(
        offered=len(load),
        in_time=_most_queries(load, works, np.ones(len(load), bool), speed),
        services=tuple(_most_queries(load, works, mask, speed) for mask in own),
        need=tuple(_need(works[mask], load.duration_ns) for mask in own),
    )


def _most_queries(
    load: Load, works: np.ndarray[Any, Any], mask: np.ndarray[Any, Any], speed: int
) -> int:
    """Greedy over the polymatroid, least work first."""
    possible = mask & (works < inf)
    whole = works[possible]
    tasks = (load.arrival_ns[possible], load.deadline_ns[possible])

    def rank(least: float) -> int:
        """Most work of the tasks of at most so much each."""
        kept = whole <= least
        opens, closes = (column[kept].tolist() for column in tasks)
        return most_work(opens, closes, np.floor(whole[kept]).astype(np.int64).tolist(), speed)

    levels = sorted(set(whole.tolist()))
    return _greedy(levels, [int((whole == level).sum()) for level in levels], rank)


def _greedy(levels: Sequence[float], counts: Sequence[int], rank: Any) -> int:
    """Sum of the gains of nested sets, each over its work; all of them if all fit."""
    total = sum(floor(level) * count for level, count in zip(levels, counts, strict=True))
    if not levels or rank(levels[-1]) == total:
        return sum(counts)
    queries, before = 0.0, 0
    for level, count in zip(levels, counts, strict=True):
        after = rank(level)
        queries += count if floor(level) == 0 else (after - before) / floor(level)
        before = after
    return floor(queries + _ROUNDING)


def _need(works: np.ndarray[Any, Any], duration_ns: int) -> float:
    return float(works[works < inf].sum() / (FULL_PERCENT * duration_ns))
