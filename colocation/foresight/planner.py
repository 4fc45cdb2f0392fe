"""Plans by trying: every way of serving runs on imagined loads, and the best one is taken."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from surplus.colocation.foresight.imagined import (
    believed_interference,
    believed_truth,
    imagined_load,
)
from surplus.colocation.foresight.race import Heat, winner
from surplus.colocation.foresight.ways import told, way, ways_for
from surplus.colocation.frame.controller import PolicyError
from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.load import Load
from surplus.colocation.frame.planner import PLANNERS, Demand
from surplus.colocation.frame.predictor import PREDICTORS
from surplus.colocation.frame.query import Outcome
from surplus.colocation.simulation.simulator import Setting, simulate

_HEATS = (Heat(99, 250, 1.0), Heat(8, 700, 1.5), Heat(4, 1500, 1.0))
_LEAD = 0.01
_SEED = 20_261


@PLANNERS.register("foresight")
class Foresight:
    """Says in the deployment's ``mode`` which way it is for; asked again, it stays with its way.

    Parameters
    ----------
    path : str, optional
        A latency model of groups, as of the predictor ``overlap``.
    """

    def __init__(self, path: str | None = None) -> None:
        self._path = path

    def plan(self, demand: Demand) -> Deployment:
        """Try, choose, and let the chosen way's planner plan.

        Raises
        ------
        ValueError
            If no way can serve.
        """
        now = demand.previous.mode if demand.previous is not None else ""
        name = now or _chosen(replace(demand, previous=None), self._path)
        spec = way(name)
        planner = PLANNERS.make(spec.planner, **spec.planner_options)
        return replace(planner.plan(demand), mode=name)


@lru_cache(maxsize=32)
def _chosen(demand: Demand, path: str | None) -> str:
    """Of all ways; remembered, as a server and its tests plan for the same demand many times."""
    ways = ways_for(demand, path is not None)
    told_ = {} if path is None else {"path": path}
    predictor = PREDICTORS.make("foresight", demand.services, demand.profiles, **told_)
    truth = believed_truth(demand, predictor, path is not None, _SEED)
    interference = believed_interference(demand)
    loads: list[Load] = []

    def trial(name: str, number: int) -> float | None:
        if number == len(loads):
            heat = _HEATS[number]
            loads.append(imagined_load(demand, heat.queries, _SEED + number, heat.burst))
        setting = Setting(demand, loads[number], truth, interference)
        try:
            run = simulate(setting, told(way(name), "foresight", told_))
        except (ValueError, PolicyError):
            return None
        outcome = run.record.outcome
        return sum(one == Outcome.IN_TIME for one in outcome) / max(1, len(outcome))

    return winner(ways, trial, _HEATS, _LEAD)
