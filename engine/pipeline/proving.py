"""Opens a plan as it is stored and compares its answers, once on each kind of processor."""

from __future__ import annotations

from dataclasses import replace

from surplus.engine.pipeline.opening import open_prepacked
from surplus.engine.planning.answer_check import AnswerCheck
from surplus.engine.planning.job import PlanJob
from surplus.engine.planning.stored_plan import StoredPlan
from surplus.engine.runtime.planned_model import PlannedModel


def proven(job: PlanJob, stored: StoredPlan) -> tuple[PlannedModel, StoredPlan] | None:
    """The model of a plan, and the plan with a note of how its answers compared.

    A throughput plan that answers wrongly is left out, and so is a narrow one.

    Returns
    -------
    tuple or None
        None if the plan answers wrongly; the log says where.

    Raises
    ------
    EngineError
        If it cannot be opened, or fails where the whole model answers.
    """
    params = job.params
    check = AnswerCheck(job.graph, job.inputs, params.specs(), keeps_bits=params.keeps_bits)
    model = open_prepacked(job, stored)
    if not check.accepts(model):
        return None
    throughput_plan = stored.throughput_plan
    if throughput_plan is not None and not all(
        check.accepts(PlannedModel(job.graph, plan, job.machine)) for plan in throughput_plan.plans
    ):
        stored = replace(stored, throughput_plan=None)
        model = open_prepacked(job, stored)
    narrow = stored.narrow_plan
    if narrow is not None and not check.accepts(PlannedModel(job.graph, narrow, job.machine)):
        stored = replace(stored, narrow_plan=None)
        model = open_prepacked(job, stored)
    model.checked = check.note()
    return model, replace(stored, checked=model.checked)
