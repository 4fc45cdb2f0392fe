"""What the planners of gpulets share: tables that are kept, padded rates, deployments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.frame.deployment import Assignment, Deployment, Shortfall
from surplus.colocation.frame.planner import Demand
from surplus.colocation.frame.service import Partition
from surplus.colocation.policies.gpulet.belief import Belief, LinearParams
from surplus.colocation.policies.gpulet.floor import Floor, Memory, Split
from surplus.colocation.policies.gpulet.latency_table import LatencyTable
from surplus.colocation.policies.gpulet.packing import Packing, PackingParams

_KEPT = 32


@dataclass(frozen=True)
class RateParams:
    """How much more than the mean rate is planned for.

    Parameters
    ----------
    percentile : float
        Of the number of Poisson arrivals in a window; 0.5 <= percentile < 1. 0.5 plans for the
        mean.
    window_s : float
        > 0.

    References
    ----------
    gpulet's release pads rates to a high percentile; here by the normal approximation.
    """

    percentile: float = 0.5
    window_s: float = 0.5

    def __post_init__(self) -> None:
        if not (0.5 <= self.percentile < 1 and 0 < self.window_s < float("inf")):
            text = f"got {self.percentile} and {self.window_s}"
            raise ValueError(f"0.5 <= percentile < 1 and window_s > 0, {text}")

    def padded_per_s(self, rate_per_s: float) -> float:
        """The rate to plan for."""
        return rate_per_s + NormalDist().inv_cdf(self.percentile) * sqrt(rate_per_s / self.window_s)


@dataclass(frozen=True)
class Attempt:
    """A floor with services on it, and the rates that found no place."""

    floor: Floor
    left: list[tuple[int, float]]


class Scheduler:
    """Packs demands; keeps the tables of profiles that it has seen.

    Parameters
    ----------
    params : PackingParams
    interference : LinearParams, optional
        None to believe in no interference.
    rates : RateParams
    """

    def __init__(
        self,
        params: PackingParams,
        interference: LinearParams | None,
        rates: RateParams,
    ) -> None:
        self._params = params
        self._interference = interference
        self._rates = rates
        self._known: dict[object, tuple[LatencyTable, Belief | None]] = {}

    def order(self, demand: Demand) -> list[tuple[int, float]]:
        """Services with a rate and what is planned for, by ``rate x SLO``, the least first."""
        padded = self._rates.padded_per_s
        rows = [
            (rate * service.slo_ns, k, padded(rate) / NS_PER_S)
            for k, (service, rate) in enumerate(
                zip(demand.services, demand.rates_per_s, strict=True)
            )
            if rate > 0
        ]
        return [(service, rate) for _, service, rate in sorted(rows)]

    def attempt(
        self,
        demand: Demand,
        order: Sequence[tuple[int, float]],
        splits: Sequence[Split],
        elastic: bool,
    ) -> Attempt:
        """Place services on devices that are divided in a given way."""
        table, belief = self._tables(demand)
        floor = Floor(splits, elastic, _memory(demand))
        return Attempt(floor, Packing(table, floor, self._params, belief).place(order))

    def deployment(self, demand: Demand, attempt: Attempt) -> Deployment:
        """Make partitions of gpulets in use."""
        used = list(attempt.floor.used())
        reason = f"no gpulet of {len(demand.devices)} devices serves it in time"
        return Deployment(
            partitions=tuple(Partition(place[0], cycle.percent) for place, cycle in used),
            assignments=tuple(
                Assignment(
                    turn.service,
                    index,
                    turn.batch * demand.items[turn.service],
                    int(cycle.duty_ns),
                    turn.rate_per_ns * NS_PER_S,
                )
                for index, (_, cycle) in enumerate(used)
                for turn in cycle.turns
            ),
            shortfalls=tuple(Shortfall(s, rate * NS_PER_S, reason) for s, rate in attempt.left),
        )

    def _tables(self, demand: Demand) -> tuple[LatencyTable, Belief | None]:
        """Profiles are searched once, as they do not change with the rates."""
        key = (demand.services, demand.profiles, demand.items, demand.sequences)
        found = self._known.get(key)
        if found is None:
            if len(self._known) == _KEPT:
                self._known.clear()
            linear, table = self._interference, LatencyTable(demand)
            belief = None if linear is None else Belief(demand, table, linear)
            found = self._known[key] = (table, belief)
        return found


def best_of(attempts: Iterable[Attempt]) -> Attempt:
    """The first that leaves nothing, else the one that leaves least; there must be one."""
    best: Attempt | None = None
    for attempt in attempts:
        if not attempt.left:
            return attempt
        if best is None or _left(attempt) < _left(best):
            best = attempt
    assert best is not None
    return best


def _memory(demand: Demand) -> Memory | None:
    limits = tuple(device.memory_bytes for device in demand.devices)
    if all(limit is None for limit in limits):
        return None
    return Memory(limits, tuple(service.memory_bytes for service in demand.services))


def _left(attempt: Attempt) -> float:
    return sum(rate for _, rate in attempt.left)
