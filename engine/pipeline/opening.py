"""A model whose plan is stored: opened without parsing or planning anything.

This and all that it imports is what a start costs beside ONNX Runtime itself, so nothing of ONNX,
placement, profiling or segmentation is imported here but what reads a plan.
"""

from __future__ import annotations

import logging

from surplus.engine.errors import EngineError
from surplus.engine.pipeline.during import during
from surplus.engine.pipeline.in_service import judge_in_service
from surplus.engine.pipeline.load_job import LoadJob
from surplus.engine.pipeline.opened_before import OPENED
from surplus.engine.planning.job import PlanJob
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.stored_plan import StoredPlan, read_plan
from surplus.engine.runtime.layout import prepack_plan
from surplus.engine.runtime.planned_model import PlannedModel

_log = logging.getLogger(__name__)


def open_stored(job: PlanJob, load: LoadJob | None = None) -> PlannedModel | None:
    """The stored plan's model; one that was chosen quickly does where no tuning is asked for.

    Not that of a plan whose answers nobody compared on a processor like this one (making.py does).

    Parameters
    ----------
    load : LoadJob, optional
        What asks for it, to be spared reading it when it asks again (opened_before.py).
    """
    stored = read_plan(job.stored_at, job.graph, job.question)
    if stored is None or not (stored.is_proven_here and is_wanted(stored, job.params)):
        return None
    model = open_read(job, stored)
    if model is not None and load is not None:
        OPENED.keep(load, job, stored)
    return model


def open_read(
    job: PlanJob, stored: StoredPlan, *, is_prepacked: bool = False
) -> PlannedModel | None:
    """The model of a plan that was read; None, and the log says why, if it cannot be opened."""
    try:
        model = _open(job, stored) if is_prepacked else open_prepacked(job, stored)
        judge_in_service(model, job, stored)
        return model
    except EngineError as error:
        if job.has_lost:
            raise
        _log.warning("the stored plan %s is not used: %s", job.stored_at, error)
        return None


def is_wanted(stored: StoredPlan, params: LoadParams) -> bool:
    """Whether it was made with the care that is asked for."""
    return not params.tune_s or stored.tuning is not None


def open_prepacked(job: PlanJob, stored: StoredPlan) -> PlannedModel:
    """The plan's model on weights that all processes map; making these files takes a while."""
    prepack_plan(job.graph, stored.plan)
    return _open(job, stored)


def _open(job: PlanJob, stored: StoredPlan) -> PlannedModel:
    with during(job.params, "sessions were opened"):
        model = PlannedModel(
            job.graph.unread(),
            stored.plan,
            job.machine,
            job.params.departure(),
            job.recovery,
            stored.throughput_plan,
            stored.judgement,
            stored.narrow_plan,
        )
        model.checked = stored.checked
        model.be_stacked(job.params.stacks(stored.stacks))
        return model
