"""Models of a few operators of each kind that there is a template for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from surplus.engine.dfg.graph import Graph
from surplus.engine.native import load_runtime
from surplus.engine.planning.stages import read_model

OPSET = 14


class Maker:
    """Writes a model, operator by operator."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(11)
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def weight(self, *shape: int) -> str:
        values = self._random.standard_normal(shape, np.float32) / np.sqrt(max(1, shape[-1]))
        return self.constant(values.astype(np.float32))

    def constant(self, values: np.ndarray) -> str:  # type: ignore[type-arg]
        name = f"constant{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(values, name))
        return name

    def scalar(self, value: float) -> str:
        return self.constant(np.float32(value).reshape(()))

    def op(self, kind: str, *inputs: str, **attributes: object) -> str:
        output = f"{kind.lower()}{len(self._nodes)}"
        node = helper.make_node(kind, list(inputs), [output], output, **attributes)
        self._nodes.append(node)
        return output

    def save(
        self, path: Path, inputs: dict[str, Sequence[int | str]], output: tuple[str, int]
    ) -> Path:
        value = helper.make_tensor_value_info
        ins = [value(name, TensorProto.FLOAT, list(dims)) for name, dims in inputs.items()]
        name, rank = output
        outs = [value(name, TensorProto.FLOAT, ["n", *[None] * (rank - 1)])]
        graph = helper.make_graph(self._nodes, path.stem, ins, outs, self._constants)
        opsets = [helper.make_opsetid("", OPSET)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
        return path


def bottleneck(folder: Path) -> Path:
    """Convolutions: padded, strided, by channel, with a clip, with a residual, of odd channels."""
    m = Maker()
    x = m.op("Conv", "x", m.weight(40, 24, 1, 1), m.weight(40))
    x = m.op("Clip", x, m.scalar(0.0), m.scalar(6.0))
    pads = {"pads": [1, 1, 1, 1]}
    x = m.op("Conv", x, m.weight(40, 1, 3, 3), m.weight(40), group=40, strides=[2, 2], **pads)
    x = m.op("Clip", x, m.scalar(0.0), m.scalar(6.0))
    y = m.op("Conv", x, m.weight(32, 40, 3, 3), **pads)
    x = m.op("Conv", x, m.weight(32, 40, 1, 1), m.weight(32))
    x = m.op("Relu", m.op("Add", y, x))
    return m.save(folder / "bottleneck.onnx", {"x": ["n", 24, 14, 14]}, (x, 4))


def attention(folder: Path) -> Path:
    """A transformer's layer: products, heads, a mask, softmax, normalisation, GELU."""
    m = Maker()
    x = m.op("MatMul", "x", m.weight(32, 32))
    q, k, v = (m.op("Add", m.op("MatMul", x, m.weight(32, 32)), m.weight(32)) for _ in range(3))
    shape = m.constant(np.array([0, 0, 2, 16], np.int64))
    q = m.op("Transpose", m.op("Reshape", q, shape), perm=[0, 2, 1, 3])
    k = m.op("Transpose", m.op("Reshape", k, shape), perm=[0, 2, 3, 1])
    v = m.op("Transpose", m.op("Reshape", v, shape), perm=[0, 2, 1, 3])
    logits = m.op("Add", m.op("Div", m.op("MatMul", q, k), m.scalar(4.0)), "mask")
    heads = m.op("MatMul", m.op("Softmax", logits, axis=-1), v)
    joined = m.op("Transpose", heads, perm=[0, 2, 1, 3])
    joined = m.op("Reshape", joined, m.constant(np.array([0, 0, 32], np.int64)))
    x = normalised(m, m.op("Add", m.op("MatMul", joined, m.weight(32, 32)), x))
    wide = m.op("Add", m.op("MatMul", x, m.weight(32, 64)), m.weight(64))
    half = m.op("Add", m.op("Erf", m.op("Div", wide, m.scalar(2**0.5))), m.scalar(1.0))
    wide = m.op("Mul", m.op("Mul", wide, half), m.scalar(0.5))
    x = normalised(m, m.op("Add", m.op("MatMul", wide, m.weight(64, 32)), x))
    inputs = {"x": ["n", 16, 32], "mask": ["n", 1, 1, 16]}
    return m.save(folder / "attention.onnx", inputs, (x, 3))


def normalised(m: Maker, x: str) -> str:
    apart = m.op("Sub", x, m.op("ReduceMean", x, axes=[-1]))
    spread = m.op("ReduceMean", m.op("Pow", apart, m.scalar(2.0)), axes=[-1])
    root = m.op("Sqrt", m.op("Add", spread, m.scalar(1e-5)))
    return m.op("Add", m.op("Mul", m.op("Div", apart, root), m.weight(32)), m.weight(32))


def graph_of(path: Path) -> Graph:
    load_runtime()
    return read_model(path, path.parent / "cache")
