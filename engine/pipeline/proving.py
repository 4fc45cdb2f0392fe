"""Opens a plan as it is stored and compares its answers, once on each kind of processor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from surplus.engine.dfg.graph import Graph
from surplus.engine.pipeline.opening import open_prepacked
from surplus.engine.planning.answer_check import AnswerCheck
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.stored_plan import StoredPlan
from surplus.engine.runtime.model import Model


def proven(
    graph: Graph, stored: StoredPlan, params: LoadParams, inputs: Mapping[str, Any]
) -> tuple[Model, StoredPlan] | None:
    """The model of a plan, and the plan with a note of how its answers compared.

    A throughput plan that answers wrongly is left out.

    Returns
    -------
    tuple or None
        None if the plan answers wrongly; the log says where.

    Raises
    ------
    EngineError
        If it cannot be opened, or fails where the whole model answers.
    """
    check = AnswerCheck(graph, inputs, params.specs())
    model = open_prepacked(graph, stored, params)
    if not check.accepts(model):
        return None
    throughput_plan = stored.throughput_plan
    if throughput_plan is not None and not check.accepts(
        Model(graph, throughput_plan.plan, params.machine())
    ):
        stored = replace(stored, throughput_plan=None)
        model = open_prepacked(graph, stored, params)
    return model, replace(stored, checked=check.note())
