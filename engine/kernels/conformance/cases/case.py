"""A little graph around one operator, and what it is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from surplus.engine.kernels.conformance.aspect import Aspect, types_text

Array = np.ndarray[Any, Any]
Feed = Mapping[str, Array]

EXACT, ELEMENT, ROW, STEP = "exact", "element", "row", "step"
"""How far a library may round otherwise: not at all; each number by itself; numbers that many were
added to, of their row; whole numbers by one step."""


@dataclass(frozen=True)
class Case:
    """A graph and its queries; the first one of ``feeds`` has the sizes that it is compiled for.

    Parameters
    ----------
    operator : str
        As a table names it.
    types : str
        As ``types_text`` says them.
    model : bytes
    feeds : mapping of Aspect to sequence of mapping
        Inputs by what they ask for. Those of ``FINITE`` ask for ``MADE``, too.
    rounding : str
    """

    operator: str
    types: str
    model: bytes
    feeds: Mapping[Aspect, Sequence[Feed]]
    rounding: str


@dataclass(frozen=True)
class Op:
    """One operator of a case: its type, further inputs, attributes.

    Parameters
    ----------
    constants : sequence of array
        Inputs behind those that are asked for; None is one that is left out.
    outputs : sequence of str
        Names of its outputs' element types; empty for one that is left out.
    """

    operator: str
    constants: Sequence[Array | None] = ()
    attributes: Mapping[str, Any] | None = None
    outputs: Sequence[str] = ("float32",)
    opset: int = 18


def tensor_type(dtype: Any) -> int:
    """ONNX's number of an element type."""
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def case(
    node: Op,
    feeds: Mapping[Aspect, Sequence[Sequence[Array]]],
    rounding: str = ELEMENT,
    before: Callable[[str], tuple[list[onnx.NodeProto], str, list[onnx.TensorProto]]] | None = None,
    after: str = "",
) -> Case:
    """A graph of one operator, between others if wanted.

    Parameters
    ----------
    feeds : mapping
        Arrays of its inputs, in their order.
    before : callable, optional
        Makes what stands before the first input: nodes, the name of what they make, constants.
    after : str
        ``Mul`` or another operator that is applied to the first output and a constant.
    """
    first = next(iter(feeds.values()))[0]
    names = [f"x{i}" for i in range(len(first))]
    nodes: list[onnx.NodeProto] = []
    read, held = list(names), [_held(i, c) for i, c in enumerate(node.constants) if c is not None]
    if before is not None:
        made, read[0], constants = before(names[0])
        nodes, held = [*made], [*held, *constants]
    read += [f"c{i}" if c is not None else "" for i, c in enumerate(node.constants)]
    outputs = [f"y{i}" if kind else "" for i, kind in enumerate(node.outputs)]
    nodes.append(helper.make_node(node.operator, read, outputs, **(node.attributes or {})))
    if after:
        nodes.append(helper.make_node(after, [outputs[0], "after"], ["z"]))
        kind = np.dtype(node.outputs[0])
        held.append(numpy_helper.from_array(np.asarray(1.25, kind), "after"))
    ends = [*(["z"] if after else outputs[:1]), *outputs[1:]]
    graph = helper.make_graph(
        nodes,
        node.operator,
        [
            helper.make_tensor_value_info(n, tensor_type(a.dtype), a.shape)
            for n, a in zip(names, first, strict=True)
        ],
        [
            helper.make_tensor_value_info(name, tensor_type(kind), None)
            for name, kind in zip(ends, node.outputs, strict=True)
            if name
        ],
        held,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", node.opset)])
    model.ir_version = 10
    data = first[0] if first else None
    return Case(
        node.operator,
        types_text(data_type(node.operator, first, data), node.outputs[0]),
        model.SerializeToString(),
        {k: [dict(zip(names, row, strict=True)) for row in rows] for k, rows in feeds.items()},
        rounding,
    )


def data_type(operator: str, inputs: Sequence[Array], first: Array | None) -> str:
    """Of the input that a table names: the first, of Where what it chooses from."""
    if operator == "Where":
        return str(inputs[1].dtype)
    return "" if first is None else str(first.dtype)


def _held(index: int, constant: Array) -> onnx.TensorProto:
    return numpy_helper.from_array(constant, f"c{index}")


def after_scale(name: str) -> tuple[list[onnx.NodeProto], str, list[onnx.TensorProto]]:
    """An elementwise product before, so that the operator ends a chain."""
    factor = numpy_helper.from_array(np.array(0.5, np.float32), "scale")
    return [helper.make_node("Mul", [name, "scale"], ["scaled"])], "scaled", [factor]


def after_product(name: str) -> tuple[list[onnx.NodeProto], str, list[onnx.TensorProto]]:
    """A matrix product of positive weights before, so that the operator is its activation."""
    weights = np.abs(np.random.default_rng(3).standard_normal((8, 16))).astype(np.float32)
    held = numpy_helper.from_array(weights, "weights")
    return [helper.make_node("MatMul", [name, "weights"], ["product"])], "product", [held]


def after_convolution(name: str) -> tuple[list[onnx.NodeProto], str, list[onnx.TensorProto]]:
    """The same of a convolution."""
    weights = np.abs(np.random.default_rng(4).standard_normal((8, 2, 1, 1))).astype(np.float32)
    held = numpy_helper.from_array(weights, "kernel")
    return [helper.make_node("Conv", [name, "kernel"], ["convolved"])], "convolved", [held]


Makers = Callable[[], Iterator[Case]]
