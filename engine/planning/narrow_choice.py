"""A plan of several segments on one lane: the whole model, where that gives the same bits.

Cuts that answer one query sooner cost more work in all: parts of a batch read the same weights
twice, and every segment is handed over. Where queries overlap each does best on a lane of its own
(engine/runtime/throughput_switch.py). Other cuts may round otherwise, so whether they do is asked
of the answers.
"""

from __future__ import annotations

import logging
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace

from surplus.engine.contest.selection import ModelContender
from surplus.engine.devices.spec import traits_of
from surplus.engine.errors import EngineError
from surplus.engine.planning.job import PlanJob
from surplus.engine.planning.kernel_look import Build
from surplus.engine.planning.kernel_memory import default_bytes, within
from surplus.engine.planning.kernel_segments import KernelSegments, with_kernels
from surplus.engine.planning.same_answers import same_answers
from surplus.engine.runtime.departure import Departure
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.throughput_switch import busy_plan, whole_segment
from surplus.engine.segmentation.plan import Plan

_log = logging.getLogger(__name__)

_RUNS = 9
_MOST_S = 1.0
"""Of each candidate, after one that is not counted; fewer where that would take longer."""

_MOST_WORK = 1.05
"""Times the work of the plan's segments: more is not worth the hand-overs that it saves."""


def narrow_choice(job: PlanJob, model: PlannedModel, build: Build) -> Plan | None:
    """The whole model on one lane, for while queries of a chosen model overlap.

    None where the plan is a segment of its own already, leaves the CPU, or gives other bits than
    all of these; where bits do not matter, the fastest.

    Parameters
    ----------
    build : callable
        Opens a plan; None if it is refused, or answers wrongly.
    """
    plan, params = model.plan, job.params
    departure = params.departure()
    lanes = model.lanes[plan.devices[0]]
    used = {segment.device for segment in plan.segments}
    is_cut = len(plan.segments) > 1 and used == {0} and traits_of(plan.devices[0]).is_host
    if not is_cut or lanes < 2 or departure in (Departure.NEVER, Departure.SAME_CUTS):
        return None
    any_bits = departure is Departure.ALWAYS
    most_ns = _MOST_WORK * sum(s.service_ns * s.width for s in plan.segments)
    best: tuple[float, Plan] | None = None
    for candidate in _candidates(job, plan, lanes):
        found = _measured(job, candidate, build, None if any_bits else model)
        if found is not None and found < min(most_ns, best[0] if best else most_ns):
            best = found, candidate
    if best is None:
        return None
    ns, narrow = best
    _log.info("%s: while queries overlap, %s: %.3g ms", plan.name, narrow.name, ns / 1e6)
    return replace(narrow, segments=(replace(narrow.segments[0], service_ns=round(ns)),))


def _candidates(job: PlanJob, plan: Plan, lanes: int) -> Iterator[Plan]:
    """With ONNX Runtime's kernels, and with each library's that takes all of it."""
    graph, params = job.graph, job.params
    whole = busy_plan(plan, (whole_segment(graph),), "whole x1")
    if not whole.segments[0].outputs:
        return
    yield whole
    limit = params.kernel_memory_bytes()
    for library in params.asked_kernels().versions:
        tried = KernelSegments(graph, library, job.inputs, precision=params.precision)
        kernels = tried.of(whole, lanes)
        named = with_kernels(whole, kernels, f"whole x1 with {library}")
        fitting = within(named, default_bytes() if limit is None else limit) if kernels else None
        if fitting is not None:
            yield fitting


def _measured(job: PlanJob, plan: Plan, build: Build, like: PlannedModel | None) -> float | None:
    """What a query takes, in nanoseconds; None if refused, or of other bits than ``like``."""
    contender = build(plan)
    if contender is None:
        return None
    try:
        if like is not None and not same_answers(like, contender.model, job.inputs):
            return None
        return _query_ns(contender)
    except EngineError as error:
        _log.info("%s is not used while queries overlap: %s", plan.name, error)
        return None


def _query_ns(contender: ModelContender) -> float:
    contender.run()
    taken: list[int] = []
    until_ns = time.perf_counter_ns() + round(_MOST_S * 1e9)
    while len(taken) < _RUNS and (not taken or time.perf_counter_ns() < until_ns):
        began_ns = time.perf_counter_ns()
        contender.run()
        taken.append(time.perf_counter_ns() - began_ns)
    return statistics.median(taken)
