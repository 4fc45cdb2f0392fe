"""A second plan of a model, for while queries overlap.

The plan that answers one query soonest spends cores on hand-overs and on operators that two cores
run hardly faster than one. Where there are queries enough for every lane, each lane does best
with a query of its own: the whole model as one segment of one lane, or the slices that it was cut
into for the sake of other models, a lane each. A slice of all lanes would keep the lanes that it
has waiting for those that another model's slice still has.

On several devices it is the throughput plan, chosen for the least work on the busiest of them
(throughput_plan.py, engine/planning/throughput_search.py).
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

from surplus.engine import _core
from surplus.engine.devices.spec import traits_of
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import EngineError
from surplus.engine.runtime import neighbours
from surplus.engine.runtime.departure import Departure as Departure
from surplus.engine.runtime.ports import Ports
from surplus.engine.runtime.prepared import Prepared, prepare
from surplus.engine.segmentation.plan import Plan, Segment
from surplus.placement.timeline import Timeline

_log = logging.getLogger(__name__)


def narrow_plan(
    graph: Graph, plan: Plan, lanes: int, allowed: Departure = Departure.ALWAYS
) -> Plan | None:
    """The model with one lane of the plan's CPU for each segment: for one that is all of it, or,
    with ``SAME_CUTS``, for those of the plan.

    None where that is not allowed, no other plan, or not the same devices' work: a plan of
    several devices overlaps them, and a device of one lane has nothing to share.
    """
    used = {segment.device for segment in plan.segments}
    if lanes < 2 or used != {0} or not traits_of(plan.devices[0]).is_host:
        return None
    if allowed is Departure.NEVER or (allowed is Departure.SAME_BITS and len(plan.segments) > 1):
        return None
    if allowed is not Departure.ALWAYS and not all(_same_on_one_lane(s) for s in plan.segments):
        return None
    if allowed is Departure.SAME_CUTS or (plan.libraries and len(plan.segments) == 1):
        segments = tuple(_on_one_lane(segment, lanes) for segment in plan.segments)
    else:
        segments = (_whole(graph, plan),)
    if all(segment.width == 1 for segment in plan.segments) and len(segments) == len(plan.segments):
        return None
    if not all(segment.outputs for segment in segments):
        return None
    return busy_plan(plan, segments, "busy")


def busy_plan(plan: Plan, segments: tuple[Segment, ...], name: str) -> Plan:
    """The plan with other segments, of which nothing is predicted."""
    nothing = Timeline((), plan.predicted.origin)
    return replace(plan, name=name, segments=segments, copies=(), predicted=nothing, bound_ns=0)


def _same_on_one_lane(segment: Segment) -> bool:
    return not segment.fixed_width and (segment.kernels is None or segment.kernels.any_width)


def _on_one_lane(segment: Segment, lanes: int) -> Segment:
    kernels = None if segment.kernels is None else replace(segment.kernels, copies=lanes)
    ns = segment.service_ns * segment.width
    return replace(segment, width=1, service_ns=ns, kernels=kernels)


def _whole(graph: Graph, plan: Plan) -> Segment:
    service_ns = sum(segment.service_ns * segment.width for segment in plan.segments)
    return replace(whole_segment(graph), service_ns=service_ns)


def whole_segment(graph: Graph) -> Segment:
    """All tasks on one lane."""
    summary = graph.summary
    return Segment(
        name=graph.name,
        device=0,
        width=1,
        tasks=tuple(range(summary.task_count)),
        inputs=tuple(t.name for t in summary.inputs if t.consumers),
        outputs=tuple(dict.fromkeys(t.name for t in summary.outputs if t.producer >= 0)),
        rank=0,
        service_ns=0,
    )


_WINDOW = 2
"""Answers a caller over which their waits are averaged: few, so that callers that come or go are
soon noticed, by queries of a second too."""

_SHARE_OF_DUE = 0.8
"""A query must take less than that of the time after which it is due."""

_RULE = 0.75
"""Overlapping is the rule where that share of the callers waits on the mean."""


class ThroughputSwitch:
    """Says when the second plan is to be used, and prepares it when that is first so.

    That is where a query finds so many in flight. And it is where about so many callers wait for
    an answer nearly all the time, whatever one of them finds when it asks: callers that finish
    together would see each other only every other time. How many wait on the mean is what they
    waited in all over the time that passed (Little).

    Parameters
    ----------
    found, callers : int
        Both are the lanes of the CPU for a plan of one lane a query: one that finds all taken has
        no lane to gain.
    window : int
        How many queries it answers at a time, unless the model's queries wait by rules of its own;
        0: as many as there are. Each replica has its own.
    replicas : sequence of Plan
        The second plan on other devices: these and it are used in turn.
    """

    def __init__(
        self,
        graph: Graph,
        plan: Plan,
        machine: _core.Machine,
        ports: Ports,
        *,
        found: int,
        callers: int,
        window: int = 0,
        replicas: Sequence[Plan] = (),
    ) -> None:
        self._graph = graph
        self._plans = (plan, *replicas)
        self._takes_ns = sum(segment.service_ns for segment in plan.segments)
        self._machine = machine
        self._found = found
        self._callers = callers
        self._window = window
        self._ports = ports
        self._lock = threading.Lock()
        self._started = False
        self._waited_ns = 0
        self._answers = 0
        self._since_ns = time.monotonic_ns()
        self._is_rule = False
        self._opened: tuple[Prepared, ...] = ()
        self._turns = itertools.count()
        self._has_failed = False
        self._route: _core.Route | None = None
        self._first: Prepared | None = None

    def lead(self, route: _core.Route | None, first: Prepared | None) -> None:
        """Have the front end choose between ``first`` and the second plan about as ``now`` does.

        Without a route it does not any more. That callers of ``run`` wait nearly all the time is
        not seen there.
        """
        with self._lock:
            self._route, self._first = route, first
            self._lead()

    def _lead(self) -> None:
        """With the lock."""
        if self._route is None or self._first is None:
            return
        makes_way = self._may_make_way() and not self._has_failed
        self._route.lead(
            self._first.native,
            [opened.native for opened in self._opened],
            found=0 if self._has_failed else self._found,
            always=self._ports.urgency.best_effort and not self._has_failed,
            by_neighbours=makes_way,
            who=id(self) if makes_way else 0,
            is_bounded=self._ports.is_bounded,
        )

    def now(self) -> Prepared | None:
        """The second plan, if queries overlap or may have to make way, and it is there.

        Best effort is answered on one lane at a time: threads of a wide segment would have the
        weight of others. What is due is, too, beside other models that are, if it can be in time
        so: others would wait for all lanes of a wide segment, which does not make way.
        """
        overlaps = self._is_rule or self._machine.runs_in_flight >= self._found
        if not self._makes_way() and not overlaps:
            return None
        if not self._started:
            self._start()
        return self._in_turn()

    def _in_turn(self) -> Prepared | None:
        opened = self._opened
        return opened[next(self._turns) % len(opened)] if opened else None

    def _makes_way(self) -> bool:
        if self._ports.urgency.best_effort:
            return True
        return self._may_make_way() and neighbours.OF_PROCESS.asked(self)

    def _may_make_way(self) -> bool:
        urgency = self._ports.urgency
        return urgency.best_effort or self._takes_ns < _SHARE_OF_DUE * urgency.due_after_ns

    def be_ready(self) -> None:
        """Prepare the second plan now, unless queries make way without it."""
        if not self._started and self._may_make_way():
            self._start()

    @property
    def opened(self) -> tuple[Prepared, ...]:
        """It and its replicas, if their sessions are open."""
        return self._opened

    def answered(self, began_ns: int) -> None:
        """A caller has its answer, for which it has waited since that time.

        Unguarded, since all callers come here: an answer that another thread overwrites is one
        answer fewer.
        """
        now_ns = time.monotonic_ns()
        self._waited_ns += now_ns - began_ns
        self._answers += 1
        if self._answers < _WINDOW * self._callers:
            return
        waiting = self._waited_ns / max(1, now_ns - self._since_ns)
        self._is_rule = waiting >= _RULE * self._callers
        self._waited_ns, self._answers, self._since_ns = 0, 0, now_ns

    def prepare(self) -> None:
        """Open its sessions; takes as long as loading the model."""
        self._started = True
        try:
            self._opened = tuple(self._open(plan) for plan in self._plans)
        except EngineError as error:
            self._has_failed = True
            _log.warning("no second plan for overlapping queries: %s", error)
        with self._lock:
            self._lead()

    def _open(self, plan: Plan) -> Prepared:
        from surplus.engine.runtime.layout import prepack_plan  # when queries overlap

        prepack_plan(self._graph, plan)
        prepared = prepare(self._graph, plan, self._machine, self._ports)
        if self._window and self._ports.room is None:
            from surplus.engine.runtime.queueing import Queueing

            prepared.native.wait_in(Queueing.window(self._window).room())
        return prepared

    def _start(self) -> None:
        """Prepare beside the queries, which go on with the first plan until it is there."""
        with self._lock:
            if self._started:
                return
            self._started = True
        threading.Thread(target=self.prepare, name="throughput plan").start()
