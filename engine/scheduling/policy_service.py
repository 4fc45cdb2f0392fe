"""Several models behind one policy, on an event loop: queries in, answers or clear refusals out."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from itertools import count
from typing import Any, NamedTuple

from surplus.colocation.clairvoyant.recent_bound import Recent, RecentBound
from surplus.colocation.frame.change import Change, ChangeKind
from surplus.colocation.frame.controller import Controller
from surplus.colocation.frame.event import Event, EventKind
from surplus.colocation.frame.planner import Demand
from surplus.colocation.frame.query import Outcome, Query
from surplus.colocation.frame.reorganiser import ReorganisationParams, Reorganiser
from surplus.colocation.policies.names import PolicySpec
from surplus.colocation.policies.setup import set_up
from surplus.engine.devices.machines import loss_of
from surplus.engine.errors import DeadlineError, EngineError, ExecutionError, QueueFullError
from surplus.engine.runtime.held_lanes import stall_of
from surplus.engine.scheduling.backend import EngineBackend
from surplus.engine.scheduling.live_model import LiveModel
from surplus.engine.scheduling.loop_executor import Clock, LoopExecutor
from surplus.engine.scheduling.place import Place
from surplus.engine.scheduling.serving_record import QueryEnd, ServingRecord
from surplus.engine.scheduling.stacking import Arrays

_log = logging.getLogger(__name__)

_MS = 1e6


class Submitted(NamedTuple):
    """A query in the service, and the future of its answer."""

    query: Query
    answer: asyncio.Future[dict[str, Any]]


class PolicyService:
    """A controller with an event loop instead of a load. Loop thread only.

    Parameters
    ----------
    demand : Demand
        Services, profiles, devices; a planner that looks at rates is asked again as they change.
    policy : PolicySpec
    models : sequence of LiveModel
        By service.
    places : sequence of Place
        By device.
    now_ns : callable
        Monotonic; deadlines of queries are on this clock.

    Attributes
    ----------
    lost : dict of int to str
        Devices that were lost, and why: the policy goes on without them.

    Raises
    ------
    ValueError
        If the policy cannot be set up for this demand.
    """

    def __init__(
        self,
        demand: Demand,
        policy: PolicySpec,
        models: tuple[LiveModel, ...],
        places: tuple[Place, ...],
        now_ns: Clock = time.monotonic_ns,
    ) -> None:
        setup = set_up(demand, policy)
        self.deployment = setup.deployment
        self.models = models
        self.lost: dict[int, str] = {}
        self._places = places
        self._services = demand.services
        self._now_ns = now_ns
        self._ids = count()
        self._numbers = [count() for _ in demand.services]
        self._inputs: dict[int, Arrays] = {}
        self._outputs: dict[int, dict[str, Any]] = {}
        self._waiting: dict[int, Submitted] = {}
        self._recent = RecentBound(demand)
        self._broken = ""
        self.record = ServingRecord(len(models), self._ended)
        self._backend = EngineBackend(models, places, self._inputs_of, self._computed)
        self._backend.prepare(setup.deployment.partitions)
        loop = asyncio.get_running_loop()
        self._executor = LoopExecutor(self._backend, self._handle, loop, now_ns)
        reorganiser = None
        if policy.planner != "whole":
            params, hurried = ReorganisationParams(), replace(demand, hurried=True)
            reorganiser = Reorganiser(setup.planner, hurried, params, self._executor.prepare)
        self._controller = Controller(
            demand.services,
            setup.deployment,
            setup.dispatcher,
            self._executor,
            self.record,
            reorganiser,
        )

    def submit(
        self,
        service: int,
        inputs: Arrays,
        items: int = 1,
        deadline_ns: int | None = None,
        priority: int = 0,
    ) -> Submitted:
        """Let a query arrive now; it may be answered or refused before this returns.

        Parameters
        ----------
        items : int
            Rows of the inputs.
        deadline_ns : int, optional
            Its own; the earlier of it and the service's target counts.
        priority : int
            Larger is more urgent.
        """
        if self._broken:
            raise ExecutionError(self._broken)
        now_ns = self._now_ns()
        due_ns = now_ns + self._services[service].slo_ns
        if deadline_ns is not None:
            due_ns = min(due_ns, deadline_ns)
        number = next(self._numbers[service])
        query = Query(next(self._ids), service, number, now_ns, due_ns, items, 0, priority)
        submitted = Submitted(query, asyncio.get_running_loop().create_future())
        self._inputs[query.id] = inputs
        self._waiting[query.id] = submitted
        self._recent.arrived(query)
        self._handle(Event(now_ns, EventKind.ARRIVAL, query))
        return submitted

    def abandon(self, query: Query) -> None:
        """Nobody waits for a query any more: when its turn comes, nothing is computed for it."""
        if query.id in self._waiting:
            self._backend.abandon(query)

    def leave(self, service: int) -> None:
        """Take a service away: its queries that wait are refused, what runs finishes."""
        self._change(ChangeKind.SERVICE_LEFT, service)

    def come(self, service: int) -> None:
        """Bring a service back that has left."""
        self._change(ChangeKind.SERVICE_CAME, service)

    @property
    def failure(self) -> str:
        """Why every query fails: all devices are lost or have no lane left; empty if one has."""
        reasons = [
            self.lost.get(device, "") or stall_of(place.machine, {place.spec.name})
            for device, place in enumerate(self._places)
        ]
        return "; ".join(reasons) if all(reasons) else ""

    @property
    def devices(self) -> int:
        """How many are not lost."""
        return len(self._places) - len(self.lost)

    def recent(self) -> Recent:
        """What became of the queries of the last seconds, and the most that any policy answers."""
        return self._recent.look(self._now_ns())

    def close(self) -> None:
        """Answer nothing more; no query is in flight."""
        self._executor.close()

    def _change(self, kind: ChangeKind, service: int) -> None:
        self._handle(Event(self._now_ns(), EventKind.CHANGE, change=Change(kind, service)))

    def _inputs_of(self, query: Query) -> Arrays:
        return self._inputs[query.id]

    def _computed(self, query: Query, outputs: dict[str, Any]) -> None:
        if query.id in self._waiting:  # else its device was lost before its end was looked at
            self._outputs[query.id] = outputs

    def _handle(self, event: Event) -> None:
        """Hand an event to the controller; a policy that breaks fails all queries, not silently."""
        if self._broken:
            return
        try:
            self._controller.handle(event)
        except Exception as error:
            _log.exception("the policy failed")
            self._broken = f"the policy failed: {type(error).__name__}: {error}"
            for submitted in list(self._waiting.values()):
                self._finish(submitted.query, ExecutionError(self._broken))
        if event.kind is EventKind.FAILED:
            self._look_for_losses()

    def _look_for_losses(self) -> None:
        """Tell the controller once of each device that is lost."""
        for device, place in enumerate(self._places):
            why = loss_of(place.machine, {place.spec.name})
            if why and device not in self.lost:
                _log.error("%s; the policy goes on without it", why)
                self.lost[device] = why
                self._recent.lost()
                self._handle(
                    Event(
                        self._now_ns(),
                        EventKind.CHANGE,
                        change=Change(ChangeKind.DEVICE_LOST, device),
                    )
                )

    def _ended(self, end: QueryEnd) -> None:
        """Give a query its answer, or the reason why there is none."""
        query, outcome = end.query, end.outcome
        if outcome is Outcome.IN_TIME:
            self._recent.answered(query)
        if outcome in (Outcome.IN_TIME, Outcome.LATE):
            self._finish(query, self._outputs.pop(query.id, {}))
        elif outcome is Outcome.FAILED:
            self._finish(query, ExecutionError(self._executor.last_error or "its group failed"))
        else:
            self._finish(query, self._refusal(end))

    def _refusal(self, end: QueryEnd) -> EngineError:
        name = self._services[end.query.service].name
        if self.failure:
            return ExecutionError(f"service {name!r} has no place: {self.failure}")
        if end.outcome is Outcome.REJECTED:
            return QueueFullError(f"service {name!r} has no place for another query now")
        predicted_ns = end.predicted_end_ns
        text = f"service {name!r}: the query was dropped"
        if predicted_ns is None:
            return QueueFullError(f"{text}: no device serves it any more")
        late_ms = (predicted_ns - end.query.deadline_ns) / _MS
        after_ms = (predicted_ns - end.query.arrival_ns) / _MS
        due_ms = (end.query.deadline_ns - end.query.arrival_ns) / _MS
        if late_ms <= 0:
            return DeadlineError(f"{text}: its deadline of {due_ms:.3g} ms has no room left")
        return DeadlineError(
            f"{text}: predicted to end {after_ms:.3g} ms after it came, {late_ms:.3g} ms after its"
            f" deadline of {due_ms:.3g} ms"
        )

    def _finish(self, query: Query, result: dict[str, Any] | EngineError) -> None:
        self._inputs.pop(query.id, None)
        self._outputs.pop(query.id, None)
        self._backend.forget(query)
        submitted = self._waiting.pop(query.id, None)
        if submitted is None or submitted.answer.done():
            return
        if isinstance(result, EngineError):
            submitted.answer.set_exception(result)
        else:
            submitted.answer.set_result(result)
