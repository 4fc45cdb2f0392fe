"""Segments that give other bits on one lane: asked of a plan's answers, once it was chosen.

Most operators give the same bits whatever the number of threads: each sums up in the same order.
Some do not: what quantises the rows that a thread gets by their own range, kernels for few rows.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from surplus.engine import _core
from surplus.engine.devices.spec import traits_of
from surplus.engine.errors import EngineError
from surplus.engine.planning.job import PlanJob
from surplus.engine.planning.kernel_look import Build
from surplus.engine.planning.same_answers import same_answers
from surplus.engine.runtime.departure import Departure
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.throughput_switch import busy_plan
from surplus.engine.segmentation.plan import Plan, Segment

_log = logging.getLogger(__name__)


def with_fixed_widths(job: PlanJob, model: PlannedModel, build: Build) -> Plan:
    """The plan of a chosen model, its wide segments marked where one lane gives other bits.

    Asked at several scales and sizes (varied_inputs.py), where another width may answer at all.

    Parameters
    ----------
    build : callable
        Opens a plan; None if it is refused, or answers wrongly.
    """
    plan = model.plan
    wide = {s.name for s in plan.segments if _may_change(plan, s)}
    departure = job.params.departure()
    if not wide or departure in (Departure.NEVER, Departure.ALWAYS):
        return plan
    path = str(job.graph.whole_path)
    if not _core.thread_effects(path)[1] and _same_on_one_lane(plan, model, build, job):
        return plan
    _log.info("%s gives other bits on one lane", plan.name)
    return _marked(plan, wide)


def _may_change(plan: Plan, segment: Segment) -> bool:
    is_plain = segment.kernels is None and traits_of(plan.devices[segment.device]).is_host
    return is_plain and segment.width > 1


def _same_on_one_lane(plan: Plan, model: PlannedModel, build: Build, job: PlanJob) -> bool:
    narrow = tuple(replace(s, width=1) if _may_change(plan, s) else s for s in plan.segments)
    contender = build(replace(busy_plan(plan, narrow, "on one lane"), copies=plan.copies))
    if contender is None:
        return False
    try:
        return same_answers(model, contender.model, job.inputs)
    except EngineError as error:
        _log.info("%s: %s", plan.name, error)
        return False


def _marked(plan: Plan, wide: set[str]) -> Plan:
    segments = tuple(replace(s, fixed_width=True) if s.name in wide else s for s in plan.segments)
    return replace(plan, segments=segments)
