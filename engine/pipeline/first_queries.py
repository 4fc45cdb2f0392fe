"""What a load has opened on a GPU runs once, so that no query pays for a session's first run.

That one chooses cuDNN's algorithms, loads kernels into the driver and takes memory.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from surplus.engine.dfg.graph import Graph, GraphTensor, ValueKind
from surplus.engine.dfg.graph_tensor import is_open
from surplus.engine.errors import (
    CancelledError,
    DeadlineError,
    ExecutionError,
    InputError,
    one_line,
)
from surplus.engine.examples.given import beside_model, read_inputs
from surplus.engine.examples.sizes import inputs_in_question
from surplus.engine.pipeline.during import during
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.profiling.random_content import random_content
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.time_limit import left_s

_log = logging.getLogger(__name__)

_FAILURES = (ExecutionError, InputError, CancelledError, DeadlineError, MemoryError)


def ask_once(
    model: PlannedModel, path: str | Path, params: LoadParams, inputs: Mapping[str, Any] | None
) -> None:
    """Answer one query with each opened plan of a model that has a segment on a CUDA device.

    Its inputs are those given, those beside the model, or made up in the sizes that plans were
    measured with. Where it fails the log says so, and the model is loaded all the same.

    Raises
    ------
    DeviceLostError
        If a device was lost meanwhile.
    """
    if not model.has_slow_first_runs:
        return
    try:
        with during(params, "each session ran once"):
            model.ask_each_plan(_inputs(model.graph, path, inputs), left_s())
    except _FAILURES as error:
        _log.warning("%s: no query was asked ahead of the first: %s", path, one_line(error))


def _inputs(graph: Graph, path: str | Path, given: Mapping[str, Any] | None) -> dict[str, Any]:
    if given is not None:
        return dict(given)
    beside = beside_model(path)
    return _made_up(graph, path) if beside is None else read_inputs(graph, beside)


def _made_up(graph: Graph, path: str | Path) -> dict[str, Any]:
    """As those that plans were measured with (engine/profiling/calibrate.py), by their sizes.

    Raises
    ------
    InputError
        If sizes are open and nobody has noted any, or an input is no tensor.
    """
    sizes = inputs_in_question(graph, path, None) or {}
    rng = np.random.default_rng(0)
    made = {}
    for tensor in graph.summary.inputs:
        if tensor.name in graph.default_inputs or tensor.kind is ValueKind.OPTIONAL:
            continue
        if tensor.kind is not ValueKind.TENSOR:
            raise InputError(f"input {tensor.name!r} is a {tensor.kind}")
        shape = _shape(tensor, sizes)
        try:
            made[tensor.name] = random_content(tensor.elem_type, shape, rng)
        except ValueError as error:
            raise InputError(f"input {tensor.name!r}: {error}") from error
    return made


def _shape(tensor: GraphTensor, sizes: Mapping[str, Any]) -> tuple[int, ...]:
    shape = sizes[tensor.name].shape if tensor.name in sizes else tensor.shape
    if is_open(shape):
        raise InputError(f"nobody has noted which sizes input {tensor.name!r} takes")
    return tuple(dim for dim in shape or () if isinstance(dim, int))
