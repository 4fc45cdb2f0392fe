"""A model whose plan is stored: opened without parsing or planning anything.

This and all that it imports is what a start costs beside ONNX Runtime itself, so nothing of ONNX,
placement, profiling or segmentation is imported here but what reads a plan.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import EngineError
from surplus.engine.pipeline.during import during
from surplus.engine.pipeline.in_service import judge_in_service
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.plan_question import PlanQuestion, question_of
from surplus.engine.planning.stored_plan import StoredPlan, plan_path, read_plan
from surplus.engine.runtime.lowering import prepack_plan
from surplus.engine.runtime.model import Model

_log = logging.getLogger(__name__)


def path_of(graph: Graph, params: LoadParams, inputs: Mapping[str, Any]) -> Path:
    """Where the plan for this question lies, if it is stored."""
    return plan_path(graph, params.specs(), params.policy, params.plan_options(), inputs)


def question_for(graph: Graph, params: LoadParams, inputs: Mapping[str, Any]) -> PlanQuestion:
    """What is asked of a plan."""
    return question_of(graph, params.specs(), params.policy, params.plan_options(), inputs)


def open_stored(
    path: Path, graph: Graph, params: LoadParams, inputs: Mapping[str, Any]
) -> Model | None:
    """The stored plan's model; one that was chosen quickly does where no tuning is asked for.

    Not that of a plan whose answers nobody compared on a processor like this one (making.py does).
    """
    question = question_for(graph, params, inputs)
    stored = read_plan(path, graph, question)
    if stored is None or not (stored.is_proven_here and is_wanted(stored, params)):
        return None
    try:
        model = open_prepacked(graph, stored, params)
        judge_in_service(model, path, question, stored)
        return model
    except EngineError as error:
        if params.has_lost():
            raise
        _log.warning("the stored plan %s is not used: %s", path, error)
        return None


def is_wanted(stored: StoredPlan, params: LoadParams) -> bool:
    """Whether it was made with the care that is asked for."""
    return not params.tune_s or stored.tuning is not None


def open_prepacked(graph: Graph, stored: StoredPlan, params: LoadParams) -> Model:
    """The plan's model on weights that all processes map; making these files takes a while."""
    prepack_plan(graph, stored.plan)
    with during(params, "sessions were opened"):
        return Model(
            graph.unread(),
            stored.plan,
            params.machine(),
            params.departure(),
            params.recovery(),
            stored.throughput_plan,
            stored.judgement,
        )
