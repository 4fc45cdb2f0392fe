"""Models whose sizes differ from query to query, each with queries of many sizes.

A CNN of any batch and image size, detectors of one and of two stages that find from none to many
objects, and a transformer of any batch and length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from surplus import models

Query = dict[str, np.ndarray[Any, Any]]
VOCABULARY = 100
LONGEST = 48

DETECTOR = """
<ir_version: 9, opset_import: ["" : 18]>
detector (float[1, 3, height, width] image)
    => (float[found, 4] boxes, float[found] scores, float[found, 8] features, int64[1, hot] cells)
<int64[3] by_cell = {1, 5, -1}, int64[2] parts = {4, 1}, int64[1] flat = {-1},
 int64[1] most = {40}, float[1] overlap = {0.5}, float[1] least = {0.6}, float warm = {0.7},
 int64 box = {2}, int64[1] first = {0}> {
    maps = Conv <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (image, filter, bias)
    unit = Sigmoid(maps)
    cellwise = Reshape(unit, by_cell)
    corners, score = Split <axis = 1> (cellwise, parts)
    by_row = Transpose <perm = [0, 2, 1]> (corners)
    picked = NonMaxSuppression(by_row, score, most, overlap, least)
    index = Gather <axis = 1> (picked, box)
    rows = Squeeze(by_row, first)
    boxes = Gather(rows, index)
    all_scores = Reshape(score, flat)
    scores = Gather(all_scores, index)
    head = MatMul(boxes, weight)
    features = Relu(head)
    is_hot = Greater(all_scores, warm)
    cells = NonZero(is_hot)
}
"""


TWO_STAGES = """
<ir_version: 9, opset_import: ["" : 18]>
two_stages (float[1, 3, height, width] image)
    => (float[found, 4] boxes, float[found, 5] classes, int64[found] best, int64[found] order,
        float[found, 1, 28, 28] masks)
