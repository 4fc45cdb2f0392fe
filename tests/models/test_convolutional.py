"""Convolutional networks at small size: they are alive, see their image, and take any batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from surplus import models
from surplus.models.builder import Array, GraphBuilder
from surplus.models.images import normalized_input, street
from surplus.models.layers import max_pool

SMALL: dict[str, dict[str, Any]] = {
    "alexnet": {"image_size": 63, "hidden": 64},
    "densenet121": {"image_size": 64, "growth": 8},
    "densenet161": {"image_size": 64, "growth": 8},
    "efficientnet_b0": {"image_size": 64},
    "googlenet": {"image_size": 64},
    "mnasnet": {"image_size": 64},
    "mobilenet_v2": {"image_size": 64},
    "resnet18": {"image_size": 64, "width": 16},
    "resnet50": {"image_size": 64, "width": 16},
    "resnet101": {"image_size": 64, "width": 16},
    "resnet152": {"image_size": 64, "width": 16},
    "resnext50": {"image_size": 64, "width": 16},
    "shufflenet_v2": {"image_size": 64},
    "squeezenet": {"image_size": 64},
    "tiny_yolov2": {"image_size": 64, "width": 4, "classes": 7},
    "vgg16": {"image_size": 64, "width": 8, "hidden": 64},
    "vgg19": {"image_size": 64, "width": 8, "hidden": 64},
}


@dataclass(frozen=True)
class Seen:
    """What a network makes of two street scenes in one batch, and of the first one alone."""

    output: Array
    alone: Array
    features: dict[str, Array]


@pytest.fixture(scope="module", params=SMALL)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def seen(name: str) -> Seen:
    model = models.build(name, **SMALL[name])
    features = [n.output[0] for n in model.graph.node if n.op_type in ("Conv", "Gemm")]
    output = model.graph.output[0].name
    _show(model, [f for f in features if f != output])
    session = onnxruntime.InferenceSession(model.SerializeToString())
    images = np.concatenate(
        [models.example_inputs(name, seed, **SMALL[name])["image"] for seed in (0, 1)]
    )
    values = session.run([output, *features], {"image": images})
    alone = session.run([output], {"image": images[:1]})[0]
    return Seen(values[0], alone, dict(zip(features, values[1:], strict=True)))


def _show(model: onnx.ModelProto, values: list[str]) -> None:
    shown = [helper.make_tensor_value_info(v, TensorProto.FLOAT, None) for v in values]
    model.graph.output.extend(shown)


def test_output_has_its_shape(name: str, seen: Seen) -> None:
    shape = (5 * (5 + 7), 2, 2) if name == "tiny_yolov2" else (1000,)
    assert seen.output.shape == (2, *shape)


def test_features_neither_vanish_nor_explode(seen: Seen) -> None:
    spread = {value: float(features.std()) for value, features in seen.features.items()}
    assert min(spread.values()) > 0.02, spread
    assert max(spread.values()) < 20, spread
    assert 0.2 < seen.output.std() < 10


def test_answers_to_the_image(seen: Seen) -> None:
    first, second = seen.output
    assert (first - second).std() > 0.03 * first.std()
    # No class wins by itself: logits come from features, not from a constant.
    assert len(np.unique(first)) > 0.4 * first.size


def test_an_image_does_not_see_its_batch(seen: Seen) -> None:
    np.testing.assert_allclose(seen.alone[0], seen.output[0], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("alexnet", {"image_size": 62}, "image_size must be >= 63 .*image_size=62"),
        ("alexnet", {"hidden": 0}, "hidden must be at least 1, got 0"),
        ("densenet121", {"growth": 3}, "growth must be even and at least 2, got 3"),
        ("densenet161", {"growth": 0}, "growth must be even and at least 2, got 0"),
        ("inception_v3", {"image_size": 74}, "image_size must be >= 75 .*image_size=74"),
        ("mobilenet_v2", {"classes": 0}, "classes >= 1, got .*classes=0"),
        ("resnext50", {"width": 24}, "width must be a multiple of 16 and at least 16, got 24"),
        ("tiny_yolov2", {"image_size": 400}, "image_size must be a multiple of 32, got 400"),
        ("tiny_yolov2", {"width": 0}, "classes and width must be at least 1, got .*width=0"),
        ("vgg16", {"image_size": 31}, "image_size must be >= 32 .*image_size=31"),
        ("vgg19", {"hidden": 0}, "width and hidden must be at least 1, got .*hidden=0"),
    ],
)
def test_sizes_out_of_range_are_named(name: str, params: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        models.build(name, **params)


@pytest.mark.parametrize("name", ["densenet121", "googlenet", "shufflenet_v2", "squeezenet"])
@pytest.mark.parametrize("image_size", [33, 75])
def test_odd_sizes_run(name: str, image_size: int, run: Callable) -> None:
    # Where halving rounds, branches must still agree on their maps.
    params = {**SMALL[name], "image_size": image_size, "classes": 5}
    outputs = run(models.build(name, **params), models.example_inputs(name, **params))
    assert outputs["logits"].shape == (1, 5)


def test_shuffle_interleaves_the_halves(run: Callable) -> None:
    # Ma et al. 2018, figure 3: the nodes between a unit's Concat and the next one, on numbers.
    model = models.build("shufflenet_v2", image_size=64)
    nodes = {node.name: node for node in model.graph.node}
    chosen = [nodes[f"stage2.0/{part}"] for part in ("shuffle.pairs", "shuffle", "shuffle.joined")]
    shapes = {chosen[0].input[1], chosen[2].input[1]}
    x = np.arange(116 * 64, dtype=np.float32).reshape(1, 116, 8, 8)
    graph = helper.make_graph(
        chosen,
        "shuffle",
        [helper.make_tensor_value_info(chosen[0].input[0], TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info(chosen[2].output[0], TensorProto.FLOAT, x.shape)],
        [tensor for tensor in model.graph.initializer if tensor.name in shapes],
    )
    part = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    (shuffled,) = run(part, {chosen[0].input[0]: x}).values()
    np.testing.assert_array_equal(shuffled[:, 0::2], x[:, :58])
    np.testing.assert_array_equal(shuffled[:, 1::2], x[:, 58:])


def test_pooling_rounds_up_where_asked(run: Callable) -> None:
    b = GraphBuilder("pool")
    x = b.input("x", (1, 3, 32, 32))
    b.output(max_pool(b, x, 3, 2), "down", (1, 3, 15, 15))
    b.output(max_pool(b, x, 3, 2, ceil=True), "up", (1, 3, 16, 16))
    image = normalized_input(street(32, 32))
    outputs = run(b.build(), {"x": image})
    np.testing.assert_array_equal(outputs["up"][..., :15, :15], outputs["down"])
    np.testing.assert_array_equal(outputs["up"][..., 15, 15], image[..., 30:, 30:].max((2, 3)))
