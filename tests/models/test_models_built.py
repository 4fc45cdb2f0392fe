"""Every registered model: valid, runnable, deterministic, and of the shape that it claims."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest

import models

# Parameters that keep a model's graph and shrink its work.
SMALL: dict[str, dict[str, Any]] = {
    "bert_base": {"hidden": 64, "vocabulary": 100, "sequence": 32},
    "bert_large": {"hidden": 64, "vocabulary": 100, "sequence": 32},
    "deepfm": {"rows": 100, "batch": 8},
    "dlrm": {"rows": 100, "batch": 8},
    "faster_rcnn": {"image_size": 128, "proposals": 100},
    "inception_v3": {"image_size": 107},
    "mask_rcnn": {"image_size": 128, "proposals": 100},
    "mobilenet_v2": {"image_size": 64},
    "moe": {"hidden": 16, "tokens": 8},
    "resnet50": {"image_size": 64},
    "two_tower": {"rows": 100, "batch": 8, "hidden": 32},
}

# Nodes, widest fan-in, widest fan-out, widest level; ranges where the original is not exact.
GRAPHS: dict[str, tuple[range, range, range, range]] = {
    "bert_base": (range(577, 706), range(2, 3), range(12, 13), range(3, 5)),
    "bert_large": (range(1149, 1278), range(2, 3), range(24, 25), range(3, 5)),
    "chain": (range(100, 101), range(1, 2), range(1, 2), range(1, 2)),
    "deepfm": (range(165, 166), range(39, 40), range(3, 4), range(65, 66)),
    "diamonds": (range(100, 101), range(4, 5), range(4, 5), range(4, 5)),
    "dlrm": (range(112, 137), range(27, 28), range(26, 27), range(27, 28)),
    "faster_rcnn": (range(1575, 1926), range(80, 81), range(81, 82), range(160, 161)),
    "fork_join": (range(482, 483), range(80, 81), range(80, 81), range(80, 81)),
    "inception_v3": (range(194, 237), range(4, 5), range(4, 5), range(4, 7)),
    "lenet": (range(12, 13), range(1, 2), range(1, 2), range(1, 2)),
    "mask_rcnn": (range(1638, 2003), range(80, 81), range(81, 82), range(160, 161)),
    "mobilenet_v2": (range(100, 101), range(2, 3), range(2, 3), range(1, 2)),
    "moe": (range(47, 48), range(8, 9), range(9, 10), range(9, 10)),
    "multi_task": (range(164, 165), range(1, 2), range(16, 17), range(16, 17)),
    "random_dag": (range(501, 502), range(20, 101), range(4, 20), range(5, 41)),
    "random_wide": (range(482, 483), range(80, 81), range(80, 81), range(80, 81)),
    "resnet50": (range(122, 123), range(2, 3), range(2, 3), range(2, 3)),
    "ssd": (range(140, 180), range(6, 7), range(2, 7), range(2, 13)),
    "ssd_per_class": (range(1587, 1940), range(80, 81), range(80, 82), range(160, 161)),
    "two_tower": (range(59, 60), range(11, 12), range(2, 3), range(19, 20)),
}


@pytest.fixture(scope="module", params=models.model_names())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def model(name: str, built: Callable) -> onnx.ModelProto:
    return built(name, **SMALL.get(name, {}))


def test_passes_the_checker_and_runs(name: str, model: onnx.ModelProto, run: Callable) -> None:
    onnx.checker.check_model(model)
    inputs = models.example_inputs(name, **SMALL.get(name, {}))
    for output in run(model, inputs).values():
        assert output.size > 0
        assert np.isfinite(output).all()


def test_same_bytes_each_time(name: str, model: onnx.ModelProto) -> None:
    again = models.build(name, **SMALL.get(name, {}))
    assert again.SerializeToString(deterministic=True) == model.SerializeToString(
        deterministic=True
    )


def test_example_inputs_follow_the_seed(name: str) -> None:
    params = SMALL.get(name, {})
    first, again, other = (models.example_inputs(name, seed, **params) for seed in (0, 0, 1))
    assert all(np.array_equal(first[key], again[key]) for key in first)
    assert any(not np.array_equal(first[key], other[key]) for key in first)


def test_graph_has_the_claimed_shape(
    name: str, model: onnx.ModelProto, basic_shape: Callable
) -> None:
    shape = basic_shape(model)
    nodes, max_in, max_out, widest = GRAPHS[name]
    assert shape.nodes in nodes
    assert shape.max_in in max_in
    assert shape.max_out in max_out
    assert shape.widest_level in widest
