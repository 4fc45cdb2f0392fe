"""Has a model that was planned answer queries together, where that was found to gain."""

from __future__ import annotations

import logging
from dataclasses import replace

from surplus.engine.planning.job import PlanJob
from surplus.engine.planning.stack_search import StackSearch
from surplus.engine.planning.stored_plan import StoredPlan
from surplus.engine.runtime.departure import Departure
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.stacks import Stacks
from surplus.engine.runtime.throughput_switch import narrow_plan

_log = logging.getLogger(__name__)


def with_stacks(job: PlanJob, model: PlannedModel, stored: StoredPlan) -> StoredPlan:
    """What is to be stored of a plan, with what was found out of batches; its model uses it."""
    return replace(stored, stacks=stack(job, model))


def stack(job: PlanJob, model: PlannedModel) -> Stacks:
    """Find out which queries may be answered together, and have the model do so.

    It is looked for whatever is asked for now: what is stored serves other loads, too.
    """
    graph, plan = job.graph, model.plan
    lanes = model.lanes[plan.devices[0]]
    # What queries that overlap run: of a plan of several segments what was found to keep its bits.
    narrow = model.narrow_plan or narrow_plan(graph, plan, lanes, Departure.ALWAYS)
    found = StackSearch(graph, narrow or plan, job.machine, job.inputs).found()
    use = job.params.stacks(found)
    model.be_stacked(use)
    _log.info("%s: batches: %s", graph.name, use.facts["batches"])
    return found
