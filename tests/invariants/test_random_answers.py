"""Any model under any plan answers as plain ONNX Runtime does, for any number of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.safety.random_plans import CHARGED_NS, random_plan
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.errors import ExecutionError
from surplus.engine.native import open_session
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.values import from_value, to_value
from tests.invariants.own_machine import check_empty, own_machine
from tests.invariants.random_models import FAILING_ROW, Reader, inputs_of, random_models

ROWS = (3, 0, 1, 17, 0, 2)
DEVICES = ("cpu:2", "cpu:4", "cpu:1,emulated:gpu", "cpu:2,emulated:a,emulated:b")


@settings(max_examples=25, derandomize=True)
@given(model=random_models(), text=st.sampled_from(DEVICES), seed=st.integers(0, 1_000_000))
def test_answers_are_plain_onnx_runtimes(
    read: Reader, model: onnx.ModelProto, text: str, seed: int
) -> None:
    graph = read(model)
    plan = random_plan(graph, parse_devices(text), seed)
    short = tuple(replace(segment, service_ns=CHARGED_NS) for segment in plan.segments)
    plain = open_session(model.SerializeToString())
    queries = [inputs_of(graph, seed, rows=rows) for rows in ROWS]
    queries.insert(2, inputs_of(graph, seed, row=FAILING_ROW))
    with own_machine(text) as machine:
        subject = PlannedModel(graph, replace(plan, segments=short), machine)
        for query in queries:
            _check(subject, plain, query)
        check_empty(machine)


def _check(subject: PlannedModel, plain: Any, query: dict[str, Any]) -> None:
    """The same answer, or a failure where plain ONNX Runtime fails."""
    try:
        found = plain.run({name: to_value(query[name]) for name in plain.input_names})
    except RuntimeError:
        with pytest.raises(ExecutionError):
            subject.run(query)
        return
    outputs = subject.run(query)
    assert list(outputs) == plain.output_names
    for name, value in zip(plain.output_names, found, strict=True):
        right = from_value(value)
        np.testing.assert_allclose(outputs[name], right, rtol=1e-5, atol=1e-5, strict=True)
