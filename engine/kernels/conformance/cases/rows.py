"""Operators along rows: reductions, normalisations, orders, running sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from surplus.engine.adversarial_values import ordinary_numbers, with_special_numbers
from surplus.engine.kernels.conformance.aspect import Aspect
from surplus.engine.kernels.conformance.cases.case import EXACT, ROW, Array, Case, Op, case

_FLOATS = ("float32", "float16")
_REDUCING = (
    *("ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2"),
    *("ReduceLogSumExp", "ReduceSumSquare", "ReduceLogSum"),
)
_SHAPE = (4, 6, 8)


def row_cases() -> Iterator[Case]:
    """All of them."""
    for kind in _FLOATS:
        yield from _reduced(kind)
        yield from _normalised(kind)
        yield from _ordered(kind)
        yield from _summed(kind)


def _rows(kind: str, shape: Sequence[int] = _SHAPE) -> dict[Aspect, Sequence[Sequence[Array]]]:
    """Ordinary, negative, equal, zero and large rows; then such with NaN and infinities."""
    plain = ordinary_numbers(shape, kind, 1)
    large = (ordinary_numbers(shape, kind, 2) * np.array(100, kind)).astype(kind)
    ties = np.round(plain)
    finite = [plain, -np.abs(plain), ties, large, np.zeros_like(plain), np.full_like(plain, -3)]
    mixed = plain.copy()
    mixed[1:3] = np.inf
    special = [with_special_numbers(plain), with_special_numbers(ties), mixed, -mixed]
    special.append(np.full_like(plain, np.nan))
    return {Aspect.FINITE: [(a,) for a in finite], Aspect.SPECIAL: [(a,) for a in special]}


def _reduced(kind: str) -> Iterator[Case]:
    for operator in _REDUCING:
        for axes in ((2,), (0,), (1, 2), (-1,)):
            for kept in (0, 1):
                constant = np.array(axes, np.int64)
                node = Op(operator, (constant,), {"keepdims": kept}, (kind,))
                yield case(node, _rows(kind), ROW)
        numbers = ordinary_numbers(_SHAPE, kind, 1)
        asked = [(numbers, np.array([axis], np.int64)) for axis in (0, 2, 1, 0)]
        node = Op(operator, (), {"keepdims": 0}, (kind,))
        yield case(node, {Aspect.SIZES: asked}, ROW)


def _normalised(kind: str) -> Iterator[Case]:
    for operator in ("Softmax", "LogSoftmax", "Hardmax"):
        for axis in (2, 1, -1):
            yield case(Op(operator, (), {"axis": axis}, (kind,)), _rows(kind), ROW)
    scale = np.abs(ordinary_numbers((8,), kind, 3)) + np.array(0.5, kind)
    bias = ordinary_numbers((8,), kind, 4)
    yield case(Op("LayerNormalization", (scale, bias), {"axis": -1}, (kind,), 17), _rows(kind), ROW)
    yield case(Op("LayerNormalization", (scale,), {"axis": -1}, (kind,), 17), _rows(kind), ROW)
    yield case(Op("RMSNormalization", (scale,), {}, (kind,), 23), _rows(kind), ROW)
    few = scale[:6], bias[:6]
    yield case(Op("InstanceNormalization", few, {}, (kind,)), _rows(kind), ROW)
    yield case(Op("GroupNormalization", few, {"num_groups": 3}, (kind,), 21), _rows(kind), ROW)
    mean, variance = ordinary_numbers((6,), kind, 5), np.abs(ordinary_numbers((6,), kind, 6))
    yield case(Op("BatchNormalization", (*few, mean, variance), {}, (kind,)), _rows(kind), ROW)
    yield case(Op("LpNormalization", (), {"axis": 2}, (kind,)), _rows(kind), ROW)
    yield case(Op("LpNormalization", (), {"axis": 1, "p": 1}, (kind,)), _rows(kind), ROW)
    yield case(Op("MeanVarianceNormalization", (), {"axes": [2]}, (kind,)), _rows(kind), ROW)
    yield case(Op("LRN", (), {"size": 3}, (kind,)), _rows(kind, (1, 6, 4, 4)), ROW)


def _ordered(kind: str) -> Iterator[Case]:
    for operator in ("ArgMax", "ArgMin"):
        for axis in (2, 0):
            for last in (0, 1):
                attributes = {"axis": axis, "select_last_index": last, "keepdims": last}
                yield case(Op(operator, (), attributes, ("int64",)), _rows(kind), EXACT)
    count = np.array([3], np.int64)
    for largest in (0, 1):
        for axis in (2, 0):
            order = {"axis": axis, "largest": largest}
            node = Op("TopK", (count,), order, (kind, "int64"))
            yield case(node, _rows(kind), EXACT)
    numbers = ordinary_numbers(_SHAPE, kind, 1)
    asked = [(numbers, np.array([k], np.int64)) for k in (1, 6, 3, 1)]
    yield case(Op("TopK", (), {"axis": 2}, (kind, "int64")), {Aspect.SIZES: asked}, EXACT)


def _summed(kind: str) -> Iterator[Case]:
    for attributes in ({}, {"reverse": 1}, {"exclusive": 1}):
        node = Op("CumSum", (np.array(2, np.int64),), attributes, (kind,))
        yield case(node, _rows(kind), ROW)
    numbers = ordinary_numbers(_SHAPE, kind, 1)
    asked = [(numbers, np.array(axis, np.int64)) for axis in (0, 2, -2)]
    yield case(Op("CumSum", (), {}, (kind,)), {Aspect.SIZES: asked}, ROW)
