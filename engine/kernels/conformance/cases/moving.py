"""Operators that move elements, of each type, with sizes that are constants or a query's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from surplus.engine.adversarial_values import finite_numbers, numbers_of, with_special_numbers
from surplus.engine.kernels.conformance.aspect import Aspect
from surplus.engine.kernels.conformance.cases.case import EXACT, Array, Case, Op, case

_TYPES = ("float32", "float16", "int64", "int32", "int8", "uint8", "bool")
_SHAPE = (2, 3, 4)
_FAR = 2**63 - 1
"""An end of a slice as exporters write it."""


def _longs(*numbers: Any) -> Array:
    return np.array(numbers, np.int64)


_Moved = tuple[str, dict[str, Any], tuple[Array, ...], tuple[tuple[Array, ...], ...]]

_MOVED: tuple[_Moved, ...] = (
    ("Reshape", {}, (_longs(6, 4),), ((_longs(-1, 2),), (_longs(0, 12),))),
    ("Transpose", {"perm": [2, 0, 1]}, (), ()),
    ("Flatten", {"axis": 2}, (), ()),
    ("Squeeze", {}, (), ()),
    ("Unsqueeze", {}, (_longs(0, 4),), ((_longs(1, 3),), (_longs(0, 1),))),
    ("Identity", {}, (), ()),
    ("Expand", {}, (_longs(2, 1, 3, 4),), ((_longs(5, 2, 3, 4),), (_longs(1, 2, 3, 4),))),
    ("Tile", {}, (_longs(1, 2, 3),), ((_longs(3, 1, 1),), (_longs(1, 1, 1),), (_longs(7, 6, 4),))),
    (
        "Slice",
        {},
        (_longs(1, -3), _longs(_FAR, _FAR), _longs(1, 2), _longs(1, 2)),
        (
            (_longs(0, 3), _longs(2, -_FAR), _longs(1, 2), _longs(2, -1)),
            (_longs(2, 0), _longs(2, 1), _longs(1, 2), _longs(1, 1)),
        ),
    ),
    ("Pad", {}, (_longs(0, 1, 0, 0, 2, 1),), ((_longs(1, 0, 0, 0, 0, 0),), (_longs(*[0] * 6),))),
    ("Pad", {"mode": "edge"}, (_longs(0, 1, 0, 0, 2, 1),), ((_longs(1, 0, 0, 0, 0, 0),),)),
    ("Pad", {"mode": "reflect"}, (_longs(0, 1, 0, 0, 2, 1),), ((_longs(0, 0, 2, 0, 0, 0),),)),
    ("Gather", {"axis": 1}, (_longs([0, -1], [2, 1]),), ((_longs([1, 1], [-3, 2]),),)),
    (
        "GatherElements",
        {"axis": 2},
        (_longs([[0, -1]] * 3, [[2, 1]] * 3),),
        ((_longs([[1, 1]] * 3, [[-4, 3]] * 3),),),
    ),
    ("GatherND", {}, (_longs([0, -1], [1, 1]),), ((_longs([1, 2], [-2, 0]),),)),
    (
        "ReverseSequence",
        {"time_axis": 1, "batch_axis": 0},
        (_longs(1, 3),),
        ((_longs(2, 1),),),
    ),
    ("Trilu", {"upper": 1}, (_longs(1)[0:1].reshape(()),), ((np.array(-1),), (np.array(9),))),
    ("Trilu", {"upper": 0}, (_longs(0)[0:1].reshape(()),), ((np.array(-2),),)),
)


def moving_cases() -> Iterator[Case]:
    """All of them."""
    for kind in _TYPES:
        numbers = numbers_of(finite_numbers(kind), _SHAPE, kind)
        for operator, attributes, first, others in _MOVED:
            yield from _moved(operator, attributes, first, others, numbers)
        yield from _tiled(kind)
        yield from _joined(kind, numbers)
        yield from _scattered(kind, numbers)
        yield from _blocks(kind)
    yield from _made_sizes()


def _asked(numbers: Array, *further: Array) -> dict[Aspect, Sequence[Sequence[Array]]]:
    feeds: dict[Aspect, Sequence[Sequence[Array]]] = {
        Aspect.FINITE: [(a, *further) for a in (numbers, numbers[..., ::-1].copy())]
    }
    if numbers.dtype.kind == "f":
        feeds[Aspect.SPECIAL] = [(with_special_numbers(numbers), *further)]
    return feeds


def _moved(
    operator: str,
    attributes: Mapping[str, Any],
    first: tuple[Array, ...],
    others: tuple[tuple[Array, ...], ...],
    numbers: Array,
) -> Iterator[Case]:
    kind = str(numbers.dtype)
    if operator == "Squeeze":
        numbers, first, others = numbers[None], (_longs(0),), ()
    node = Op(operator, first, attributes, (kind,))
    yield case(node, _asked(numbers), EXACT)
    if not others:
        return
    open_node = Op(operator, (), attributes, (kind,))
    feeds: dict[Aspect, Sequence[Sequence[Array]]] = {
        Aspect.SIZES: [(numbers, *given) for given in (first, *others, first)]
    }
    yield case(open_node, feeds, EXACT)


def _tiled(kind: str) -> Iterator[Case]:
    """From one repeat to many along each axis, of two to four axes."""
    for shape, asked in (
        ((2, 3), ((1, 1), (2, 2), (9, 1), (1, 1), (3, 5))),
        ((2, 3, 4, 5), ((1, 1, 1, 1), (2, 1, 3, 2), (7, 6, 4, 2), (1, 1, 1, 2), (1, 1, 1, 1))),
    ):
        numbers = numbers_of(finite_numbers(kind), shape, kind)
        feeds = {Aspect.SIZES: [(numbers, _longs(*repeats)) for repeats in asked]}
        yield case(Op("Tile", (), {}, (kind,)), feeds, EXACT)


def _joined(kind: str, numbers: Array) -> Iterator[Case]:
    node = Op("Concat", (), {"axis": 1}, (kind,))
    feeds: dict[Aspect, Sequence[Sequence[Array]]] = {
        Aspect.FINITE: [
            (numbers, numbers[:, :1].copy()),
            (numbers[::-1].copy(), numbers[:, 1:2].copy()),
        ]
    }
    if numbers.dtype.kind == "f":
        feeds[Aspect.SPECIAL] = [(with_special_numbers(numbers), numbers[:, :1].copy())]
    yield case(node, feeds, EXACT)
    parts = Op("Split", (_longs(1, 2),), {"axis": 1}, (kind, kind))
    yield case(parts, _asked(numbers), EXACT)
    open_parts = Op("Split", (), {"axis": 1}, (kind, kind))
    sizes = ((1, 2), (2, 1), (1, 2))
    yield case(open_parts, {Aspect.SIZES: [(numbers, _longs(*s)) for s in sizes]}, EXACT)


def _scattered(kind: str, numbers: Array) -> Iterator[Case]:
    updates = numbers_of(finite_numbers(kind)[::-1], (2, 4), kind)
    few = updates[:, None, :2].copy()
    for operator, attributes, new, places in (
        ("ScatterND", {}, updates, (_longs([0, -1], [1, 1]), _longs([1, 2], [-2, 0]))),
        (
            "ScatterElements",
            {"axis": 2},
            few,
            (_longs([[0, 3]], [[-1, 1]]), _longs([[2, 1]], [[0, -4]])),
        ),
    ):
        yield case(Op(operator, (places[0], new), attributes, (kind,)), _asked(numbers), EXACT)
        asked = [(numbers, place, new) for place in (*places, places[0])]
        yield case(Op(operator, (), attributes, (kind,)), {Aspect.SIZES: asked}, EXACT)


def _blocks(kind: str) -> Iterator[Case]:
    image = numbers_of(finite_numbers(kind), (1, 8, 2, 4), kind)
    for mode in ("DCR", "CRD"):
        node = Op("DepthToSpace", (), {"blocksize": 2, "mode": mode}, (kind,))
        yield case(node, _asked(image), EXACT)
    yield case(Op("SpaceToDepth", (), {"blocksize": 2}, (kind,)), _asked(image), EXACT)


def _made_sizes() -> Iterator[Case]:
    """Operators that say or take sizes themselves, or whose data say them."""
    for kind in _TYPES:
        numbers = numbers_of(finite_numbers(kind), _SHAPE, kind)
        yield case(Op("Shape", outputs=("int64",)), _asked(numbers), EXACT)
        yield case(Op("Size", outputs=("int64",)), _asked(numbers), EXACT)
        mask = np.array([1, 0, 1, 1], bool)
        masks = (mask, ~mask, np.zeros(4, bool), np.ones(4, bool))
        picked = Op("Compress", (), {"axis": 2}, (kind,))
        yield case(
            picked,
            {Aspect.SIZES: [(numbers, m) for m in masks], Aspect.FINITE: [(numbers, mask)]},
            EXACT,
        )
    for kind in ("float32", "bool"):
        places = [
            (np.array([[0, 1, 2, -1]] * 2, kind),),
            (np.zeros((2, 4), kind),),
            (np.ones((2, 4), kind),),
        ]
        node = Op("NonZero", outputs=("int64",))
        yield case(node, {Aspect.FINITE: places, Aspect.SIZES: places}, EXACT)
    sizes = (_longs(2, 3), _longs(1, 1), _longs(4, 2))
    for made in ("float32", "int64", "int32", "bool"):
        value = np.array([1], made)
        node = Op("ConstantOfShape", (), {"value": _tensor(value)}, (made,))
        yield case(node, {Aspect.SIZES: [(s,) for s in sizes], Aspect.FINITE: [(sizes[0],)]}, EXACT)
    depth, values = np.array(5), np.array([0, 1], np.float32)
    places = [(_longs(0, 4, -1, -5),), (_longs(5, 100, -6, 2**31 - 1),)]
    yield case(Op("OneHot", (depth, values), {}, ("float32",)), {Aspect.FINITE: places}, EXACT)
    asked = [(*places[i % 2], np.array(deep)) for i, deep in enumerate((5, 9, 1, 5))]
    yield case(Op("OneHot", (values,), {}, ("float32",)), {Aspect.SIZES: asked}, EXACT)


def _tensor(value: Array) -> Any:
    from onnx import numpy_helper

    return numpy_helper.from_array(value, "value")
