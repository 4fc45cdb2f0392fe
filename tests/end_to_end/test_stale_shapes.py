"""A file whose exporter wrote down the sizes that it saw loads without them, for every size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from surplus.engine.native import open_session
from surplus.engine.pipeline.load import load_planned
from surplus.engine.values import from_value, to_value

SEEN = (2, 17)
"""Batch and time of the example that the exporter was given."""


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As torch's exporter writes a text's LSTM: inputs are open, all within is what it saw."""
    batch, time = SEEN
    rng = np.random.default_rng(0)
    weights = {
        "table": rng.standard_normal((50, 8)),
        "w": rng.standard_normal((2, 64, 8)) / 4,
        "r": rng.standard_normal((2, 64, 16)) / 4,
        "head": rng.standard_normal((32, 5)) / 4,
    }
    nodes = [
        helper.make_node("Gather", ["table", "tokens"], ["embedded"]),
        helper.make_node("Transpose", ["embedded"], ["by_time"], perm=[1, 0, 2]),
        helper.make_node(
            "LSTM", ["by_time", "w", "r"], ["states"], hidden_size=16, direction="bidirectional"
        ),
        helper.make_node("Transpose", ["states"], ["by_batch"], perm=[2, 0, 1, 3]),
        helper.make_node("Reshape", ["by_batch", "joined"], ["features"]),
        helper.make_node("MatMul", ["features", "head"], ["scores"]),
    ]
    seen = {
        "embedded": [batch, time, 8],
        "by_time": [time, batch, 8],
        "states": [time, 2, batch, 16],
        "by_batch": [batch, time, 2, 16],
        "features": [batch, time, 32],
    }
    graph = helper.make_graph(
        nodes,
        "tagger",
        [helper.make_tensor_value_info("tokens", TensorProto.INT64, ["batch", "time"])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [batch, time, 5])],
        [
            *(numpy_helper.from_array(a.astype(np.float32), name) for name, a in weights.items()),
            numpy_helper.from_array(np.array([0, 0, 32]), "joined"),
        ],
        value_info=[
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in seen.items()
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path_factory.mktemp("stale") / "tagger.onnx"
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("devices", ["cpu:2", "cpu:1,emulated:gpu"])
def test_it_is_planned_without_example_inputs(tagger: Path, tmp_path: Path, devices: str) -> None:
    """Profiling runs each task alone, at sizes made up; else the whole model runs, unplanned."""
    model = load_planned(tagger, devices, cache=tmp_path, tune="now")
    assert model.plan.policy != "whole"
    plain = open_session(str(tagger), level="disable_all")
    for shape in (SEEN, (1, 1), (3, 128), (5, 16)):
        tokens = np.random.default_rng(shape[1]).integers(0, 50, shape)
        (right,) = plain.run({"tokens": to_value(tokens)})
        found = model.run({"tokens": tokens})["scores"]
        np.testing.assert_allclose(found, from_value(right), rtol=1e-5, atol=1e-6, strict=True)
