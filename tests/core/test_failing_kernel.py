"""A segment that fails by itself is executed once."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from surplus.engine._core import DeviceOptions, Machine, PlanBuilder, Session
from surplus.engine.native import load_runtime
from surplus.engine.values import from_value, to_value
from tests.core.session_plans import model

FOUR = helper.make_tensor_type_proto(TensorProto.FLOAT, [4])
TWO = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
INDICES = helper.make_tensor_type_proto(TensorProto.INT64, [2])

DRAWS = model(
    [
        helper.make_node("RandomUniform", [], ["r"], shape=[4], seed=1.0),
        helper.make_node("Add", ["x", "r"], ["s"]),
        helper.make_node("Gather", ["s", "i"], ["y"]),
    ],
    [("x", FOUR), ("i", INDICES)],
    [("y", TWO)],
)
"""Every execution draws again; a wrong index fails after the draw."""

ZEROS = np.zeros(4, np.float32)
GOOD, BAD = np.array([0, 1]), np.array([0, 99])


def test_a_failing_segment_with_pooled_outputs_runs_once() -> None:
    load_runtime()
    session = Session(DRAWS)
    builder = PlanBuilder(Machine([DeviceOptions()]))
    x, i, y = (builder.add_value(name) for name in "xiy")
    builder.add_session("p", 0, DRAWS, [("x", x), ("i", i)], [("y", y)])
    builder.set_inputs([x, i])
    builder.set_outputs([y])
    plan = builder.build()
    for indices in (GOOD, BAD, GOOD, GOOD):
        if indices is BAD:
            with pytest.raises(RuntimeError, match="Gather"):
                plan.run([to_value(ZEROS), to_value(indices)])
            with pytest.raises(RuntimeError, match="Gather"):
                session.run({"x": to_value(ZEROS), "i": to_value(indices)})
            continue
        ours = from_value(plan.run([to_value(ZEROS), to_value(indices)])[0])
        theirs = from_value(session.run({"x": to_value(ZEROS), "i": to_value(indices)})[0])
        np.testing.assert_array_equal(ours, theirs)
