"""Outputs that are maps: their types as ONNX Runtime says them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from surplus import GraphOptimizationLevel, InferenceSession, SessionOptions
from tests.dropin.pair import Pair

X = np.array([[1, -1], [2, 3]], np.float32)


def classifier(labels: list[int] | list[str]) -> bytes:
    """As converters of scikit-learn's make it."""
    key = TensorProto.STRING if isinstance(labels[0], str) else TensorProto.INT64
    of, into = {
        TensorProto.STRING: ("classlabels_strings", "classlabels_strings"),
        TensorProto.INT64: ("classlabels_ints", "classlabels_int64s"),
    }[key]
    nodes = [
        helper.make_node(
            "LinearClassifier",
            ["x"],
            ["label", "rows"],
            domain="ai.onnx.ml",
            coefficients=[1.0, 2.0, 3.0, 4.0],
            intercepts=[0.0, 0.0],
            post_transform="SOFTMAX",
            **{of: labels},
        ),
        helper.make_node("ZipMap", ["rows"], ["maps"], domain="ai.onnx.ml", **{into: labels}),
    ]
    maps = onnx.ValueInfoProto(name="maps")
    kind = maps.type.sequence_type.elem_type.map_type
    kind.key_type, kind.value_type.tensor_type.elem_type = key, TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "classifier",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2])],
        [helper.make_tensor_value_info("label", key, ["n"]), maps],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return bytes(helper.make_model(graph, ir_version=8, opset_imports=opsets).SerializeToString())


@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"]])
@pytest.mark.parametrize("level", ["ORT_ENABLE_ALL", "ORT_ENABLE_BASIC"])
def test_types_and_rows_are_those_of_onnxruntime(
    labels: list[int] | list[str], level: str, cache: Path
) -> None:
    content = classifier(labels)
    options = SessionOptions()
    options.graph_optimization_level = getattr(GraphOptimizationLevel, level)
    for tune in ("background", "now"):  # as one session, then by a plan
        both = Pair(
            InferenceSession(content, options, devices="cpu:1", cache=cache, tune=tune),
            onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"]),
        )
        both.same_answers(lambda s: [(a.name, a.type, a.shape) for a in s.get_outputs()])
        both.same_answers(lambda s: [list(row) for row in s.run(["maps"], {"x": X})[0]])
