"""What is asked of the policy beyond "most queries in time", and what a trial is worth for that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from surplus.colocation.foresight.ways import of_ours, on_demand
from surplus.colocation.frame.query import Outcome
from surplus.colocation.frame.service import Service
from surplus.colocation.policies.names import Options, PolicySpec
from surplus.colocation.policies.surplus.params import PricedParams
from surplus.colocation.policies.surplus.promises import check_promise

OURS = "priced"
_PROMISED = "promised"


@dataclass(frozen=True)
class Aim:
    """Options of our own rule, as far as ways are chosen by them.

    Parameters
    ----------
    promise : float or None
        That queries get. Only ways are tried that it can be made for.
    guarantee : float
        Share of its queries that each service is to have in time. Only ways are tried that know it.
    weights : tuple of (str, float)
        Value of a query by service, 1 where it is not given.

    Raises
    ------
    ValueError
        If one is out of range.
    """

    promise: float | None = None
    guarantee: float = 0.0
    weights: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        if self.promise is not None:
            check_promise(self.promise)
        PricedParams(weights=dict(self.weights), guarantee=self.guarantee)

    def ways(self, names: Sequence[str]) -> list[str]:
        """Those that may be tried."""
        if self.promise is not None:
            return on_demand(names)
        return of_ours(names) if self.guarantee else list(names)

    def told(self, spec: PolicySpec) -> PolicySpec:
        """A way that knows what is asked, if it is one of ours."""
        if spec.dispatcher != OURS:
            return spec
        own: dict[str, Any] = {"guarantee": self.guarantee, "weights": dict(self.weights)}
        if self.promise is not None:
            own["promise"] = self.promise
        kind, options = served_by(spec.dispatcher_options, own)
        return replace(spec, dispatcher=kind, dispatcher_options=options)

    def worth(
        self, services: Sequence[Service], service_of: Sequence[int], outcomes: Sequence[int]
    ) -> float:
        """Share of the value that is in time, less what the service that lacks most lacks.

        Parameters
        ----------
        service_of, outcomes : sequence of int
            By query.
        """
        known = dict(self.weights)
        values = [known.get(service.name, 1.0) for service in services]
        offered, in_time = [0] * len(services), [0] * len(services)
        for service, outcome in zip(service_of, outcomes, strict=True):
            offered[service] += 1
            in_time[service] += outcome == Outcome.IN_TIME
        rows = list(zip(values, offered, in_time, strict=True))
        most = sum(value * count for value, count, _ in rows)
        shares = (own / count for _, count, own in rows if count)
        lacks = max((self.guarantee - share for share in shares), default=0.0)
        return sum(value * own for value, _, own in rows) / (most or 1.0) - max(0.0, lacks)


OPTIONS = tuple(field.name for field in fields(Aim))
"""Those of our own rule that a choice among ways depends on."""


def served_by(way: Options, asked: Options) -> tuple[str, dict[str, Any]]:
    """Dispatcher of one of our ways, and its options, with what is asked of it."""
    return (_PROMISED if "promise" in asked else OURS), {**way, **asked}
