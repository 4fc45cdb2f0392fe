"""Rules of layers: convolutions, pools, normalisations, products, recurrences."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.fuzzing.growing import Growing
from bench.fuzzing.rules import is_single, of_rank, rule, weights


@rule
def convolution(g: Growing) -> None:
    name = g.any(of_rank(3, 4))
    if name is None:
        return
    value, sides = g.value(name), g.value(name).ndim - 2
    channels = value.shape[1]
    groups = g.random.choice([n for n in (1, 2, channels) if channels % n == 0])
    made = groups * g.random.choice((1, 2, 4))
    kernel = [g.random.choice((1, 2, 3)) for _ in range(sides)]
    inputs = [name, weights(g, made, channels // groups, *kernel)]
    if g.random.random() < 0.5:
        inputs.append(weights(g, made))
    if g.random.random() < 0.5:
        _normalised(g, g.op("Conv", inputs, group=groups, **_window(g, sides)))
    else:
        g.op("Conv", inputs, group=groups, auto_pad=g.random.choice(("SAME_UPPER", "SAME_LOWER")))


@rule
def transposed_convolution(g: Growing) -> None:
    name = g.any(of_rank(3, 4))
    if name:
        value, sides = g.value(name), g.value(name).ndim - 2
        kernel = [g.random.choice((1, 2, 3)) for _ in range(sides)]
        inputs = [name, weights(g, value.shape[1], 2, *kernel)]
        g.op("ConvTranspose", inputs, strides=[g.random.choice((1, 2)) for _ in range(sides)])


@rule
def pool(g: Growing) -> None:
    """Kernels of 1 and rounding up included."""
    name = g.any(of_rank(3, 4))
    if name is None:
        return
    sides, kind = g.value(name).ndim - 2, g.random.choice(("MaxPool", "AveragePool", "LpPool"))
    window = _window(g, sides)
    if kind == "AveragePool":
        window["count_include_pad"] = g.random.randrange(2)
    if kind != "MaxPool" and g.opset < 19:
        window.pop("dilations")
    if kind != "LpPool" or g.opset >= 18:
        window["ceil_mode"] = g.random.randrange(2)
    kernel = [g.random.choice((1, 2, 3)) for _ in range(sides)]
    is_double = kind == "MaxPool" and g.random.random() < 0.2
    g.op(kind, [name], outputs=1 + is_double, kernel_shape=kernel, **window)


@rule
def global_pool(g: Growing) -> None:
    name = g.any(of_rank(3, 4))
    if name:
        g.op(g.random.choice(("GlobalAveragePool", "GlobalMaxPool")), [name])


@rule
def normalisation(g: Growing) -> None:
    name = g.any(of_rank(3, 4))
    if name is None:
        return
    channels = g.value(name).shape[1]
    scale, bias = weights(g, channels), weights(g, channels)
    kind = g.random.choice(("InstanceNormalization", "LRN", "BatchNormalization"))
    if kind == "InstanceNormalization":
        g.op(kind, [name, scale, bias])
    elif kind == "LRN":
        g.op(kind, [name], size=3)
    else:
        _normalised(g, [name])


@rule
def layer_normalisation(g: Growing) -> None:
    name = g.any(lambda v: is_single(v) and v.ndim >= 2 and v.shape[-1] > 1 and v.size > 0)
    if name and g.opset >= 17:
        width = g.value(name).shape[-1]
        g.op("LayerNormalization", [name, weights(g, width), weights(g, width)], axis=-1)


@rule
def layer_normalisation_in_steps(g: Growing) -> None:
    """As exporters write it, so that ONNX Runtime fuses it."""
    name = g.any(lambda v: is_single(v) and v.ndim >= 2 and v.shape[-1] > 1 and v.size > 0)
    if name is None or g.opset >= 18:
        return
    two, small = (g.constant(np.array(n, np.float32)) for n in (2, 1e-2))
    mean = g.op("ReduceMean", [name], axes=[-1])
    apart = mean and g.op("Sub", [name, mean[0]])
    squares = apart and g.op("Pow", [apart[0], two])
    variance = squares and g.op("ReduceMean", squares, axes=[-1])
    above = variance and g.op("Add", [variance[0], small])
    root = above and g.op("Sqrt", above)
    scaled = root and apart and g.op("Div", [apart[0], root[0]])
    if scaled:
        width = g.value(name).shape[-1]
        made = g.op("Mul", [scaled[0], weights(g, width)])
        if made:
            g.op("Add", [made[0], weights(g, width)])


@rule
def gelu_in_steps(g: Growing) -> None:
    name = g.any(is_single)
    root, one, half = (g.constant(np.array(n, np.float32)) for n in (2**0.5, 1, 0.5))
    made = name and g.op("Div", [name, root])
    made = made and g.op("Erf", made)
    made = made and g.op("Add", [made[0], one])
    made = made and name and g.op("Mul", [name, made[0]])
    if made:
        g.op("Mul", [made[0], half])


@rule
def product(g: Growing) -> None:
    name = g.any(lambda v: is_single(v) and v.ndim >= 1 and v.size > 0)
    if name:
        made = g.op(
            "MatMul", [name, weights(g, g.value(name).shape[-1], g.random.choice((1, 3, 8)))]
        )
        if made and g.random.random() < 0.5:
            g.op("Add", [made[0], weights(g, g.value(made[0]).shape[-1])])


@rule
def product_of_two(g: Growing) -> None:
    first = g.any(lambda v: is_single(v) and v.ndim >= 2 and v.size > 0)
    second = first and g.any(
        lambda v: is_single(v) and v.ndim >= 2 and v.shape[-1] == g.value(first).shape[-1]
    )
    if first and second:
        order = list(range(g.value(second).ndim))
        order[-2:] = order[-1], order[-2]
        turned = g.op("Transpose", [second], perm=order)
        if turned:
            g.op("MatMul", [first, turned[0]])


@rule
def gemm(g: Growing) -> None:
    name = g.any(of_rank(2))
    if name:
        width, turned = g.value(name).shape[1], g.random.randrange(2)
        factor = weights(g, *((5, width) if turned else (width, 5)))
        inputs = [name, factor, *([weights(g, 5)] if g.random.random() < 0.7 else [])]
        made = g.op("Gemm", inputs, transB=turned, alpha=g.random.choice((1.0, 0.5)))
        if made and g.random.random() < 0.5:
            g.op("Relu", made)


@rule
def einsum(g: Growing) -> None:
    name = g.any(of_rank(3))
    if name:
        kind = g.random.choice(("bij,bjk->bik", "bij,bkj->bik", "bij,bij->bi"))
        b, i, j = g.value(name).shape
        shapes = {"bij,bjk->bik": (b, j, 2), "bij,bkj->bik": (b, 3, j), "bij,bij->bi": (b, i, j)}
        g.op("Einsum", [name, weights(g, *shapes[kind])], equation=kind)


@rule
def recurrence(g: Growing) -> None:
    name = g.any(of_rank(3))
    if name is None:
        return
    kind, gates = g.random.choice((("LSTM", 4), ("GRU", 3), ("RNN", 1)))
    direction = g.random.choice(("forward", "reverse", "bidirectional"))
    ways, hidden, width = 1 + (direction == "bidirectional"), 3, g.value(name).shape[2]
    factors = [weights(g, ways, gates * hidden, n) for n in (width, hidden)]
    count = g.random.randint(1, 2 + (kind == "LSTM"))
    g.op(kind, [name, *factors], outputs=count, hidden_size=hidden, direction=direction)


@rule
def dropout(g: Growing) -> None:
    name = g.any(is_single)
    if name:
        g.op("Dropout", [name])


def _window(g: Growing, sides: int) -> dict[str, Any]:
    """Strides, pads and dilations."""
    return {
        "strides": [g.random.choice((1, 2)) for _ in range(sides)],
        "pads": [g.random.choice((0, 0, 1)) for _ in range(2 * sides)],
        "dilations": [g.random.choice((1, 1, 2)) for _ in range(sides)],
    }


def _normalised(g: Growing, made: list[str] | None) -> None:
    """A BatchNormalization, which ONNX Runtime folds into a convolution before it."""
    if made:
        channels = g.value(made[0]).shape[1]
        rest = [weights(g, channels) for _ in range(3)]
        variance = g.constant(g.rng.uniform(0.5, 2, channels).astype(np.float32))
        g.op("BatchNormalization", [made[0], *rest, variance])
