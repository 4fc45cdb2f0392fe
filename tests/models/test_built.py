"""Every registered model: valid, runnable, deterministic, and of the shape that it claims."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest

from surplus import models

# Parameters that keep a model's graph and shrink its work.
SMALL: dict[str, dict[str, Any]] = {
    "alexnet": {"image_size": 63, "hidden": 64},
    "bert_base": {"hidden": 64, "vocabulary": 100, "sequence": 32},
    "bert_large": {"hidden": 64, "vocabulary": 100, "sequence": 32},
    "deepfm": {"rows": 100, "batch": 8},
    "densenet121": {"image_size": 64, "growth": 8},
    "densenet161": {"image_size": 64, "growth": 8},
    "dlrm": {"rows": 100, "batch": 8},
    "efficientnet_b0": {"image_size": 64},
    "faster_rcnn": {"image_size": 128, "proposals": 100},
    "googlenet": {"image_size": 64},
    "inception_v3": {"image_size": 107},
    "mask_rcnn": {"image_size": 128, "proposals": 100},
    "mnasnet": {"image_size": 64},
    "mobilenet_v2": {"image_size": 64},
    "moe": {"hidden": 16, "tokens": 8},
    "resnet101": {"image_size": 64, "width": 16},
    "resnet152": {"image_size": 64, "width": 16},
    "resnet18": {"image_size": 64, "width": 16},
    "resnet50": {"image_size": 64},
    "resnext50": {"image_size": 64, "width": 16},
    "shufflenet_v2": {"image_size": 64},
    "squeezenet": {"image_size": 64},
    "tiny_yolov2": {"image_size": 64, "width": 4},
    "two_tower": {"rows": 100, "batch": 8, "hidden": 32},
    "vgg16": {"image_size": 64, "width": 8, "hidden": 64},
    "vgg19": {"image_size": 64, "width": 8, "hidden": 64},
}

# Nodes, widest fan-in, widest fan-out, widest level; ranges where the original is not exact.
GRAPHS: dict[str, tuple[range, range, range, range]] = {
    "alexnet": (range(19, 20), range(1, 2), range(1, 2), range(1, 2)),
    "bert_base": (range(577, 706), range(2, 3), range(12, 13), range(3, 5)),
    "bert_large": (range(1149, 1278), range(2, 3), range(24, 25), range(3, 5)),
    "chain": (range(100, 101), range(1, 2), range(1, 2), range(1, 2)),
    "deepfm": (range(165, 166), range(39, 40), range(3, 4), range(65, 66)),
    "densenet121": (range(368, 369), range(25, 26), range(25, 26), range(1, 2)),
    "densenet161": (range(488, 489), range(37, 38), range(37, 38), range(1, 2)),
    "diamonds": (range(100, 101), range(4, 5), range(4, 5), range(4, 5)),
    "dlrm": (range(112, 137), range(27, 28), range(26, 27), range(27, 28)),
    "efficientnet_b0": (range(239, 240), range(2, 3), range(2, 3), range(1, 2)),
    "faster_rcnn": (range(1575, 1926), range(80, 81), range(81, 82), range(160, 161)),
    "fork_join": (range(482, 483), range(80, 81), range(80, 81), range(80, 81)),
    "googlenet": (range(141, 142), range(4, 5), range(4, 5), range(4, 5)),
    "inception_v3": (range(194, 237), range(4, 5), range(4, 5), range(4, 7)),
    "lenet": (range(12, 13), range(1, 2), range(1, 2), range(1, 2)),
    "mask_rcnn": (range(1638, 2003), range(80, 81), range(81, 82), range(160, 161)),
    "mnasnet": (range(100, 101), range(2, 3), range(2, 3), range(1, 2)),
    "mobilenet_v2": (range(100, 101), range(2, 3), range(2, 3), range(1, 2)),
    "moe": (range(47, 48), range(8, 9), range(9, 10), range(9, 10)),
    "multi_task": (range(164, 165), range(1, 2), range(16, 17), range(16, 17)),
    "random_dag": (range(501, 502), range(20, 101), range(4, 20), range(5, 41)),
    "random_wide": (range(482, 483), range(80, 81), range(80, 81), range(80, 81)),
    "resnet101": (range(241, 242), range(2, 3), range(2, 3), range(2, 3)),
    "resnet152": (range(360, 361), range(2, 3), range(2, 3), range(2, 3)),
    "resnet18": (range(49, 50), range(2, 3), range(2, 3), range(2, 3)),
    "resnet50": (range(122, 123), range(2, 3), range(2, 3), range(2, 3)),
    "resnext50": (range(122, 123), range(2, 3), range(2, 3), range(2, 3)),
    "shufflenet_v2": (range(174, 175), range(2, 3), range(2, 3), range(2, 3)),
    "squeezenet": (range(65, 66), range(2, 3), range(2, 3), range(2, 3)),
    "ssd": (range(140, 180), range(6, 7), range(2, 7), range(2, 13)),
    "ssd_mobilenet_v1": (range(138, 139), range(6, 7), range(4, 5), range(4, 5)),
    "ssd_per_class": (range(1587, 1940), range(80, 81), range(80, 82), range(160, 161)),
    "tiny_yolov2": (range(23, 24), range(1, 2), range(1, 2), range(1, 2)),
    "two_tower": (range(59, 60), range(11, 12), range(2, 3), range(19, 20)),
    "vgg16": (range(37, 38), range(1, 2), range(1, 2), range(1, 2)),
    "vgg19": (range(43, 44), range(1, 2), range(1, 2), range(1, 2)),
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
