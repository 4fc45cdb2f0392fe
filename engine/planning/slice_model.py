"""A loaded model with its long segments cut, so that others get their turn between the slices."""

from __future__ import annotations

from dataclasses import replace

from surplus.engine.contest.selection import refit
from surplus.engine.planning.job import PlanJob
from surplus.engine.planning.stages import Costs, plan_of
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.coarse import predict
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.segmenter import Candidate
from surplus.engine.segmentation.shards import shards_of
from surplus.engine.segmentation.slices import sliced


def slice_model(job: PlanJob, model: PlannedModel, costs: Costs, policy: str) -> PlannedModel:
    """The model with its long segments cut, and with the times of its slices in place.

    Raises
    ------
    EngineError
        If a device refuses a slice, or a query fails.
    """
    if model.plan.shards > 1:
        shards = shards_of(model.graph, costs.problem, costs.service, model.plan.shards)
        assert shards is not None, "it runs"
        costs = Costs(shards.problem, shards.service)
    else:
        shards = None
    found = {TaskGroup(s.tasks, s.device, s.width): s.rank for s in model.plan.segments}
    measured = {TaskGroup(s.tasks, s.device, s.width): s.service_ns for s in model.plan.segments}
    service = replace(costs.service, measured={**costs.service.measured, **measured})
    graph = sliced(GroupGraph(costs.problem, found), service, round(job.params.slice_s * 1e9))
    candidate = Candidate(
        f"{model.plan.name} sliced", graph, predict(graph, service), shards=shards
    )
    plan = plan_of(model.graph, costs, candidate, policy)
    machine = job.machine
    made = PlannedModel(model.graph, plan, machine, job.params.departure())
    made.plan = refit(made, graph, costs.service, job.inputs)
    made.guard(machine, job.recovery)
    return made
