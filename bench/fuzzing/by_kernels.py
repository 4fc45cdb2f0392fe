"""A random model with another library's kernels, as a load would come to run it.

Segments that the library takes in a child, in a plan whose answers to the example inputs are right,
answer other inputs: there they must be right, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from surplus.engine.contest.answers import Apart, Expected
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import EngineError
from surplus.engine.examples.adversarial import adversarial_inputs
from surplus.engine.kernels.asked import KERNELS_VARIABLE
from surplus.engine.kernels.registry import LIBRARIES, failure_of
from surplus.engine.planning.answer_check import AnswerCheck, least_allowed
from surplus.engine.planning.kernel_segments import KernelSegments, with_kernels
from surplus.engine.planning.other_kernels import FACTORS as CHECKED
from surplus.engine.planning.varied_inputs import scaled
from surplus.engine.runtime.planned_model import PlannedModel
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
    model = PlannedModel(graph, with_kernels(plan, kernels, "with kernels"), machine)
    checks = [inputs, *(scaled(inputs, factor) for factor in CHECKED)]
    try:
        if not all(AnswerCheck(graph, given, specs).accepts(model) for given in checks):
            return Apart()
    except EngineError:
        return Apart()  # as a load drops it
    plain = PlannedModel(graph, plan, machine)
    found = [_apart(plain, model, given) for given in _others(graph, inputs)]
    if failure := failure_of(library):
        raise RuntimeError(failure)
    return max(found, key=lambda apart: (apart.is_beyond, apart.difference), default=Apart())


def _apart(plain: PlannedModel, model: PlannedModel, given: Mapping[str, Any]) -> Apart:
    try:
        right = plain.run(given)
    except EngineError:
        return Apart()  # it has no answer to these
    expected = Expected(right, lambda: _variations(plain, given))
    return expected.against(model.run(given), least_allowed(plain.graph, model.plan))


def _variations(plain: PlannedModel, given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for factor in (1 - 2e-7, 1 + 2e-7):
        try:
            yield plain.run(scaled(given, factor))
        except EngineError:
            yield {}


def _others(graph: Graph, inputs: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for factor in _FACTORS:
        yield scaled(inputs, factor)
    yield from adversarial_inputs(graph, inputs)
