"""ONNX Runtime sessions as nodes of a plan: values on lanes, cancelling, absent inputs."""

import weakref

import numpy as np
import pytest
from onnx import TensorProto, helper

from surplus.engine._core import PlanBuilder
from surplus.engine.native import load_runtime
from surplus.engine.values import from_value, to_value
from tests.core.session_plans import model

load_runtime()


def one_segment(machine, model_bytes):
    builder = PlanBuilder(machine)
    x, y = builder.add_value("x"), builder.add_value("y")
    builder.add_session("segment", 0, model_bytes, [("x", x)], [("y", y)])
    builder.set_inputs([x])
    builder.set_outputs([y])
    return builder.build()


FLOAT = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
RELU = model([helper.make_node("Relu", ["x"], ["y"])], [("x", FLOAT)], [("y", FLOAT)])


def test_lanes_free_inputs_without_the_gil_and_python_gets_them_back(machine):
    plan = one_segment(machine, RELU)
    alive = []
    for _ in range(200):
        array = np.ones(64, np.float32)
        alive.append(weakref.ref(array))
        run = plan.submit([to_value(array)])
        del array
        run.wait(help=False)  # a lane without the GIL runs it and may drop the last reference
        assert from_value(run.outputs()[0])[0] == 1
        del run
    to_value(np.zeros(1, np.float32))  # drains what the lanes left behind
    assert sum(ref() is not None for ref in alive) <= 2  # pooled runs may hold their last one


def test_an_absent_optional_passes_between_segments(machine):
    optional = helper.make_optional_type_proto(FLOAT)
    boolean = helper.make_tensor_type_proto(TensorProto.BOOL, [])
    first = model(
        [helper.make_node("Identity", ["x"], ["y"])], [("x", optional)], [("y", optional)]
    )
    second = model(
        [helper.make_node("OptionalHasElement", ["x"], ["y"])], [("x", optional)], [("y", boolean)]
    )
    builder = PlanBuilder(machine)
    x, between, y = (builder.add_value(name) for name in ("x", "between", "y"))
    builder.add_session("first", 0, first, [("x", x)], [("y", between)])
    builder.add_session("second", 0, second, [("x", between)], [("y", y)])
    builder.set_inputs([x])
    builder.set_outputs([y])
    plan = builder.build()
    assert not from_value(plan.run([None])[0])
    assert from_value(plan.run([to_value(np.ones(2, np.float32))])[0])


def test_cancel_ends_a_session_in_the_middle_of_a_run(machine):
    """A chain of products that takes far longer than the test may."""
    nodes = [
        helper.make_node("MatMul", [f"h{i}" if i else "x", "x"], [f"h{i + 1}"]) for i in range(500)
    ]
    nodes.append(helper.make_node("Identity", ["h500"], ["y"]))
    plan = one_segment(machine, model(nodes, [("x", FLOAT)], [("y", FLOAT)]))
    run = plan.submit([to_value(np.zeros((1500, 1500), np.float32))])
    run.cancel()
    assert run.wait(timeout_s=60)
    assert run.status == "cancelled"


def test_a_wrong_input_fails_its_run_only_and_names_the_segment(machine):
    plan = one_segment(machine, RELU)
    run = plan.submit([to_value(np.ones(2))])
    run.wait()
    assert run.status == "failed"
    assert "segment" in run.error
    assert "Unexpected input data type" in run.error
    assert from_value(plan.run([to_value(np.ones(1, np.float32))])[0]).tolist() == [1]


def test_a_name_that_the_model_lacks_is_refused_when_the_plan_is_built(machine):
    builder = PlanBuilder(machine)
    x, y = builder.add_value("x"), builder.add_value("y")
    with pytest.raises(RuntimeError, match="no input 'z'"):
        builder.add_session("segment", 0, RELU, [("z", x)], [("y", y)])
