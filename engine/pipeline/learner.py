"""The process that measures a model for one that answers already (learning.py)."""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surplus.engine.devices.machines import machine_for
from surplus.engine.errors import EngineError, one_line
from surplus.engine.examples.made_up import example_inputs
from surplus.engine.lifeline import end_with_parent
from surplus.engine.pipeline.idle_moment import Moment
from surplus.engine.pipeline.loading import load_with
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.same_answers import same_answers
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.unread import Unread


def main() -> None:
    """Read what to measure, store what comes of it, say whether its bits are the same."""
    _give_way()
    path, params, inputs, moment = pickle.load(sys.stdin.buffer)
    end_with_parent()
    print(json.dumps(learnt(path, params, inputs, moment)), flush=True)
    os._exit(0)  # the plan is stored, and nobody waits for what is open


def learnt(
    path: Path,
    params: LoadParams,
    inputs: Mapping[str, Any] | None,
    moment: Moment = Moment.IDLE,
) -> dict[str, Any]:
    """Load and store as ``tune="now"`` does; ``same_bits`` or ``error``.

    What was found beside queries is provisional: it is measured again in an idle moment.
    """
    try:
        model = load_with(path, params, inputs)
        if moment is Moment.BUSY:
            model.doubt()
        return {"same_bits": _same_bits(path, params, model, inputs)}
    except (EngineError, RuntimeError, ValueError, OSError, MemoryError) as error:
        return {"error": one_line(error)}


def _same_bits(
    path: Path, params: LoadParams, model: PlannedModel, inputs: Mapping[str, Any] | None
) -> bool:
    """Whether the plan is one session and answers with the bits of the user's file as one.

    Another cut may round otherwise on other inputs than these.
    """
    plan = model.plan
    if len(plan.segments) > 1 or plan.libraries or model.throughput_plan is not None:
        return False
    unread = Unread(path, params.specs(), lambda: model.graph.content)
    whole = PlannedModel(unread.graph, unread.plan, machine_for(params.specs()[:1]))
    if whole.inputs != model.inputs or whole.outputs != model.outputs:
        return False
    given = dict(inputs if inputs is not None else example_inputs(model.graph, path))
    return same_answers(whole, model, given)


def _give_way() -> None:
    """Run when no other process wants a core."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
