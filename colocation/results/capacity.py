"""How much load policies hold: the same scenario at other rates, over several seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from surplus.colocation.clairvoyant import scenario_bound
from surplus.colocation.results.capacity_search import (
    CapacityFound,
    CapacitySearchParams,
    Probe,
    search_capacity,
)
from surplus.colocation.results.comparison import check_targets, compare
from surplus.colocation.scenarios.scenario import Scenario

BOUND = "clairvoyant bound"
"""Stands for a policy: the load above which no policy can hold the target."""

_MOST_SEEDS = 1000

Counts = tuple[tuple[int, int], ...]
"""Of each service: queries offered, and answered in time."""


@dataclass(frozen=True)
class CapacityParams:
    """What counts as held.

    Parameters
    ----------
    target : float
        Share of the offered queries that must be answered in time; 0 < target <= 1.
    seeds : int
        Loads are drawn for so many seeds, from the scenario's on; 1 to 1000.
    each : bool
        Whether every service must reach the target, instead of all together.
    search : CapacitySearchParams

    Raises
    ------
    ValueError
        If a value is out of range.
    """

    target: float = 0.99
    seeds: int = 3
    each: bool = False
    search: CapacitySearchParams = field(default_factory=CapacitySearchParams)

    def __post_init__(self) -> None:
        if not 0 < self.target <= 1 or not 1 <= self.seeds <= _MOST_SEEDS:
            text = f"got {self.target} and {self.seeds}"
            raise ValueError(f"0 < target <= 1 and seeds 1 to {_MOST_SEEDS}, {text}")


@dataclass(frozen=True)
class Capacity:
    """What a policy holds.

    Parameters
    ----------
    policy : str
    rate_per_s : float
        Queries a second of all services at ``found.scale``.
    found : CapacityFound
    """

    policy: str
    rate_per_s: float
    found: CapacityFound

    def to_dict(self) -> dict[str, Any]:
        """Make plain values for JSON."""
        return {"policy": self.policy, "rate_per_s": self.rate_per_s} | asdict(self.found)


def probe(scenario: Scenario, policy: str, scale: float, params: CapacityParams) -> Probe:
    """Serve one load by a policy, or by none: ``BOUND``.

    Raises
    ------
    ValueError
        If the policy cannot serve the scenario.
    """
    louder = scenario.scaled(scale)
    seeds = range(scenario.seed, scenario.seed + params.seeds)
    runs = [_counts(replace(louder, seed=seed), policy) for seed in seeds]
    shares = [_goodput([run], params.each) for run in runs]
    goodput = _goodput(runs, params.each)
    return Probe(scale, goodput, min(shares), max(shares), goodput >= params.target)


def capacity_of(
    scenario: Scenario,
    policy: str,
    params: CapacityParams,
    told: Callable[[Probe], None] | None = None,
) -> Capacity:
    """Search the highest load that a policy holds.

    Parameters
    ----------
    told : callable, optional
        Hears each probe as it comes.

    Raises
    ------
    ValueError
        As ``probe``; or if a target cannot be met by any query alone.
    """
    check_targets(scenario)
    ask = partial(probe, scenario, policy, params=params)

    def asked(scale: float) -> Probe:
        found = ask(scale)
        if told is not None:
            told(found)
        return found

    found = search_capacity(asked, params.search)
    rate_per_s = sum(tenant.arrivals.rate_per_s for tenant in scenario.tenants)
    return Capacity(policy, found.scale * rate_per_s, found)


def _counts(scenario: Scenario, policy: str) -> Counts:
    if policy == BOUND:
        return _bound_counts(scenario)
    _, (one,) = compare(scenario, [policy])
    return tuple((tally.offered, tally.in_time) for tally in one.summary.services)


def _bound_counts(scenario: Scenario) -> Counts:
    """All together as one service: those of single services do not add up."""
    bound = scenario_bound(scenario)
    return ((bound.offered, bound.in_time),)


def _goodput(runs: Sequence[Counts], each: bool) -> float:
    by_service = [_sum(rows) for rows in zip(*runs, strict=True)]
    rows = by_service if each else [_sum(by_service)]
    return min((done / offered for offered, done in rows if offered), default=1.0)


def _sum(rows: Iterable[tuple[int, int]]) -> tuple[int, int]:
    offered, done = zip(*rows, strict=True)
    return sum(offered), sum(done)
