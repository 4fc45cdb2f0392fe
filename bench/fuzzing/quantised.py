"""Rules of quantised chains: QuantizeLinear and DequantizeLinear around what reckons in between."""

from __future__ import annotations

import numpy as np

from bench.fuzzing.growing import Growing
from bench.fuzzing.rules import is_single, of_rank, rule


@rule
def quantised(g: Growing) -> None:
    """A chain of one to three operators between quantised values, each perhaps read elsewhere."""
    name = g.any(is_single)
    for _ in range(g.random.randint(1, 3)):
        made = name and _around(g, name)
        if not made:
            return
        name = _inner(g, made) or made


@rule
def quantised_twice(g: Growing) -> None:
    name = g.any(is_single)
    made = name and _around(g, name)
    if made:
        _around(g, made)


@rule
def quantised_product(g: Growing) -> None:
    """A product of dequantised values, its constant quantised as a whole or by column."""
    name = g.any(lambda v: is_single(v) and v.ndim >= 2 and v.size > 0)
    made = name and _around(g, name)
    if not made or name is None:
        return
    width = g.value(name).shape[-1]
    factor = _dequantised_constant(g, (width, 4), axis=1)
    product = factor and g.op("MatMul", [made, factor])
    if product:
        _around(g, product[0])


@rule
def quantised_convolution(g: Growing) -> None:
    name = g.any(of_rank(4))
    made = name and _around(g, name)
    if not made or name is None:
        return
    factor = _dequantised_constant(g, (4, g.value(name).shape[1], 1, 1), axis=0)
    product = factor and g.op("Conv", [made, factor])
    if product:
        last = g.op("Relu", product) if g.random.random() < 0.5 else product
        if last:
            _around(g, last[0])


@rule
def quantised_sum(g: Growing) -> None:
    first = g.any(is_single)
    second = first and g.any(lambda v: is_single(v) and v.shape == g.value(first).shape)
    pair = [made for name in (first, second) if name and (made := _around(g, name))]
    if len(pair) == 2:
        total = g.op(g.random.choice(("Add", "Mul")), pair)
        if total:
            _around(g, total[0])


@rule
def quantised_by_itself(g: Growing) -> None:
    """A scale that is reckoned from the data."""
    name = g.any(lambda v: is_single(v) and v.size > 0)
    made = name and g.op("DynamicQuantizeLinear", [name], outputs=3)
    if made:
        g.op("DequantizeLinear", made)


def _around(g: Growing, name: str) -> str | None:
    """Quantised and dequantised again, where no value lies between two steps."""
    value = g.value(name)
    kind = g.random.choice((np.uint8, np.int8))
    scale = np.float32(max(float(np.abs(value).max(initial=0.1)), 0.1) / 100)
    steps = value / scale
    if np.abs(np.abs(steps - np.floor(steps)) - 0.5).min(initial=1.0) < 1e-3:
        return None
    zero = kind(128 if kind is np.uint8 else g.random.choice((0, 3)))
    how = [g.constant(np.array(scale)), g.constant(np.array(zero))]
    made = g.op("QuantizeLinear", [name, *how])
    back = made and g.op("DequantizeLinear", [made[0], *how])
    return back[0] if back else None


def _inner(g: Growing, name: str) -> str | None:
    """An operator that ONNX Runtime runs on quantised values, or moves such steps across."""
    rank = g.value(name).ndim
    kind = g.random.choice(("Transpose", "Reshape", "Relu", "Sigmoid", "Unsqueeze", "Tanh"))
    if kind == "Transpose" and rank:
        made = g.op(kind, [name], perm=g.random.sample(range(rank), rank))
    elif kind == "Reshape":
        made = g.op(kind, [name, g.constant(np.array([-1], np.int64))])
    elif kind == "Unsqueeze":
        made = g.op(kind, [name, g.constant(np.array([0], np.int64))])
    else:
        made = g.op("Relu" if kind == "Transpose" else kind, [name])
    return made[0] if made else None


def _dequantised_constant(g: Growing, shape: tuple[int, ...], axis: int) -> str | None:
    held = g.constant(g.rng.integers(-100, 100, shape).astype(np.int8))
    count = shape[axis] if g.random.random() < 0.5 else None
    if count is None:
        how = [g.constant(np.array(0.01, np.float32)), g.constant(np.array(0, np.int8))]
        made = g.op("DequantizeLinear", [held, *how])
    else:
        scales = g.constant(g.rng.uniform(0.005, 0.02, count).astype(np.float32))
        made = g.op(
            "DequantizeLinear", [held, scales, g.constant(np.zeros(count, np.int8))], axis=axis
        )
    return made[0] if made else None
