"""Pooled outputs: a segment's small outputs lie in memory used again, never under a reader."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from surplus.engine._core import PlanBuilder
from surplus.engine.native import load_runtime
from surplus.engine.values import from_value, to_value
from tests.core.session_plans import model

load_runtime()

FOUR = helper.make_tensor_type_proto(TensorProto.FLOAT, [4])


def chain(machine, *models):
    """Segments in a row, each from x to y."""
    builder = PlanBuilder(machine)
    values = [builder.add_value(f"v{i}") for i in range(len(models) + 1)]
    for i, content in enumerate(models):
        builder.add_session(f"s{i}", 0, content, [("x", values[i])], [("y", values[i + 1])])
    builder.set_inputs([values[0]])
    builder.set_outputs([values[-1]])
    return builder.build()


def negation(kind=FOUR):
    return model([helper.make_node("Neg", ["x"], ["y"])], [("x", kind)], [("y", kind)])


def answer(plan, number):
    return from_value(plan.run([to_value(np.full(4, number, np.float32))])[0])


def test_memory_is_used_again_once_nobody_reads_it(machine):
    plan = chain(machine, negation())
    addresses = {answer(plan, i).ctypes.data for i in range(50)}
    assert len(addresses) == 1


def test_an_answer_that_the_caller_keeps_does_not_change(machine):
    plan = chain(machine, negation())
    kept = [answer(plan, i) for i in range(40)]  # more than the pool holds
    assert [array[0] for array in kept] == [-i for i in range(40)]


def test_what_passes_an_input_through_keeps_it_from_being_written(machine):
    sequence = helper.make_sequence_type_proto(FOUR)
    pack = model(
        [helper.make_node("SequenceConstruct", ["x"], ["y"])], [("x", FOUR)], [("y", sequence)]
    )
    zero = helper.make_node("Constant", [], ["i"], value_int=0)
    unpack = model(
        [zero, helper.make_node("SequenceAt", ["x", "i"], ["y"])], [("x", sequence)], [("y", FOUR)]
    )
    passing = model([helper.make_node("Identity", ["x"], ["y"])], [("x", FOUR)], [("y", FOUR)])
    for models in ([negation(), pack, unpack], [negation(), passing], [negation(), pack]):
        plan = chain(machine, *models)
        kept = [answer(plan, i) for i in range(40)]
        flat = [row[0] if isinstance(row, list) else row for row in kept]
        assert [array[0] for array in flat] == [-i for i in range(40)]


def test_a_model_that_declares_a_wrong_shape_still_answers(machine):
    wrong = model(
        [helper.make_node("Neg", ["x"], ["y"])],
        [("x", helper.make_tensor_type_proto(TensorProto.FLOAT, ["n"]))],
        [("y", helper.make_tensor_type_proto(TensorProto.FLOAT, ["m"]))],
    )
    # ONNX Runtime checks declared against inferred shapes, so the lie goes through a Reshape.
    lying = model(
        [helper.make_node("Reshape", ["x", "to"], ["y"])],
        [("x", FOUR), ("to", helper.make_tensor_type_proto(TensorProto.INT64, [1]))],
        [("y", helper.make_tensor_type_proto(TensorProto.FLOAT, [2]))],
    )
    assert answer(chain(machine, wrong), 1).shape == (4,)
    builder = PlanBuilder(machine)
    x, to, y = (builder.add_value(name) for name in ("x", "to", "y"))
    builder.add_session("lying", 0, lying, [("x", x), ("to", to)], [("y", y)])
    builder.set_inputs([x, to])
    builder.set_outputs([y])
    plan = builder.build()
    for _ in range(3):
        values = [to_value(np.arange(4, dtype=np.float32)), to_value(np.array([4]))]
        assert from_value(plan.run(values)[0]).tolist() == [0, 1, 2, 3]


def picking():
    """Two elements of x, by an index that may point nowhere."""
    kinds = [("x", FOUR), ("i", helper.make_tensor_type_proto(TensorProto.INT64, [2]))]
    two = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
    return model([helper.make_node("Gather", ["x", "i"], ["y"])], kinds, [("y", two)])


def test_a_query_that_fails_leaves_the_pool_to_the_others(machine):
    builder = PlanBuilder(machine)
    x, i, y = (builder.add_value(name) for name in ("x", "i", "y"))
    builder.add_session("pick", 0, picking(), [("x", x), ("i", i)], [("y", y)])
    builder.set_inputs([x, i])
    builder.set_outputs([y])
    plan = builder.build()

    def ask(*index):
        values = [to_value(np.arange(4, dtype=np.float32)), to_value(np.array(index))]
        return from_value(plan.run(values)[0])

    def addresses():
        return {array.ctypes.data for array in [ask(0, 1) for _ in range(6)]}

    pooled = addresses()
    assert addresses() == pooled
    with pytest.raises(RuntimeError, match="indices"):
        ask(0, 99)
    assert addresses() == pooled
