"""Rules of operators that work element by element, broadcasting, and of reductions."""

from __future__ import annotations

import numpy as np

from bench.fuzzing.growing import Array, Growing
from bench.fuzzing.rules import (
    axis_of,
    has_axes,
    integers,
    is_bool,
    is_float,
    is_integer,
    is_number,
    is_single,
    is_whole,
    rule,
    some_axes,
    weights,
)

_SMOOTH = ("Neg", "Abs", "Relu", "Tanh", "Sigmoid", "Erf", "Softplus", "Sin", "Cos", "Identity")
_SHAPED = ("Elu", "LeakyRelu", "Selu", "Celu", "HardSigmoid", "HardSwish", "Softsign")
_STEPS = ("Floor", "Ceil", "Sign", "Round")
_REDUCTIONS = ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSumExp")


@rule
def unary(g: Growing) -> None:
    name = g.any(is_float)
    if name:
        g.op(g.random.choice(_SMOOTH), [name])


@rule
def activation(g: Growing) -> None:
    name = g.any(is_single)
    if name:
        g.op(g.random.choice(_SHAPED), [name])


@rule
def step(g: Growing) -> None:
    """What rounds, of numbers that lie beside the steps: a rounding error elsewhere shows not."""
    name = g.any(is_single)
    if name is None:
        return
    near = np.round(g.value(name) * 2) / 2
    if np.abs(g.value(name) * 2 - near * 2).min(initial=1.0) > 1e-2:
        g.op(g.random.choice(_STEPS), [name])


@rule
def bounded(g: Growing) -> None:
    """Exp, Sqrt, Log and Reciprocal where they are defined."""
    name = g.any(is_single)
    made = name and g.op("Abs", [name])
    if not made:
        return
    one = g.constant(np.array(1.0, np.float32))
    above = g.op("Add", [made[0], one])
    if above:
        g.op(g.random.choice(("Sqrt", "Log", "Reciprocal")), above)
        lower = g.op("Neg", made)
        if lower:
            g.op("Exp", lower)


@rule
def clip(g: Growing) -> None:
    name = g.any(is_number)
    if name:
        kind = g.value(name).dtype
        low, high = (g.constant(np.array(n, kind)) for n in (-1, 2))
        g.op("Clip", [name, g.random.choice(("", low)), g.random.choice(("", high))])


@rule
def binary(g: Growing) -> None:
    first = g.any(is_number)
    if first is None:
        return
    second = _partner(g, g.value(first))
    pair = [first, second] if g.random.random() < 0.5 else [second, first]
    g.op(g.random.choice(("Add", "Sub", "Mul", "Max", "Min")), pair)


@rule
def divide(g: Growing) -> None:
    """By constants, none of them near 0."""
    name = g.any(is_number)
    if name:
        value = g.value(name)
        by = (g.rng.integers(1, 5, _broadcast(g, value))).astype(value.dtype)
        g.op(g.random.choice(("Div", "Div", "Pow")), [name, g.constant(by)])


@rule
def modulo(g: Growing) -> None:
    name = g.any(is_integer)
    if name:
        by = g.rng.integers(2, 7, _broadcast(g, g.value(name))).astype(g.value(name).dtype)
        g.op("Mod", [name, g.constant(by)])


@rule
def variadic(g: Growing) -> None:
    first = g.any(is_single)
    if first:
        others = [_partner(g, g.value(first)) for _ in range(g.random.randint(0, 3))]
        g.op(g.random.choice(("Sum", "Max", "Min", "Mean")), [first, *others])


@rule
def prelu(g: Growing) -> None:
    """Slopes of any shape that broadcasts to the input's."""
    name = g.any(is_single)
    if name:
        g.op("PRelu", [name, weights(g, *_broadcast(g, g.value(name)))])


@rule
def compare(g: Growing) -> None:
    """With what lies between the values: a rounding error elsewhere shows not."""
    name = g.any(is_number)
    if name is None:
        return
    value = g.value(name)
    middle = np.array(np.median(value) if value.size else 0, np.float64) + 0.0173
    if np.abs(value - middle).min(initial=1.0) > 1e-2:
        with_ = g.constant(middle.astype(value.dtype))
        g.op(g.random.choice(("Less", "Greater", "GreaterOrEqual")), [name, with_])


