"""``robust``: of several policies' plans the one whose makespan is short in most cases.

A plan that fits together like clockwork is the shortest only as long as all times are what they
were measured to be. This one asks what the plans come to under noise (``noise.py``) and takes the
least quantile: by default that under which 95 of 100 queries stay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from surplus.placement.candidates import check_proposers, proposals
from surplus.placement.evaluator import arrays, compiled, placement_at
from surplus.placement.noise import NoiseParams, NoisyProblem
from surplus.placement.ordering import order_of, planned_order
from surplus.placement.placement import Placement
from surplus.placement.policy import register
from surplus.placement.problem import Problem

_NAME = "robust"


@dataclass(frozen=True)
class RobustParams:
    """Options of ``robust``.

    Parameters
    ----------
    quantile : float
        Of the makespans, between 0 and 1.
    policies : tuple of str
        Who proposes.
    deviation, measured, samples, seed
        As ``NoiseParams``.
    """

    quantile: float = 0.95
    policies: tuple[str, ...] = ("auto", "comm_sd_best", "heft", "peft", "comm_sd", "single")
    deviation: float = 0.2
    measured: bool = True
    samples: int = 50
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.quantile < 1:
            raise ValueError(f"quantile must be between 0 and 1, got {self.quantile}")
        check_proposers(self.policies, _NAME)
        self.noise()

    def noise(self) -> NoiseParams:
        """How times vary."""
        return NoiseParams(self.deviation, self.measured, self.samples, self.seed)


@register(_NAME, RobustParams)
class Robust:
    """Asks each policy, with its own defaults, and judges by samples."""

    def __init__(self, params: RobustParams | None = None) -> None:
        self._params = params or RobustParams()

    def place(self, problem: Problem) -> Placement:
        """Choose; ties go to the policy that is named first.

        Raises
        ------
        InfeasibleError
            The first policy's, if all fail.
        """
        noisy = NoisyProblem(problem, self._params.noise())

        def late_ns(placement: Placement) -> float:
            found_ns = noisy.makespans_ns(placement)
            return float(np.quantile(found_ns, self._params.quantile, method="higher"))

        found = min(proposals(problem, self._params.policies), key=late_ns)
        # What is urgent by the way that is left depends less on instants than the planned order.
        places, _ = arrays(problem, found)
        by_rank = order_of(-compiled(problem).upward_ranks_ns(places))
        ranks = (by_rank, planned_order(problem, places))
        orders = [placement_at(problem, places.tolist(), row.tolist(), _NAME) for row in ranks]
        return replace(min((found, *orders), key=late_ns), policy=_NAME)
