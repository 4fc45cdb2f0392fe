"""Small valid models whose queries end the process in ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Query = dict[str, Any]


def _saved(path: Path, nodes: list[onnx.NodeProto], ends: Query, weights: Query) -> Path:
    """A model with the inputs of ``ends`` (element type, shape) and one output ``y``."""
    value = helper.make_tensor_value_info
    inputs = [value(name, kind, shape) for name, (kind, shape) in ends.items()]
    kind = next(iter(ends.values()))[0]
    constants = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "fatal", inputs, [value("y", kind, None)], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def _zeros(*shape: int) -> np.ndarray[Any, Any]:
    return np.zeros(shape, np.float32)


def recurrent(kind: str, gates: int, path: Path) -> Path:
    """A batch of none, [3, 0, 5], which is 42 bytes as a request: std::terminate."""
    node = helper.make_node(kind, ["x", "w", "r"], ["y"], hidden_size=6)
    weights = {"w": _zeros(1, gates * 6, 5), "r": _zeros(1, gates * 6, 6)}
    return _saved(path, [node], {"x": (TensorProto.FLOAT, ["time", "batch", 5])}, weights)


def convolution(path: Path) -> Path:
    """Weights of no extent, as an input: never ends."""
    ends = {name: (TensorProto.FLOAT, [None] * 4) for name in "xw"}
    return _saved(path, [helper.make_node("Conv", ["x", "w"], ["y"])], ends, {})


def fused(path: Path) -> Path:
    """A product of nothing by nothing, which several threads share out once it is of integers."""
    nodes = [
        helper.make_node("Compress", ["x", "none"], ["nothing"], axis=0),
        *(
            helper.make_node(f"{op}Linear", [value, scale, "zero"], [made])
            for side, scale in (("a", "scale"), ("b", "other scale"))
            for op, value, made in (
                ("Quantize", "nothing", f"integers {side}"),
                ("Dequantize", f"integers {side}", side),
            )
        ),
        helper.make_node("Mul", ["a", "b"], ["product"]),
        helper.make_node("QuantizeLinear", ["product", "scale", "zero"], ["integers"]),
        helper.make_node("DequantizeLinear", ["integers", "scale", "zero"], ["y"]),
    ]
    weights = {
        "none": np.zeros(1, np.bool_),
        "scale": np.array(0.5, np.float32),
        "other scale": np.array(0.25, np.float32),
        "zero": np.array(3, np.int8),
    }
    return _saved(path, nodes, {"x": (TensorProto.FLOAT, ["n", 1])}, weights)


def plain(path: Path) -> Path:
    """Operators that do well with nothing."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["t"]), helper.make_node("Relu", ["t"], ["y"])]
    return _saved(
        path,
        nodes,
        {"x": (TensorProto.FLOAT, ["batch", "rows", 4])},
        {"w": np.ones((4, 3), np.float32)},
    )


def fatal_at_once(path: Path) -> Path:
    """Whatever its input: it cuts no steps of it for a GRU."""
    nodes = [
        helper.make_node("Slice", ["x", "none", "none", "first"], ["empty"]),
        helper.make_node("GRU", ["empty", "w", "r"], ["y"], hidden_size=6),
    ]
    weights = {"none": np.zeros(1, np.int64), "first": np.zeros(1, np.int64)}
    weights |= {"w": _zeros(1, 18, 8), "r": _zeros(1, 18, 6)}
    return _saved(path, nodes, {"x": (TensorProto.FLOAT, [2, 4, 8])}, weights)


def fatal_when_opened(path: Path) -> Path:
    """The same of constants, which ONNX Runtime folds."""
    nodes = [
        helper.make_node("GRU", ["empty", "w", "r"], ["sums"], hidden_size=6),
        helper.make_node("ReduceSum", ["sums"], ["sum"], keepdims=0),
        helper.make_node("Add", ["x", "sum"], ["y"]),
    ]
    weights = {"empty": _zeros(0, 4, 8), "w": _zeros(1, 18, 8), "r": _zeros(1, 18, 6)}
    return _saved(path, nodes, {"x": (TensorProto.FLOAT, [2])}, weights)
