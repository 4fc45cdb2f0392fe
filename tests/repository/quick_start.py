"""Repositories as Triton's quick start and examples have them, of models of our own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CLASSES = 10
SIDE = 8

DENSENET = f"""
name: "densenet_onnx"
platform: "onnxruntime_onnx"
max_batch_size : 0
input [
  {{
    name: "data_0"
    data_type: TYPE_FP32
    format: FORMAT_NCHW
    dims: [ 3, {SIDE}, {SIDE} ]
    reshape {{ shape: [ 1, 3, {SIDE}, {SIDE} ] }}
  }}
]
output [
  {{
    name: "fc6_1"
    data_type: TYPE_FP32
    dims: [ {CLASSES} ]
    reshape {{ shape: [ 1, {CLASSES}, 1, 1 ] }}
    label_filename: "densenet_labels.txt"
  }}
]
"""

BATCHED = """
name: "onnx_batched"
backend: "onnxruntime"
max_batch_size: 8
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [
  { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 4 ] }
]
instance_group [ { kind: KIND_CPU count: 1 } ]
parameters { key: "team" value: { string_value: "vision" } }
"""


def densenet_repository(root: Path) -> Path:
    """The quick start's: an image classifier of one image, with labels."""
    folder = root / "densenet_onnx"
    save(classifier(), folder / "1" / "model.onnx")
    folder.joinpath("config.pbtxt").write_text(DENSENET)
    labels = "\n".join(f"CLASS {number}" for number in range(CLASSES))
    folder.joinpath("densenet_labels.txt").write_text(labels + "\n")
    return root


def batched_repository(root: Path) -> Path:
    """A batched model of two outputs, of which one is offered."""
    folder = root / "onnx_batched"
    save(scaled(2.0), folder / "1" / "model.onnx")
    folder.joinpath("config.pbtxt").write_text(BATCHED)
    return root


def save(model: onnx.ModelProto, path: Path) -> Path:
    """Write a model as a whole: whoever looks meanwhile sees the one before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    beside.write_bytes(model.SerializeToString())
    beside.replace(path)
    return path


def scaled(factor: float) -> onnx.ModelProto:
    """``OUTPUT0`` is the input times a number, ``OUTPUT1`` the sum of each row."""
    nodes = [
        helper.make_node("Mul", ["INPUT0", "factor"], ["OUTPUT0"]),
        helper.make_node("ReduceSum", ["INPUT0", "axes"], ["OUTPUT1"]),
    ]
    weights = [
        numpy_helper.from_array(np.float32([factor]), "factor"),
        numpy_helper.from_array(np.int64([1]), "axes"),
    ]
    return _model(
        nodes, {"INPUT0": ["batch", 4]}, {"OUTPUT0": ["batch", 4], "OUTPUT1": ["batch", 1]}, weights
    )


def classifier() -> onnx.ModelProto:
    """A convolution as large as the image: a score for each class."""
    weights = np.random.default_rng(1).standard_normal((CLASSES, 3, SIDE, SIDE), np.float32)
    return _model(
        [helper.make_node("Conv", ["data_0", "w"], ["fc6_1"])],
        {"data_0": [1, 3, SIDE, SIDE]},
        {"fc6_1": [1, CLASSES, 1, 1]},
        [numpy_helper.from_array(weights, "w")],
    )


def _model(nodes, inputs, outputs, weights) -> onnx.ModelProto:
    def infos(tensors):
        return [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in tensors.items()
        ]

    graph = helper.make_graph(nodes, "graph", infos(inputs), infos(outputs), weights)
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8)
