"""Small models of these tests: a perceptron, and a click model of whole numbers and no numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROWS, WIDTH = 4, 64
FIELDS, SLOTS, EMBEDDED = 30, 1000, 8


def perceptron(path: Path) -> Path:
    """Two layers, the batch left open."""
    random = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(random.standard_normal((WIDTH, WIDTH)).astype(np.float32), name)
        for name in ("w", "v")
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "v"], ["y"]),
    ]
    return _saved(path, nodes, {"x": (1, ["n", WIDTH])}, {"y": (1, ["n", WIDTH])}, weights)


def hashed(path: Path) -> Path:
    """A click model: identifiers hashed into fields, compared, added up; a layer that meets NaN."""
    random = np.random.default_rng(0)
    floats = {"w": (WIDTH, WIDTH), "v": (FIELDS * EMBEDDED, WIDTH)}
    floats |= {f"table{k}": (SLOTS, EMBEDDED) for k in range(FIELDS)}
    wholes = {"slots": SLOTS, **{f"factor{k}": 31 + 2 * k for k in range(FIELDS)}}
    constants = [
        numpy_helper.from_array(0.1 * random.standard_normal(shape).astype(np.float32), name)
        for name, shape in floats.items()
    ]
    constants += [numpy_helper.from_array(np.array([v], np.int64), k) for k, v in wholes.items()]
    nodes = [node for k in range(FIELDS) for node in _field(k)]
    nodes += [
        helper.make_node("Concat", [f"field{k}" for k in range(FIELDS)], ["fields"], axis=1),
        helper.make_node("MatMul", ["fields", "v"], ["clicks"]),
        helper.make_node("Equal", ["user", "item"], ["same"]),
        helper.make_node("ReduceSum", ["key0"], ["total"], keepdims=0),
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Relu", ["a"], ["y"]),
    ]
    inputs = {"user": (7, ["n"]), "item": (7, ["n"]), "x": (1, ["n", WIDTH])}
    outputs = {
        "same": (TensorProto.BOOL, ["n"]),
        "total": (TensorProto.INT64, []),
        "y": (TensorProto.FLOAT, ["n", WIDTH]),
        "clicks": (TensorProto.FLOAT, ["n", WIDTH]),
    }
    return _saved(path, nodes, inputs, outputs, constants)


def _field(k: int) -> list[onnx.NodeProto]:
    return [
        helper.make_node("Mul", ["user", f"factor{k}"], [f"product{k}"]),
        helper.make_node("Add", [f"product{k}", "item"], [f"key{k}"]),
        helper.make_node("Mod", [f"key{k}", "slots"], [f"slot{k}"]),
        helper.make_node("Gather", [f"table{k}", f"slot{k}"], [f"field{k}"]),
    ]


def ones() -> dict[str, Any]:
    """A query of the perceptron."""
    return {"x": np.ones((ROWS, WIDTH), np.float32)}


def adversarial() -> dict[str, Any]:
    """A query of the other: beyond 2^24 and 2^31, negative, equal, infinite, no number."""
    x = np.ones((ROWS, WIDTH), np.float32)
    x[0, 0], x[1, 0], x[2, 0] = np.nan, np.inf, -np.inf
    user = np.array([16777217, 2**40 + 1, -(2**33) - 1, 2**62], np.int64)
    return {"user": user, "item": np.array([16777216, 2**40, -(2**33), 2**62], np.int64), "x": x}


def _saved(path: Path, nodes: Any, inputs: Any, outputs: Any, constants: Any) -> Path:
    rows = ([helper.make_tensor_value_info(k, *v) for k, v in s.items()] for s in (inputs, outputs))
    made = helper.make_graph(nodes, path.stem, *rows, constants)
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(made, opset_imports=[opset], ir_version=9), path)
    return path