<int64[3] by_cell = {1, 5, -1}, int64[2] parts = {4, 1}, int64[1] most = {40},
 float[1] overlap = {0.5}, float[1] least = {0.6}, int64 image_of = {0}, int64 box = {2},
 int64[1] first = {0}, int64[1] last = {1}, float scale = {0.02}, uint8 zero = {128},
 float[4] twice = {1.0, 1.0, 2.0, 2.0}> {
    maps = Conv <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (image, filter, bias)
    unit = Sigmoid(maps)
    cellwise = Reshape(unit, by_cell)
    corners, score = Split <axis = 1> (cellwise, parts)
    by_row = Transpose <perm = [0, 2, 1]> (corners)
    picked = NonMaxSuppression(by_row, score, most, overlap, least)
    index = Gather <axis = 1> (picked, box)
    images = Gather <axis = 1> (picked, image_of)
    rows = Squeeze(by_row, first)
    boxes = Gather(rows, index)
    rois = RoiAlign <output_height = 7, output_width = 7, sampling_ratio = 2, spatial_scale = 8.0>
        (maps, boxes, images)
    head = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (rois, head_filter)
    normal = BatchNormalization(head, ones, zeros, zeros, ones)
    active = Relu(normal)
    integers = QuantizeLinear(active, scale, zero)
    reals = DequantizeLinear(integers, scale, zero)
    other_integers = QuantizeLinear(rois, scale, zero)
    other_reals = DequantizeLinear(other_integers, scale, zero)
    sum = Add(reals, other_reals)
    sum_integers = QuantizeLinear(sum, scale, zero)
    features = DequantizeLinear(sum_integers, scale, zero)
    half = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (features)
    mean = GlobalAveragePool(half)
    flat = Flatten(mean)
    logits = Gemm(flat, weight, bias)
    classes = Softmax <axis = 1> (logits)
    best = ArgMax <axis = 1, keepdims = 0> (classes)
    top = ReduceMax <keepdims = 0> (classes, last)
    count = Shape(top)
    sorted, order = TopK(top, count)
    wide = ConvTranspose <kernel_shape = [2, 2], strides = [2, 2]> (features, mask_filter)
    wider = Resize <mode = "linear"> (wide, , twice)
    masks = Sigmoid(wider)
}
"""


@dataclass(frozen=True)
class Dynamic:
    """A model and how to make a query of a size that counts up from 0, the smallest."""

    build: Callable[[], onnx.ModelProto]
    query: Callable[[int], Query]
    sizes: int


def _cnn() -> onnx.ModelProto:
    model = models.build("mobilenet_v2", image_size=32, classes=10)
    _rename(model.graph.input[0], "batch", 3, "height", "width")
    return model


def _cnn_query(size: int) -> Query:
    """Batches of 0 to 3, heights and widths from 32 to 52 pixels, in turn."""
    shape = (size % 4, 3, 32 + size % 5 * 5, 32 + size % 3 * 7)
    return {"image": np.random.default_rng(size).random(shape, np.float32)}


def _detector() -> onnx.ModelProto:
    return _with_weights(DETECTOR, weight=(4, 8))


def _two_stages() -> onnx.ModelProto:
    model = _with_weights(
        TWO_STAGES, head_filter=(5, 5, 3, 3), weight=(5, 5), mask_filter=(5, 1, 2, 2)
    )
    for name, fill in (("ones", np.ones), ("zeros", np.zeros)):
        model.graph.initializer.append(onnx.numpy_helper.from_array(fill(5, np.float32), name))
    return model


def _with_weights(text: str, **shapes: tuple[int, ...]) -> onnx.ModelProto:
    """A detector whose bias says that an image of zeros shows nothing."""
    model = onnx.parser.parse_model(text)
    rng = np.random.default_rng(0)
    arrays = {
        name: rng.standard_normal(shape).astype(np.float32)
        for name, shape in {"filter": (5, 3, 3, 3), **shapes}.items()
    }
    for name, array in {**arrays, "bias": np.array([0, 0, 0, 0, -2], np.float32)}.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return model


def _detector_query(size: int) -> Query:
    """Even ones are empty images: nothing is found. Then more the larger they are."""
    shape = (1, 3, 2 + size, 2 + 2 * size)
    rng = np.random.default_rng(size)
    contrast = 2 * (size % 2)
    return {"image": (contrast * rng.standard_normal(shape)).astype(np.float32)}


def _transformer() -> onnx.ModelProto:
    """BERT whose position embedding is cut to the length of the query."""
    sizes = {"layers": 1, "hidden": 64, "sequence": LONGEST, "vocabulary": VOCABULARY}
    model = models.build("bert_base", **sizes)
    for value in (*model.graph.input, model.graph.output[0]):
        _rename(value, "batch", "length")
    table = "embeddings/positions.weight"
    adder = next(node for node in model.graph.node if table in node.input)
    adder.input[list(adder.input).index(table)] = "positions"
    constants = {"zero": [0], "one": [1]}
    cut = [
        helper.make_node("Shape", ["input_ids"], ["shape"]),
        helper.make_node("Slice", ["shape", "one", "two"], ["length"]),
        helper.make_node("Slice", [table, "zero", "length", "one"], ["positions"]),
    ]
    for name, content in {**constants, "two": [2]}.items():
        model.graph.initializer.append(helper.make_tensor(name, TensorProto.INT64, [1], content))
    for node in reversed(cut):
        model.graph.node.insert(0, node)
    return model


def _transformer_query(size: int) -> Query:
    """Lengths from 1 to ``LONGEST``, batches of 1 to 3."""
    shape = (1 + size % 3, 1 + size * 11 % LONGEST)
    rng = np.random.default_rng(size)
    return {
        "input_ids": rng.integers(0, VOCABULARY, shape),
        "token_type_ids": rng.integers(0, 2, shape),
        "attention_mask": np.ones(shape, np.int64),
    }


def _rename(value: onnx.ValueInfoProto, *dims: str | int) -> None:
    """Give the first dimensions of a value new names or sizes."""
    for dim, new in zip(value.type.tensor_type.shape.dim, dims, strict=False):
        dim.Clear()
        if isinstance(new, str):
            dim.dim_param = new
        else:
            dim.dim_value = new


DYNAMIC = {
    "cnn": Dynamic(_cnn, _cnn_query, sizes=12),
    "detector": Dynamic(_detector, _detector_query, sizes=16),
    "two stages": Dynamic(_two_stages, _detector_query, sizes=16),
    "transformer": Dynamic(_transformer, _transformer_query, sizes=12),
}
