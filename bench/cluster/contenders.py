"""Who scales a cluster in ``bench cluster_day``: planners, references, and their settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surplus.cluster import CLUSTER_PLANNERS, ClusterDemand, ClusterModel, Fleet
from surplus.cluster.control.autoscaler import Autoscaler, Fixed, Following
from surplus.cluster.control.rate_estimate import MovingMean, MovingMeanParams, RecentPeak
from surplus.cluster.control.sleep import Sleep
from surplus.cluster.queueing.overflow import Floats

IDLE_MINUTES = 10
"""Without queries after which a model is unloaded, by everybody."""


@dataclass(frozen=True)
class Day:
    """What every contender serves.

    Parameters
    ----------
    models : tuple of ClusterModel
    fleet : Fleet
    rates_per_s : array of float, (minutes, models)
    counts : array of int, (minutes, models)
    prices : array of float, (models,)
        The least of a query in time.
    """

    models: tuple[ClusterModel, ...]
    fleet: Fleet
    rates_per_s: Floats
    counts: np.ndarray[tuple[int, int], np.dtype[np.int64]]
    prices: Floats

    @property
    def peaks_per_s(self) -> Floats:
        """Of each model's minutes."""
        peaks: Floats = self.counts.max(axis=0) / 60.0
        return peaks


def planned(planner: str, headroom: float) -> Callable[[Day], Autoscaler]:
    """A planner that is asked again as means move."""

    def make(day: Day) -> Autoscaler:
        params = MovingMeanParams(headroom=headroom)
        estimate = MovingMean(np.zeros(len(day.models)), params)
        return _following(day, planner, estimate)

    return make


def reactive(utilisation: float, whole: bool) -> Callable[[Day], Autoscaler]:
    """Replicas of each model by the peak of five minutes, as KServe's autoscalers have it."""

    def make(day: Day) -> Autoscaler:
        options = {"utilisation": utilisation, "whole": whole}
        return _following(day, "per_model", RecentPeak(), **options)

    return make


def static(day: Day) -> Autoscaler:
    """The plan of ``surplus`` for every model's busiest minute, kept all day."""
    rates = tuple(day.peaks_per_s.tolist())
    demand = ClusterDemand(day.models, rates, day.fleet)
    return Fixed(CLUSTER_PLANNERS.make("surplus").plan(demand))


def _following(
    day: Day, planner: str, estimate: MovingMean | RecentPeak, **options: object
) -> Autoscaler:
    sleep = Sleep(day.models, day.fleet.kinds, IDLE_MINUTES)
    made = CLUSTER_PLANNERS.make(planner, **options)
    return Following(made, day.models, day.fleet, estimate, sleep)


CONTENDERS: dict[str, dict[str, Callable[[Day], Autoscaler]]] = {
    "surplus": {f"headroom {h:g}": planned("surplus", h) for h in (0.05,)},
    "dstack": {f"headroom {h:g}": planned("dstack", h) for h in (0.05,)},
    "squishy": {f"headroom {h:g}": planned("squishy", h) for h in (0.05,)},
    "gpulet": {f"headroom {h:g}": planned("gpulet", h) for h in (0.05,)},
    "per model": {f"utilisation {u:g}": reactive(u, False) for u in (0.6, 0.8, 1.0)},
    "per model, whole GPUs": {f"utilisation {u:g}": reactive(u, True) for u in (0.6, 0.8, 1.0)},
    "static": {"peaks": static},
}
"""By name, by setting."""

REFERENCES = ("per model", "per model, whole GPUs")
"""What the bar is against: what KServe and Ray Serve do, with shares of GPUs and without."""

FROM_NOTHING = ("squishy", "gpulet")
"""Planners that plan from nothing each minute: on large clusters a day of them takes hours."""
