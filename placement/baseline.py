"""The baseline: every task on its default device, as ONNX Runtime places it."""

from __future__ import annotations

from dataclasses import dataclass

from surplus.placement.ordering import Order, check_order, planned
from surplus.placement.overflow import default_devices
from surplus.placement.placement import Placement
from surplus.placement.policy import register
from surplus.placement.problem import Problem


@dataclass(frozen=True)
class SingleParams:
    """Options of ``single``.

    Parameters
    ----------
    order : {"topological", "rank"}
        Planned start order; ONNX Runtime's is topological.
    """

    order: Order = "topological"

    def __post_init__(self) -> None:
        check_order(self.order)


@register("single", SingleParams, keeps_devices=True)
class Single:
    """Everything where today's runtime puts it (SIR+ section 3), and nowhere else."""

    def __init__(self, params: SingleParams | None = None) -> None:
        self._params = params or SingleParams()

    def place(self, problem: Problem) -> Placement:
        """Choose the default devices."""
        return planned(problem, default_devices(problem), "single", self._params.order)
