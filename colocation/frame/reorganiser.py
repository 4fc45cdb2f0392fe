"""Asks a planner again while its deployment serves, and says when the answer takes over.

References
----------
gpulet (ATC'22), section 4.6: the new partitions are prepared while the old ones serve; scheduled
every 20 s, a careful estimate of what preparing takes. Departure: the memory of partitions that
are being prepared is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from surplus.colocation.frame.change import Change, ChangeKind
from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.frame.deployment import Deployment, check_deployment
from surplus.colocation.frame.planner import Demand, Planner
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.rate_monitor import RateMonitor
from surplus.colocation.frame.record import Record
from surplus.colocation.frame.reduced_demand import plan_without
from surplus.colocation.frame.service import Partition
from surplus.colocation.frame.stage import Stage

Prepare = Callable[[Sequence[Partition]], None]
"""Told of all partitions so far, each at its index, when new ones are to be prepared."""

_SOON_NS = NS_PER_S
"""A plan that may be replaced sooner is not worth that a planner takes its time."""


@dataclass(frozen=True)
class ReorganisationParams:
    """When to plan again, and what it costs.

    Parameters
    ----------
    period_ns : int
        How often the rates are looked at; > 0.
    reorganisation_ns : int
        From a plan to its take-over, during which the old one serves; >= 0.
    threshold : float
        Relative change of a rate, against the planned one, that is worth a new plan; >= 0.
    window_ns, windows : int
        Of the estimate of the rates, see ``RateMonitor``.

    Raises
    ------
    ValueError
        If a value is out of range.
    """

    period_ns: int = 20 * NS_PER_S
    reorganisation_ns: int = 10 * NS_PER_S
    threshold: float = 0.1
    window_ns: int = NS_PER_S // 2
    windows: int = 40

    def __post_init__(self) -> None:
        if min(self.period_ns, self.window_ns, self.windows) < 1 or self.reorganisation_ns < 0:
            raise ValueError("period, window and windows must be > 0, the reorganisation >= 0")
        if not 0 <= self.threshold < float("inf"):
            raise ValueError(f"threshold must be >= 0 and finite, got {self.threshold}")


class Reorganiser:
    """Watches rates and changes, and holds the plan that is being prepared.

    Parameters
    ----------
    planner : Planner
    demand : Demand
        Of all services and devices; its rates are believed until others are seen.
    params : ReorganisationParams
    prepare : callable
        Of the executor.
    until_ns : int, optional
        No period begins later; None for ever.

    Attributes
    ----------
    wake_ns : int or None
        When it wants to be asked next.
    coming : frozenset of int
        Services that the plan in preparation has a place for.
    """

    def __init__(
        self,
        planner: Planner,
        demand: Demand,
        params: ReorganisationParams,
        prepare: Prepare,
        until_ns: int | None = None,
    ) -> None:
        self._planner = planner
        self._demand = demand
        self._planned_per_s = demand.rates_per_s
        self._params = params
        self._prepare = prepare
        self._until_ns = until_ns
        self._monitor = RateMonitor(demand.rates_per_s, params.window_ns, params.windows)
        self._pending: Deployment | None = None
        self._ready_ns = 0
        self._next_ns = self._unless_late(params.period_ns)

    @property
    def wake_ns(self) -> int | None:
        """The take-over of the plan in preparation, else the next period."""
        return self._next_ns if self._pending is None else self._ready_ns

    @property
    def coming(self) -> frozenset[int]:
        """Nobody, unless a plan is being prepared."""
        return frozenset() if self._pending is None else self._pending.served

    def arrived(self, query: Query) -> None:
        """See a query, served or not."""
        self._monitor.arrived(query.service, query.arrival_ns)

    def changed(self, change: Change, stage: Stage, record: Record, now_ns: int) -> None:
        """Plan at once for what is left; a plan in preparation is void."""
        if change.kind is ChangeKind.SERVICE_CAME:
            self._monitor.reset(change.subject, self._demand.rates_per_s[change.subject])
        self._plan(stage, record, now_ns)

    def step(self, stage: Stage, record: Record, now_ns: int) -> bool:
        """Take over what is ready, and plan again if it is time; return whether it took over."""
        took_over = self._pending is not None and now_ns >= self._ready_ns
        if self._pending is not None and took_over:
            stage.take_over(self._pending)
            self._pending = None
        if self._pending is None and self._next_ns is not None and now_ns >= self._next_ns:
            self._next_ns = self._unless_late(self._next_ns + self._params.period_ns)
            if self._moved(stage, now_ns):
                self._plan(stage, record, now_ns)
        return took_over

    def _unless_late(self, when_ns: int) -> int | None:
        return None if self._until_ns is not None and when_ns > self._until_ns else when_ns

    def _moved(self, stage: Stage, now_ns: int) -> bool:
        """Whether a rate of a service that is here differs enough from the planned one."""
        seen = self._monitor.rates_per_s(now_ns)
        return any(
            abs(now - planned) > self._params.threshold * planned
            for k, (now, planned) in enumerate(zip(seen, self._planned_per_s, strict=True))
            if k not in stage.absent
        )

    def _plan(self, stage: Stage, record: Record, now_ns: int) -> None:
        rates_per_s = self._monitor.rates_per_s(now_ns)
        hurried = self._demand.hurried or self._params.period_ns < _SOON_NS
        demand = replace(self._demand, rates_per_s=rates_per_s, hurried=hurried)
        began_ns = record.timer()
        found = plan_without(self._planner, demand, stage.absent, stage.lost, stage.target)
        record.planned(record.timer() - began_ns)
        check_deployment(found, demand.services, demand.devices)
        self._planned_per_s = rates_per_s
        placed = stage.placed(found)
        target = stage.target
        same = placed.assignments == target.assignments and placed.mode == target.mode
        self._pending = None if same else placed
        self._ready_ns = now_ns + self._params.reorganisation_ns
        if not same:
            self._prepare(stage.view.partitions)
