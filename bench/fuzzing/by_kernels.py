"""A random model with another library's kernels, as a load would come to run it.

Segments that the library takes in a child, in a plan whose answers to the example inputs are right,
answer other inputs: there they must be right, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from surplus.engine.contest.answers import Apart, Expected
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import EngineError
from surplus.engine.kernels.asked import KERNELS_VARIABLE
from surplus.engine.kernels.registry import LIBRARIES, failure_of
from surplus.engine.planning.answer_check import AnswerCheck
from surplus.engine.planning.kernel_segments import KernelSegments, with_kernels
from surplus.engine.runtime.model import Model
from surplus.engine.segmentation.plan import Plan

_DEVICES = "cpu:2"
_FACTORS = (0.5, 0.9, 1.0)
"""Of inputs of floating point: other numbers of about the same size."""


def library_asked() -> str:
    """The library that ``SURPLUS_KERNELS`` names; empty without one."""
    name = os.environ.get(KERNELS_VARIABLE, "")
    return name if name in LIBRARIES else ""


def furthest(graph: Graph, plan: Plan, library: str, inputs: Mapping[str, Any]) -> Apart:
    """The answer that is furthest from ONNX Runtime's, to several inputs.

    Raises
    ------
    RuntimeError
        If the library has failed in this process, where the child had no trouble.
    EngineError
        If a query fails.
    """
    kernels = KernelSegments(graph, library, inputs).of(plan, 2)
    if not kernels:
        return Apart()
    specs = parse_devices(_DEVICES)
    machine = machine_for(specs)
    model = Model(graph, with_kernels(plan, kernels, "with kernels"), machine)
    if not AnswerCheck(graph, inputs, specs).accepts(model):
        return Apart()
    plain = Model(graph, plan, machine)
    found = [_apart(plain, model, given) for given in _others(inputs)]
    if failure := failure_of(library):
        raise RuntimeError(failure)
    return max(found, key=lambda apart: (apart.is_beyond, apart.difference), default=Apart())


def _apart(plain: Model, model: Model, given: Mapping[str, Any]) -> Apart:
    try:
        right = plain.run(given)
    except EngineError:
        return Apart()  # it has no answer to these
    return Expected(right, lambda: _variations(plain, given)).against(model.run(given))


def _variations(plain: Model, given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for factor in (1 - 2e-7, 1 + 2e-7):
        try:
            yield plain.run(_times(given, factor))
        except EngineError:
            yield {}


def _others(inputs: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for factor in _FACTORS:
        yield _times(inputs, factor)


def _times(inputs: Mapping[str, Any], factor: float) -> dict[str, Any]:
    return {name: _scaled(value, factor) for name, value in inputs.items()}


def _scaled(value: Any, factor: float) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return np.asarray(value * value.dtype.type(factor), value.dtype)
    return value
