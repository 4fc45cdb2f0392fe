"""Plans by trying: every way of serving runs on imagined loads, and the best one is taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import log
from warnings import warn

from surplus.colocation.foresight.aim import Aim
from surplus.colocation.foresight.imagined import (
    believed_interference,
    believed_truth,
    imagined_load,
)
from surplus.colocation.foresight.race import Heat, winner
from surplus.colocation.foresight.ways import of_papers, on_demand, told, way, ways_for
from surplus.colocation.frame.controller import PolicyError
from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.planner import PLANNERS, Demand
from surplus.colocation.frame.predictor import PREDICTORS
from surplus.colocation.policies.surplus.params import check_weights
from surplus.colocation.simulation.simulator import Setting, simulate

_HEATS = (
    Heat(99, 250, 1.0),
    Heat(10, 700, 1.5),
    Heat(5, 1500, 1.0),
    Heat(5, 600, 1.0, neighbours=2.0),
    Heat(3, 3000, 1.0, targets=12),
)
"""In the fourth neighbours cost twice what is believed: a way that is a little better but lives off
small batches side by side is not worth what it loses where they do. The last is long: in overload
some ways fall back for many targets before queues are what they come to."""
_LEAD = 0.005
_HEATS_AGAIN = (Heat(99, 250, 1.0), Heat(4, 700, 1.5))
_LEAD_AGAIN = 0.02
"""Going over costs something: queries that ran in part, times that were learnt."""
_RATE_STEP = 1.25
"""Rates closer than this are one when ways are tried again: they wander, trying takes seconds."""
_SEED = 20_261


@PLANNERS.register("foresight")
class Foresight:
    """Says in the deployment's ``mode`` which way it is for.

    Asked again it tries again, but stays with its way unless one of our own is better by two points
    on devices that are not divided, as the rates of the last seconds are not those to come; in a
    hurry it stays without trying.

    Parameters
    ----------
    path : str, optional
        A latency model of groups, as of the predictor ``overlap``.
    promise, guarantee, weights : optional
        Of ``Aim``. With a promise it stays with its way without trying: what is learnt to be safe
        under one is not so under another.

    Raises
    ------
    ValueError
        If one is out of range, or a weight is of no service.
    """

    def __init__(
        self,
        path: str | None = None,
        promise: float | None = None,
        guarantee: float = 0.0,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        self._path = path
        self._aim = Aim(promise, guarantee, tuple(sorted((weights or {}).items())))

    def plan(self, demand: Demand) -> Deployment:
        """Try, choose, and let the chosen way's planner plan.

        Raises
        ------
        ValueError
            If no way can serve.
        """
        check_weights(dict(self._aim.weights), demand.services)
        name = self._way(demand)
        spec = way(name)
        planner = PLANNERS.make(spec.planner, **spec.planner_options)
        return replace(planner.plan(demand), mode=name)

    def _way(self, demand: Demand) -> str:
        now = demand.previous.mode if demand.previous is not None else ""
        if now and (demand.hurried or self._aim.promise is not None):
            return now
        asked = replace(demand, previous=None, hurried=False)
        if now:
            asked = replace(asked, rates_per_s=_rounded(demand.rates_per_s))
        return _chosen(asked, self._path, self._aim, now)


def _rounded(rates_per_s: Sequence[float]) -> tuple[float, ...]:
    """To powers of the step; 0 stays 0."""
    return tuple(
        _RATE_STEP ** round(log(rate) / log(_RATE_STEP)) if rate > 0 else 0.0
        for rate in rates_per_s
    )


@lru_cache(maxsize=1024)
def _chosen(demand: Demand, path: str | None, aim: Aim, now: str) -> str:
    """Of all ways; remembered, as a server and its tests plan for the same demand many times."""
    ways = aim.ways(ways_for(demand, path is not None))
    told_ = {} if path is None else {"path": path}
    predictor = PREDICTORS.make("foresight", demand.services, demand.profiles, **told_)
    truth = believed_truth(demand, predictor, path is not None, _SEED)
    heats = _HEATS_AGAIN if now else _HEATS
    settings: list[Setting] = []

    def trial(name: str, number: int) -> float | None:
        if number == len(settings):
            heat = heats[number]
            load = imagined_load(demand, heat.queries, _SEED + number, heat.burst, heat.targets)
            beside = believed_interference(demand, heat.neighbours)
            settings.append(Setting(demand, load, truth, beside))
        setting = settings[number]
        try:
            run = simulate(setting, told(aim.told(way(name)), "foresight", told_))
        except ValueError:
            return None
        except PolicyError as error:  # a bug, for which a server does not stop
            warn(f"way of serving {name!r} is passed over: {error}", stacklevel=1)
            return None
        return aim.worth(demand.services, setting.load.service.tolist(), run.record.outcome)

    if not now:
        return winner(ways, trial, heats, _LEAD, of_papers(ways))
    others = (name for name in on_demand(ways) if name != now)
    return winner([now, *others], trial, heats, _LEAD_AGAIN)
