"""SD: tasks that hardly slow down overflow to the host (SIR+ section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

from surplus.placement.ordering import Order, check_alpha, check_order, planned
from surplus.placement.overflow import slowdown_overflow
from surplus.placement.placement import Placement
from surplus.placement.policy import register
from surplus.placement.problem import Problem


@dataclass(frozen=True)
class SDParams:
    """Options of ``sd``.

    Parameters
    ----------
    alpha_ns : int
        A task goes to the host if it takes less than this longer there; the paper's is 100 us.
    order : {"rank", "topological"}
        Planned start order, see ``ordering.planned``.
    """

    alpha_ns: int = 100_000
    order: Order = "rank"

    def __post_init__(self) -> None:
        check_alpha(self.alpha_ns)
        check_order(self.order)


@register("sd", SDParams)
class SD:
    """Every task with a marginal slowdown goes to the host, whatever its data."""

    def __init__(self, params: SDParams | None = None) -> None:
        self._params = params or SDParams()

    def place(self, problem: Problem) -> Placement:
        """Move tasks whose service time grows by less than the threshold."""
        devices = slowdown_overflow(problem, self._params.alpha_ns)
        return planned(problem, devices, "sd", self._params.order)
