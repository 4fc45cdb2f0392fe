"""What conformance is tested with: small models whose answers anybody can tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from surplus.engine.serving.datatypes import DATATYPES

ONNX_TYPES = {
    "BOOL": TensorProto.BOOL,
    "UINT8": TensorProto.UINT8,
    "UINT16": TensorProto.UINT16,
    "UINT32": TensorProto.UINT32,
    "UINT64": TensorProto.UINT64,
    "INT8": TensorProto.INT8,
    "INT16": TensorProto.INT16,
    "INT32": TensorProto.INT32,
    "INT64": TensorProto.INT64,
    "FP16": TensorProto.FLOAT16,
    "FP32": TensorProto.FLOAT,
    "FP64": TensorProto.DOUBLE,
    "BF16": TensorProto.BFLOAT16,
    "BYTES": TensorProto.STRING,
}
assert set(ONNX_TYPES) == set(DATATYPES)


@dataclass(frozen=True)
class Signature:
    """Inputs and outputs by name: datatype and dimensions, -1 for any size."""

    inputs: dict[str, tuple[str, tuple[int, ...]]]
    outputs: dict[str, tuple[str, tuple[int, ...]]]


@dataclass(frozen=True)
class SmallModel:
    """A model twice over.

    Parameters
    ----------
    nodes : list
        Of ONNX.
    python : str
        A function body for Triton's Python backend: from ``inputs`` to a dict of outputs.
    """

    name: str
    signature: Signature
    nodes: list[onnx.NodeProto]
    python: str

    def write_onnx(self, folder: Path) -> Path:
        """As a file."""
        values = [
            [
                helper.make_tensor_value_info(
                    name,
                    ONNX_TYPES[kind],
                    [f"{name}{i}" if d < 0 else d for i, d in enumerate(dims)],
                )
                for name, (kind, dims) in tensors.items()
            ]
            for tensors in (self.signature.inputs, self.signature.outputs)
        ]
        graph = helper.make_graph(self.nodes, self.name, *values)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        file = folder / f"{self.name}.onnx"
        onnx.save(model, file)
        return file


def identity(datatype: str) -> SmallModel:
    """``y`` is ``x``, a vector."""
    vector = {"x": (datatype, (-1,))}, {"y": (datatype, (-1,))}
    return SmallModel(
        f"identity_{datatype}",
        Signature(*vector),
        [helper.make_node("Identity", ["x"], ["y"])],
        'return {"y": inputs["x"]}',
    )


def arithmetic() -> SmallModel:
    """Sum and difference of two matrices of four columns."""
    matrix = "FP32", (-1, 4)
    return SmallModel(
        "arithmetic",
        Signature({"a": matrix, "b": matrix}, {"sum": matrix, "difference": matrix}),
        [
            helper.make_node("Add", ["a", "b"], ["sum"]),
            helper.make_node("Sub", ["a", "b"], ["difference"]),
        ],
        'return {"sum": inputs["a"] + inputs["b"], "difference": inputs["a"] - inputs["b"]}',
    )


def models() -> Iterator[SmallModel]:
    """All of them."""
    for datatype in DATATYPES:
        yield identity(datatype)
    yield arithmetic()
