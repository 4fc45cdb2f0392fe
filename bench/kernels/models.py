"""The models that kernels are compared on: light zoo, registry, an LSTM, a quantised one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.backend
from onnx import TensorProto, helper, numpy_helper

from bench.infrastructure.built_models import FOLDER, built

LIGHT = (
    "inception_v1",
    "inception_v2",
    "densenet121",
    "zfnet512",
    "shufflenet",
    "squeezenet",
    "bvlc_alexnet",
)
BUILT: dict[str, dict[str, Any]] = {
    "resnet50": {},
    "efficientnet_b0": {},
    "googlenet": {},
    "inception_v3": {},
    "mobilenet_v2": {},
    "ssd_mobilenet_v1": {},
    "tiny_yolov2": {},
    "faster_rcnn": {},
    "bert_base": {"layers": 6, "hidden": 384, "sequence": 64},
    "dlrm": {},
    "deepfm": {},
    "two_tower": {},
    "multi_task": {},
    "random_wide": {},
    "lenet": {},
}
OWN = ("lstm", "resnet18_qdq")

_LIGHT_FOLDER = Path(onnx.backend.__file__).parent / "test/data/light"

Inputs = dict[str, np.ndarray[Any, Any]]


def names() -> list[str]:
    """All of them."""
    return [*LIGHT, *BUILT, *OWN]


def model_of(name: str) -> tuple[Path, Inputs]:
    """A model's file and example inputs."""
    if name in BUILT:
        return built(name, **BUILT[name])
    if name == "lstm":
        return _lstm(FOLDER / "lstm.onnx")
    if name == "resnet18_qdq":
        return _quantised(FOLDER / "resnet18_qdq.onnx")
    return _light(name)


def _light(name: str) -> tuple[Path, Inputs]:
    path = _LIGHT_FOLDER / f"light_{name}.onnx"
    graph = onnx.load(path, load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    (given,) = (value for value in graph.input if value.name not in weights)
    shape = [d.dim_value for d in given.type.tensor_type.shape.dim]
    return path, {given.name: np.random.default_rng(0).standard_normal(shape).astype(np.float32)}


def _lstm(
    path: Path, steps: int = 100, features: int = 64, hidden: int = 128
) -> tuple[Path, Inputs]:
    """Two layers of a voice detector."""
    random = np.random.default_rng(0)
    weights, nodes, before, width = [], [], "x", features
    for layer in range(2):
        for kind, shape in (("w", (1, 4 * hidden, width)), ("r", (1, 4 * hidden, hidden))):
            data = (random.standard_normal(shape) * 0.1).astype(np.float32)
            weights.append(numpy_helper.from_array(data, f"{kind}{layer}"))
        nodes.append(
            helper.make_node(
                "LSTM", [before, f"w{layer}", f"r{layer}"], [f"h{layer}"], hidden_size=hidden
            )
        )
        nodes.append(helper.make_node("Squeeze", [f"h{layer}", "axis"], [f"s{layer}"]))
        before, width = f"s{layer}", hidden
    head = (random.standard_normal((hidden, 2)) * 0.1).astype(np.float32)
    nodes.append(helper.make_node("MatMul", [before, "head"], ["logits"]))
    nodes.append(helper.make_node("Softmax", ["logits"], ["y"]))
    weights.append(numpy_helper.from_array(head, "head"))
    weights.append(numpy_helper.from_array(np.array([1], np.int64), "axis"))
    graph = helper.make_graph(
        nodes,
        "lstm",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [steps, 1, features])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [steps, 1, 2])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, path)
    return path, {"x": random.standard_normal((steps, 1, features)).astype(np.float32)}


def _quantised(path: Path) -> tuple[Path, Inputs]:
    """ResNet-18 as ONNX Runtime's tools quantise it, with random images to calibrate."""
    source, inputs = built("resnet18")
    if not path.exists():
        from onnxruntime import quantization

        class Images(quantization.CalibrationDataReader):  # type: ignore[misc]
            """A few of them."""

            def __init__(self) -> None:
                random = np.random.default_rng(1)
                self._left = [
                    {n: random.standard_normal(a.shape).astype(a.dtype) for n, a in inputs.items()}
                    for _ in range(4)
                ]

            def get_next(self) -> Inputs | None:
                return self._left.pop() if self._left else None

        quantization.quantize_static(source, path, Images())
    return path, inputs
