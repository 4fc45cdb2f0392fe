"""Rules of control flow, whose bodies read values from outside, and of sequences."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper

from bench.fuzzing.growing import Growing
from bench.fuzzing.rules import is_bool, is_number, is_single, rule


@rule
def branches(g: Growing) -> None:
    """An If whose branches read values from outside; which one is taken depends on data."""
    flag = g.any(lambda v: is_bool(v) and v.size == 1)
    name = g.any(is_single)
    if name and flag is None:
        total = g.op("ReduceMax", [name], keepdims=0)
        zero = g.constant(np.array(0.00137, np.float32))
        made = total and g.op("Greater", [total[0], zero])
        flag = made[0] if made else None
    if name and flag:
        first, second = (_branch(g, kind, name) for kind in ("Neg", "Abs"))
        g.op("If", [flag], then_branch=first, else_branch=second)


@rule
def loop(g: Growing) -> None:
    """A few trips that carry one value, read another from outside, and stack what they make."""
    carried = g.any(lambda v: is_single(v) and v.size < 200)
    captured = carried and g.any(lambda v: is_single(v) and v.shape == g.value(carried).shape)
    if carried is None or captured is None:
        return
    i, on, state, out, kept, still = (g.name("b") for _ in range(6))
    body = helper.make_graph(
        [
            helper.make_node("Max", [state, captured], [out]),
            helper.make_node("Neg", [out], [kept]),
            helper.make_node("Identity", [on], [still]),
        ],
        "body",
        [
            helper.make_tensor_value_info(i, TensorProto.INT64, []),
            helper.make_tensor_value_info(on, TensorProto.BOOL, []),
            helper.make_tensor_value_info(state, TensorProto.FLOAT, None),
        ],
        [
            helper.make_tensor_value_info(still, TensorProto.BOOL, []),
            helper.make_tensor_value_info(out, TensorProto.FLOAT, None),
            helper.make_tensor_value_info(kept, TensorProto.FLOAT, None),
        ],
    )
    trips = g.constant(np.array(g.random.choice((0, 1, 3)), np.int64))
    go = g.constant(np.array(True))
    g.op("Loop", [trips, g.random.choice(("", go)), carried], outputs=2, body=body)


@rule
def scan(g: Growing) -> None:
    """A running sum along the first axis."""
    name = g.any(lambda v: is_single(v) and v.ndim >= 1 and 0 < v.size < 500)
    if name is None:
        return
    shape = g.value(name).shape[1:]
    start = g.constant(np.zeros(shape, np.float32))
    state, item, total, kept = (g.name("b") for _ in range(4))
    body = helper.make_graph(
        [
            helper.make_node("Add", [state, item], [total]),
            helper.make_node("Tanh", [total], [kept]),
        ],
        "body",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in (state, item)],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in (total, kept)],
    )
    g.op("Scan", [start, name], outputs=2, body=body, num_scan_inputs=1)


@rule
def sequence(g: Growing) -> None:
    """Tensors that are put into a sequence, and one that is taken out again."""
    first = g.any(is_number)
    second = first and g.any(lambda v: v.dtype == g.value(first).dtype)
    if first is None or second is None:
        return
    items, made = g.name(), g.name()
    at = g.constant(np.array(g.random.choice((0, 1, -1)), np.int64))
    g.nodes += [
        helper.make_node("SequenceConstruct", [first, second], [items]),
        helper.make_node("SequenceAt", [items, at], [made]),
    ]
    place = int(g.value(at))
    g.values[made] = g.value((first, second)[place])


def _branch(g: Growing, kind: str, captured: str) -> onnx.GraphProto:
    name = g.name("b")
    return helper.make_graph(
        [helper.make_node(kind, [captured], [name])],
        name,
        [],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)],
    )
