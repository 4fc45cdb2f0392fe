"""What a planner of a cluster plans for."""

from __future__ import annotations

from dataclasses import dataclass

from surplus.cluster.frame.cluster_model import ClusterModel, check_fits
from surplus.cluster.frame.cluster_plan import ClusterPlan
from surplus.cluster.frame.fleet import Fleet


@dataclass(frozen=True)
class ClusterDemand:
    """Models, rates and nodes.

    Parameters
    ----------
    models : tuple of ClusterModel
    rates_per_s : tuple of float
        Queries a second to plan for, by model; 0 for a model that needs no replica.
    fleet : Fleet
    previous : ClusterPlan, optional
        The one that serves now; of the same models and fleet.
    lost : frozenset of int
        Nodes that nothing can be placed on now; what the previous plan has there is gone.

    Raises
    ------
    ValueError
        If a rate is none, their number is not the models', or a lost node is none of the fleet.
    """

    models: tuple[ClusterModel, ...]
    rates_per_s: tuple[float, ...]
    fleet: Fleet
    previous: ClusterPlan | None = None
    lost: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if len(self.models) != len(self.rates_per_s):
            raise ValueError(f"{len(self.models)} models have {len(self.rates_per_s)} rates")
        for model, rate_per_s in zip(self.models, self.rates_per_s, strict=True):
            if not 0 <= rate_per_s < float("inf"):
                text = f"a rate must be >= 0 and finite, got {rate_per_s}"
                raise ValueError(f"model {model.name!r}: {text}")
        strangers = sorted(node for node in self.lost if not 0 <= node < len(self.fleet.nodes))
        if strangers:
            text = f"there are {len(self.fleet.nodes)}"
            raise ValueError(f"lost node {strangers[0]} is none of the fleet's; {text}")

    def check(self) -> None:
        """Check that each model fits some node; once, as it does not depend on rates.

        Raises
        ------
        ValueError
            As ``check_fits``.
        """
        used = sorted({node.kind for node in self.fleet.nodes})
        check_fits(self.models, [self.fleet.kinds[kind] for kind in used])
