"""A source without torch: numpy answers, ONNX built by hand, faults on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from surplus.engine.convert.source import ExportRequest, ForwardError
from surplus.engine.errors import ConversionError

Array = np.ndarray[Any, Any]
WEIGHT = np.arange(12, dtype=np.float32).reshape(4, 3) / 10


def answer(inputs: Mapping[str, Array]) -> list[Array]:
    (x,) = inputs.values()
    return [x @ WEIGHT, np.maximum(x, 0)]


@dataclass
class FakeSource:
    """``x @ weight`` and ``relu(x)``, for x of (batch, 4); each exporter writes its own weight.

    A weight of None has no ONNX form.
    """

    weights: dict[str, Array | None] = field(default_factory=lambda: {"first": WEIGHT})
    answered: Callable[[Mapping[str, Array]], list[Array]] = answer
    refused: tuple[int, ...] = ()
    names: Sequence[str] = ("product", "relu")
    exports: list[str] = field(default_factory=list)

    @property
    def exporters(self) -> Sequence[str]:
        return tuple(self.weights)

    def output_names(self, inputs: Mapping[str, Array]) -> list[str]:
        return list(self.names)

    def answer(self, inputs: Mapping[str, Array]) -> list[Array]:
        size = next(iter(inputs.values())).shape[0]
        if size in self.refused:
            raise ForwardError(f"fails: cannot take {size}")
        return self.answered(inputs)

    def export(self, exporter: str, request: ExportRequest, path: Path) -> list[str]:
        self.exports.append(exporter)
        weight = self.weights[exporter]
        if weight is None:
            raise ConversionError("operator aten::fancy has no ONNX form")
        onnx.save(model_of(request, weight), path)
        return [f"note of {exporter}"]


def model_of(request: ExportRequest, weight: Array) -> onnx.ModelProto:
    """The hand-made model; its values inside are called ``x``, ``relu`` and ``weight``."""
    (given,), (product, relu) = request.input_names, request.output_names
    shape = [axis.name or axis.size for axis in request.specs[0].axes]
    nodes = [
        helper.make_node("Identity", [given], ["x"]),
        helper.make_node("MatMul", ["x", "weight"], [product], doc_string="/home/me/net.py"),
        helper.make_node("Neg", ["x"], ["relu"]),
        helper.make_node("Neg", ["relu"], ["weight.1"]),
        helper.make_node("Relu", ["weight.1"], [relu]),
    ]
    graph = helper.make_graph(
        nodes,
        "fake",
        [helper.make_tensor_value_info(given, TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in (product, relu)],
        [numpy_helper.from_array(weight, "weight")],
    )
    opset = helper.make_opsetid("", request.opset or 18)
    return helper.make_model(graph, opset_imports=[opset], ir_version=9)
