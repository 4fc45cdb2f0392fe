"""Operators number by number: alone, within a chain, and as activations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from surplus.engine.adversarial_values import (
    finite_numbers,
    numbers_of,
    ordinary_numbers,
    with_special_numbers,
)
from surplus.engine.kernels.conformance.aspect import Aspect
from surplus.engine.kernels.conformance.cases.case import (
    EXACT,
    Array,
    Case,
    Op,
    after_convolution,
    after_product,
    after_scale,
    case,
)

_PLAIN = (
    *("Relu", "Sign", "Floor", "Round", "Ceil", "Sqrt", "Exp", "Log", "Tanh", "Sigmoid", "Abs"),
    *("Neg", "Erf", "Sin", "Cos", "Tan", "Atan", "Asin", "Acos", "Sinh", "Cosh", "Asinh"),
    *("Acosh", "Atanh", "Softplus", "Softsign", "Reciprocal", "HardSwish", "Mish", "Selu"),
    *("Elu", "LeakyRelu", "HardSigmoid", "ThresholdedRelu", "Celu", "Identity", "Dropout"),
)
_COMPARING = ("Greater", "Less", "Equal", "GreaterOrEqual", "LessOrEqual")
_COMBINING = ("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Mean", "Sum", "PRelu")
_DIVIDING = ("Div", "Mod", "Pow", "Reciprocal", "Log", "Sqrt")
"""What makes infinities of zeros, and something of denormals that may count as zeros."""
_LOGICAL = ("And", "Or", "Xor")
_FLOATS = ("float32", "float16")
_SIZE = (4, 16)


def elementwise_cases() -> Iterator[Case]:
    """All of them."""
    for kind in _FLOATS:
        for node in _unary(kind):
            yield from _in_places(node, kind)
        yield from _binary(kind)
    yield from _logical()
    yield from _choosing()


def _unary(kind: str) -> Iterator[Op]:
    scalar = np.dtype(kind).type
    for operator in _PLAIN:
        yield Op(operator, outputs=(kind,))
    yield Op("Gelu", outputs=(kind,), opset=20)
    yield Op("Gelu", attributes={"approximate": "tanh"}, outputs=(kind,), opset=20)
    for operator in ("IsNaN", "IsInf"):
        yield Op(operator, outputs=("bool",), opset=20)
    low, high = np.array(scalar(-1)), np.array(scalar(1))
    for bounds in ((low, high), (low,), (None, high), (high, low), (np.array(scalar(0)), None)):
        yield Op("Clip", bounds, outputs=(kind,))
    for operator in ("Max", "Min", "Add", "Sub", "Mul", "Div"):
        yield Op(operator, (np.array(scalar(3)),), outputs=(kind,))
    for exponent in (2, 3, 0, 1, -1, 0.5, -0.5, 1.5):
        yield Op("Pow", (np.array(scalar(exponent)),), outputs=(kind,))
    for operator in _COMPARING:
        yield Op(operator, (np.array(scalar(2)),), outputs=("bool",))
    for made in ("bool", "int32", "int64", "uint8", "int8", *_FLOATS):
        number = {"bool": 9, "int32": 6, "int64": 7, "uint8": 2, "int8": 3}
        to = number.get(made, 1 if made == "float32" else 10)
        yield Op("Cast", attributes={"to": to}, outputs=(made,))


def _in_places(node: Op, kind: str) -> Iterator[Case]:
    numbers = numbers_of(finite_numbers(kind), _SIZE, kind)
    yield case(node, _feeds(node, numbers), _rounding(node))
    if kind != "float32" or node.operator in ("Dropout", "Identity"):
        return
    last = "Add" if node.outputs[0] == "float32" else ""
    yield case(node, _feeds(node, numbers), _rounding(node), after_scale, last)
    rows = ordinary_numbers((8, 8), kind)
    yield case(node, _feeds(node, rows), _activated(node), after_product)
    image = ordinary_numbers((1, 2, 4, 4), kind)
    yield case(node, _feeds(node, image), _activated(node), after_convolution)


def _activated(node: Op) -> str:
    return "row" if node.outputs[0].startswith("float") else EXACT


def _rounding(node: Op) -> str:
    return "element" if node.outputs[0].startswith("float") else EXACT


def _feeds(node: Op, numbers: Array) -> Mapping[Aspect, Sequence[Sequence[Array]]]:
    zeros, equal = np.zeros_like(numbers), np.full_like(numbers, 2)
    ordinary = ordinary_numbers(numbers.shape, numbers.dtype, seed=7)
    feeds: dict[Aspect, Sequence[Sequence[Array]]] = {
        Aspect.FINITE: [(a,) for a in (numbers, ordinary, zeros, equal)],
        Aspect.SPECIAL: [(with_special_numbers(a),) for a in (ordinary, numbers)],
    }
    if node.operator in _DIVIDING:
        plain = _without_denormals(numbers)
        feeds[Aspect.FINITE] = [(a,) for a in (plain, ordinary, zeros, equal)]
        feeds[Aspect.MADE] = [(numbers,), (zeros,)]
        feeds[Aspect.SPECIAL] = [(with_special_numbers(a),) for a in (ordinary, plain)]
    return feeds


def _without_denormals(numbers: Array) -> Array:
    """Ones in their places."""
    smallest = np.finfo(numbers.dtype).smallest_normal
    is_denormal = (numbers != 0) & (np.abs(numbers) < smallest)
    return np.where(is_denormal, np.ones_like(numbers), numbers)


def _binary(kind: str) -> Iterator[Case]:
    numbers = finite_numbers(kind)
    everything = numbers_of(numbers, (len(numbers), len(numbers)), kind)
    nodes = [Op(o, outputs=(kind,)) for o in _COMBINING]
    nodes += [Op(o, outputs=("bool",)) for o in _COMPARING]
    nodes.append(Op("Mod", attributes={"fmod": 1}, outputs=(kind,)))
    for node in nodes:
        is_dividing = node.operator in _DIVIDING
        left = _without_denormals(everything) if is_dividing else everything
        right = np.ascontiguousarray(left.T)
        a, b = ordinary_numbers(left.shape, kind, 1), ordinary_numbers(left.shape, kind, 2)
        special = with_special_numbers(a), with_special_numbers(b)[:, ::-1].copy()
        feeds: dict[Aspect, Sequence[Sequence[Array]]] = {
            Aspect.FINITE: [(left, right), (a, b), (b, left), (a, a)],
            Aspect.SPECIAL: [(special[0], b), (a, special[1]), special, (special[0], special[0])],
        }
        if is_dividing:
            feeds[Aspect.MADE] = [(everything, np.ascontiguousarray(everything.T)), (a, everything)]
        yield case(node, feeds, _rounding(node))
        if kind == "float32" and node.outputs[0] == kind:
            yield case(node, feeds, _rounding(node), after_scale, "Mul")


def _logical() -> Iterator[Case]:
    a, b = ordinary_numbers((4, 8), "bool", 1), ordinary_numbers((4, 8), "bool", 2)
    for operator in _LOGICAL:
        yield case(Op(operator, outputs=("bool",)), {Aspect.FINITE: [(a, b), (b, b)]}, EXACT)
    yield case(Op("Not", outputs=("bool",)), {Aspect.FINITE: [(a,), (b,)]}, EXACT)
    for made, to in (("float32", 1), ("float16", 10), ("int64", 7), ("int32", 6), ("uint8", 2)):
        node = Op("Cast", attributes={"to": to}, outputs=(made,))
        yield case(node, {Aspect.FINITE: [(a,), (b,)]}, EXACT)
    for kind in ("uint8", "int8", "int16", "uint16"):
        whole = numbers_of(finite_numbers(kind), (4, 8), kind)
        for made, to in (("float32", 1), ("float16", 10)):
            if made == "float16" and kind.endswith("16"):
                continue  # beyond its bounds
            node = Op("Cast", attributes={"to": to}, outputs=(made,))
            yield case(node, {Aspect.FINITE: [(whole,), (whole[::-1].copy(),)]}, EXACT)


def _choosing() -> Iterator[Case]:
    for kind in (*_FLOATS, "int64", "int32", "uint8", "int8", "bool"):
        chosen = ordinary_numbers((4, 16), "bool", 5)
        a = numbers_of(finite_numbers(kind), (4, 16), kind)
        b = ordinary_numbers((4, 16), kind, 6)
        feeds: dict[Aspect, Sequence[Sequence[Array]]] = {
            Aspect.FINITE: [(chosen, a, b), (~chosen, a, b)]
        }
        if kind in _FLOATS:
            special = with_special_numbers(a)
            feeds[Aspect.SPECIAL] = [
                (chosen, special, b),
                (~chosen, special, b),
                (chosen, b, special),
            ]
        yield case(Op("Where", outputs=(kind,)), feeds, EXACT)
