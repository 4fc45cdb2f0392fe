"""Operators of networks: products, convolutions, pools, resizing, recurrences, quantising."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from surplus.engine.adversarial_values import ordinary_numbers, with_special_numbers
from surplus.engine.kernels.conformance.aspect import Aspect
from surplus.engine.kernels.conformance.cases.case import (
    EXACT,
    ROW,
    STEP,
    Array,
    Case,
    Op,
    case,
)

_FLOATS = ("float32", "float16")
_IMAGE = (2, 4, 8, 8)


def network_cases() -> Iterator[Case]:
    """All of them."""
    for kind in _FLOATS:
        yield from _products(kind)
        yield from _convolutions(kind)
        yield from _pools(kind)
    yield from _resized()
    yield from _recurrent()
    yield from _quantised()
    yield from _regions()


def _weights(shape: Sequence[int], kind: str, seed: int = 3) -> Array:
    return ordinary_numbers(shape, kind, seed)


def _images(kind: str, shape: Sequence[int] = _IMAGE) -> dict[Aspect, Sequence[Sequence[Array]]]:
    plain = ordinary_numbers(shape, kind, 1)
    large = (ordinary_numbers(shape, kind, 2) * np.array(50, kind)).astype(kind)
    finite = [plain, large, np.zeros_like(plain), np.full_like(plain, -2), -np.abs(plain)]
    special = [with_special_numbers(plain), np.full_like(plain, np.nan)]
    return {Aspect.FINITE: [(a,) for a in finite], Aspect.SPECIAL: [(a,) for a in special]}


def _products(kind: str) -> Iterator[Case]:
    rows = _images(kind, (3, 8))
    yield case(Op("MatMul", (_weights((8, 16), kind),), {}, (kind,)), rows, ROW)
    yield case(
        Op("MatMul", (_weights((2, 8, 4), kind),), {}, (kind,)), _images(kind, (2, 3, 8)), ROW
    )
    for attributes in ({}, {"alpha": 0.5, "beta": 2.0}):
        node = Op("Gemm", (_weights((8, 16), kind), _weights((16,), kind)), attributes, (kind,))
        yield case(node, rows, ROW)
    yield case(Op("Gemm", (_weights((16, 8), kind),), {"transB": 1}, (kind,)), rows, ROW)
    yield case(
        Op("Einsum", (_weights((8, 4), kind),), {"equation": "bi,ij->bj"}, (kind,)), rows, ROW
    )
    two = {
        held: [(row[0], np.ascontiguousarray(row[0].T)) for row in asked]
        for held, asked in rows.items()
    }
    yield case(Op("MatMul", (), {}, (kind,)), two, ROW)


def _convolutions(kind: str) -> Iterator[Case]:
    bias = _weights((6,), kind, 4)
    for shape, attributes in (
        ((6, 4, 3, 3), {"pads": [1, 1, 1, 1]}),
        ((6, 4, 1, 1), {"strides": [2, 2]}),
        ((6, 2, 3, 3), {"group": 2}),
        ((6, 4, 3, 3), {"dilations": [2, 2], "pads": [2, 2, 2, 2]}),
        ((6, 4, 3, 3), {"auto_pad": "SAME_UPPER"}),
        ((6, 4, 2, 2), {"auto_pad": "SAME_LOWER"}),
    ):
        yield case(
            Op("Conv", (_weights(shape, kind), bias), attributes, (kind,)), _images(kind), ROW
        )
    deep = Op("Conv", (_weights((4, 1, 3, 3), kind),), {"group": 4}, (kind,))
    yield case(deep, _images(kind), ROW)
    line = Op("Conv", (_weights((6, 4, 3), kind),), {"pads": [1, 1]}, (kind,))
    yield case(line, _images(kind, (2, 4, 8)), ROW)
    block = Op("Conv", (_weights((3, 2, 2, 2, 2), kind),), {}, (kind,))
    yield case(block, _images(kind, (1, 2, 4, 4, 4)), ROW)
    for attributes in (
        {"strides": [2, 2]},
        {"strides": [2, 2], "output_padding": [1, 1]},
        {"group": 2},
    ):
        columns = 3 if "group" in attributes else 6
        node = Op("ConvTranspose", (_weights((4, columns, 3, 3), kind),), attributes, (kind,))
        yield case(node, _images(kind), ROW)


def _pools(kind: str) -> Iterator[Case]:
    shapes: tuple[Mapping[str, Any], ...] = (
        {"kernel_shape": [2, 2], "strides": [2, 2]},
        {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
        {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
        {"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER"},
    )
    for attributes in shapes:
        yield case(Op("MaxPool", (), attributes, (kind,)), _images(kind), ROW)
        yield case(Op("AveragePool", (), attributes, (kind,)), _images(kind), ROW)
    counted = {**shapes[1], "count_include_pad": 1}
    yield case(Op("AveragePool", (), counted, (kind,)), _images(kind), ROW)
    yield case(Op("LpPool", (), shapes[0], (kind,)), _images(kind), ROW)
    for operator in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
        yield case(Op(operator, (), {}, (kind,)), _images(kind), ROW)


def _resized() -> Iterator[Case]:
    scales = np.array([1, 1, 2, 1.5], np.float32)
    for mode, place in (
        ("nearest", "asymmetric"),
        ("nearest", "half_pixel"),
        ("linear", "half_pixel"),
        ("linear", "align_corners"),
        ("linear", "pytorch_half_pixel"),
        ("cubic", "half_pixel"),
    ):
        attributes = {"mode": mode, "coordinate_transformation_mode": place}
        node = Op("Resize", (None, scales), attributes, ("float32",))
        yield case(node, _images("float32"), ROW)
        floor = Op(
            "Resize", (None, None, np.array([2, 4, 13, 5], np.int64)), attributes, ("float32",)
        )
        yield case(floor, _images("float32"), ROW)
    yield case(
        Op("Resize", (None, scales), {"mode": "nearest", "nearest_mode": "floor"}, ("float32",)),
        _images("float32"),
        ROW,
    )
    yield case(
        Op("Upsample", (scales,), {"mode": "nearest"}, ("float32",), 9),
        _images("float32"),
        ROW,
    )


def _recurrent() -> Iterator[Case]:
    sequence = _images("float32", (5, 2, 4))
    for operator, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for direction, ways in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
            constants = (
                _weights((ways, gates * 6, 4), "float32", 5),
                _weights((ways, gates * 6, 6), "float32", 6),
                _weights((ways, 2 * gates * 6), "float32", 7),
            )
            attributes: dict[str, Any] = {"hidden_size": 6, "direction": direction}
            outputs = ("float32",) * (3 if operator == "LSTM" else 2)
            yield case(Op(operator, constants, attributes, outputs), sequence, ROW)
            if operator == "GRU":
                linear = {**attributes, "linear_before_reset": 1}
                yield case(Op(operator, constants, linear, outputs), sequence, ROW)


def _quantised() -> Iterator[Case]:
    for kind, zero in (("uint8", 128), ("int8", 0), ("uint8", 0)):
        scale, point = np.array(0.05, np.float32), np.array(zero, kind)
        node = Op("QuantizeLinear", (scale, point), {}, (kind,))
        yield case(node, _images("float32"), STEP)
        whole = np.arange(np.iinfo(kind).min, np.iinfo(kind).max + 1).astype(kind).reshape(16, 16)
        node = Op("DequantizeLinear", (scale, point), {}, ("float32",))
        yield case(node, {Aspect.FINITE: [(whole,), (whole[::-1].copy(),)]}, ROW)
        scales = np.array([0.05, 0.1, 0.2, 0.4], np.float32)
        points = np.full(4, zero, kind)
        along = Op("DequantizeLinear", (scales, points), {"axis": 1}, ("float32",))
        yield case(along, {Aspect.FINITE: [(whole.reshape(2, 4, 32)[:, :, :],)]}, ROW)
    bias = np.array([[-(2**20), 2**20, 7, -7]], np.int32)
    node = Op("DequantizeLinear", (np.array(0.001, np.float32),), {}, ("float32",))
    yield case(node, {Aspect.FINITE: [(bias,)]}, ROW)


def _regions() -> Iterator[Case]:
    grid = (ordinary_numbers((2, 5, 5, 2), "float32", 8) * np.float32(0.7)).astype(np.float32)
    for mode in ("linear", "nearest", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            attributes = {"mode": mode, "padding_mode": padding}
            yield case(
                Op("GridSample", (grid,), attributes, ("float32",), 20),
                _images("float32"),
                ROW,
            )
    rois = np.array([[0, 0, 4, 4], [1, 1, 7, 6]], np.float32)
    for mode in ("avg", "max"):
        sizes: dict[str, Any] = {
            "output_height": 3,
            "output_width": 3,
            "mode": mode,
            "sampling_ratio": 2,
        }
        node = Op(
            "RoiAlign",
            (rois, np.array([0, 1], np.int64)),
            {**sizes, "mode": mode},
            ("float32",),
            16,
        )
        yield case(node, _images("float32"), ROW)
    boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3], [0, 2, 1, 3]]], np.float32)
    scores = np.array([[[0.9, 0.75, 0.6, 0.6]]], np.float32)
    limits = (np.array([3], np.int64), np.array([0.5], np.float32), np.array([0.1], np.float32))
    feeds = [(boxes, scores), (boxes, scores[..., ::-1].copy()), (boxes, scores * np.float32(0.1))]
    node = Op("NonMaxSuppression", limits, {}, ("int64",))
    yield case(node, {Aspect.FINITE: feeds}, EXACT)
