"""What limits how many queries a second each placement lets through, beside what none is below."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from surplus.placement.bounds import check_bound
from surplus.placement.memory import capacities, memory_use
from surplus.placement.occupancy import busiest_of
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.simulator import simulate


@dataclass(frozen=True)
class LoadRow:
    """One policy's placement while queries overlap.

    Parameters
    ----------
    busiest : str
        The resource that limits it: a device's lanes, its submitting thread, or a link.
    load_ns, bound_ns : int
        What that does for one query; no placement's busiest resource does less.
    memory : str
        The limited memory that one query fills most; empty where none is limited.
    memory_share : float
        How much of it one query takes, constants included. The rest is for those beside it.
    """

    policy: str
    busiest: str
    load_ns: int
    bound_ns: int
    memory: str
    memory_share: float

    @property
    def gap(self) -> float:
        """By how much less the load could be at most, as a share of it."""
        return (self.load_ns - self.bound_ns) / self.load_ns if self.load_ns else 0.0

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "gap": self.gap}


def load_table(problem: Problem, placements: Iterable[Placement], bound_ns: int) -> list[LoadRow]:
    """A row a placement, in their order.

    Parameters
    ----------
    bound_ns : int
        What no placement's load is below, proven by whoever.

    Raises
    ------
    ContradictionError
        If a load is below the bound.
    """
    return [_row(problem, placement, bound_ns) for placement in placements]


def _row(problem: Problem, placement: Placement, bound_ns: int) -> LoadRow:
    busiest, load_ns = busiest_of(problem, placement)
    check_bound(bound_ns, load_ns, f"{problem.name}, load of {placement.policy}")
    memory, share = _fullest(problem, placement)
    return LoadRow(placement.policy, busiest, load_ns, bound_ns, memory, share)


def _fullest(problem: Problem, placement: Placement) -> tuple[str, float]:
    limits = capacities(problem)
    if not limits:
        return "", 0.0
    uses = memory_use(problem, placement, simulate(problem, placement))
    shares = {name: uses[name].peak_bytes / max(1, limit) for name, limit in limits.items()}
    name = min(shares, key=lambda name: (-shares[name], name))
    return name, shares[name]