@rule
def logical(g: Growing) -> None:
    first, second = g.any(is_bool), g.any(is_bool)
    if first and second:
        g.op(g.random.choice(("And", "Or", "Xor")), [first, second])
        g.op("Not", [first])


@rule
def where(g: Growing) -> None:
    flag, name = g.any(is_bool), g.any(is_number)
    if flag and name:
        g.op("Where", [flag, name, _partner(g, g.value(name))])


@rule
def cast(g: Growing) -> None:
    """To any type; floats become integers where they lie beside the steps."""
    name = g.any()
    if name is None:
        return
    value = g.value(name)
    kinds = [np.float32, np.float64]
    if value.dtype.kind != "f":
        kinds += [np.int64, np.int32, np.bool_]
    elif np.abs(value - np.round(value)).min(initial=1.0) > 1e-2:
        kinds += [np.int64, np.int32]
    if np.abs(value.astype(np.float64)).max(initial=0.0) < 100:
        kinds += [np.float16]
    g.op("Cast", [name], to=_code(g.random.choice(kinds)))


@rule
def reduce(g: Growing) -> None:
    name = g.any(lambda v: is_number(v) and is_whole(v))
    if name is None:
        return
    kind = f"Reduce{g.random.choice(_REDUCTIONS)}"
    axes, keeps = some_axes(g, g.value(name)), g.random.randrange(2)
    if g.opset >= 18 or kind == "ReduceSum":
        g.op(kind, [name, integers(g, *axes)], keepdims=keeps)
    else:
        g.op(kind, [name], axes=axes, keepdims=keeps)


@rule
def reduce_all(g: Growing) -> None:
    name = g.any(is_single)
    if name:
        g.op(f"Reduce{g.random.choice(('Sum', 'Mean', 'Max'))}", [name], keepdims=0)


@rule
def arg(g: Growing) -> None:
    """Which one is the largest, where no two are about equal."""
    name = g.any(lambda v: is_single(v) and is_whole(v))
    if name is None:
        return
    axis, value = axis_of(g, g.value(name)), g.value(name)
    if are_apart(value, axis):
        kind = g.random.choice(("ArgMax", "ArgMin"))
        g.op(kind, [name], axis=axis, keepdims=g.random.randrange(2))


@rule
def running_sum(g: Growing) -> None:
    name = g.any(lambda v: is_number(v) and has_axes(v))
    if name:
        axis = g.constant(np.array(axis_of(g, g.value(name)), np.int64))
        g.op("CumSum", [name, axis], exclusive=g.random.randrange(2), reverse=g.random.randrange(2))


@rule
def softmax(g: Growing) -> None:
    name = g.any(lambda v: is_single(v) and is_whole(v))
    if name:
        kind = g.random.choice(("Softmax", "LogSoftmax"))
        g.op(kind, [name], axis=axis_of(g, g.value(name)))


def are_apart(value: Array, axis: int) -> bool:
    """Whether no two numbers along an axis are about equal, so that rounding decides nothing."""
    if value.shape[axis] < 2:
        return True
    return bool(np.diff(np.sort(value, axis), axis=axis).min(initial=1.0) > 1e-3)


def _partner(g: Growing, value: Array) -> str:
    """A tensor or a constant of the same type that broadcasts."""
    if g.random.random() < 0.5:
        found = g.any(lambda other: other.dtype == value.dtype and _broadcasts(value, other))
        if found:
            return found
    numbers = g.rng.standard_normal(_broadcast(g, value)) * 2
    return g.constant(numbers.astype(value.dtype))


def _broadcast(g: Growing, value: Array) -> tuple[int, ...]:
    """A shape that broadcasts to the value's: some axes of 1, some leading ones left out."""
    shape = [1 if g.random.random() < 0.3 else extent for extent in value.shape]
    return tuple(shape[g.random.randint(0, len(shape)) :])


def _broadcasts(a: Array, b: Array) -> bool:
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    return True


def _code(kind: type) -> int:
    import onnx

    return int(onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind)))
