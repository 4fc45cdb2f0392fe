"""Random models by seed: inputs of any type and size, nodes by the rules, some sizes left open."""

from __future__ import annotations

from random import Random

import numpy as np
import onnx
from onnx import helper, numpy_helper

from bench.fuzzing import control, elementwise, networks, quantised, shapes  # noqa: F401
from bench.fuzzing.growing import OPSETS, Array, Growing, Grown
from bench.fuzzing.rules import RULES
from surplus.engine.adversarial_values import finite_numbers, numbers_of

_TYPES = (np.float32,) * 12 + (np.float64, np.float16, np.bool_)
_TYPES += (np.int64, np.int64, np.int32, np.int32, np.uint8, np.int8)
_EXTENTS = (1, 1, 2, 3, 3, 4, 5, 8, 16)
_OPEN = 0.4
_EMPTY = 0.03
_LARGE = 0.3
"""Share of the inputs of whole numbers that hold bounds, and what float32 does not tell apart."""


def grow(seed: int, most_nodes: int = 24) -> Grown:
    """The model of a seed.

    Parameters
    ----------
    most_nodes : int
        Rules that are tried; each adds none or a few nodes.
    """
    random = Random(seed)
    g = Growing(random, random.choice(OPSETS))
    for _ in range(random.randint(1, 3)):
        _add_input(g)
    names = sorted(RULES)
    for _ in range(random.randint(2, most_nodes)):
        RULES[random.choice(names)](g)
    if not g.nodes:
        g.op("Identity", [next(iter(g.inputs))])
    return Grown(seed, _closed(g), dict(g.inputs))


def _add_input(g: Growing) -> None:
    kind = g.random.choice(_TYPES)
    rank = g.random.choice((0, 1, 2, 2, 3, 3, 4, 4, 4))
    shape = [g.random.choice(_EXTENTS) for _ in range(rank)]
    if rank and g.random.random() < _EMPTY:
        shape[g.random.randrange(rank)] = 0
    name = g.name("x")
    g.values[name] = g.inputs[name] = _numbers(g, shape, np.dtype(kind))


def _numbers(g: Growing, shape: list[int], kind: np.dtype[np.generic]) -> Array:
    if kind.kind == "f":
        return np.asarray(g.rng.standard_normal(shape), kind)
    if kind.kind == "b":
        return np.asarray(g.rng.integers(0, 2, shape), kind)
    if g.random.random() < _LARGE:
        return numbers_of(_whole_numbers(kind), shape, kind)
    return np.asarray(g.rng.integers(0, 4, shape), kind)


def _whole_numbers(kind: np.dtype[np.generic]) -> Array:
    """Without the least one, which ends a process where it is divided by -1."""
    numbers = finite_numbers(kind)
    return numbers[(numbers > np.iinfo(kind).min) & (numbers != -(2**31))]


def _closed(g: Growing) -> onnx.ModelProto:
    """With inputs of which some sizes are open, and every end and some other values as outputs."""
    read = {name for node in g.nodes for name in node.input}
    made = [name for name in g.values if name not in g.inputs]
    ends = [n for n in made if n not in read or g.random.random() < 0.1] or made[-1:]
    held = {n for node in g.nodes for n in [*node.input, *_inside(node)]} & g.constants.keys()
    graph = helper.make_graph(
        g.nodes,
        "fuzz",
        [_declared(g, name, _OPEN) for name in g.inputs],
        [_output(g, name) for name in ends],
        [numpy_helper.from_array(g.constants[name], name) for name in sorted(held)],
    )
    if g.random.random() < 0.3:
        graph.value_info.extend(_declared(g, n, 0.5) for n in made if n not in ends)
    return g.wrapped(graph)


def _inside(node: onnx.NodeProto) -> list[str]:
    bodies = [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    return [name for body in bodies for inner in body.node for name in inner.input]


def _declared(g: Growing, name: str, open_share: float) -> onnx.ValueInfoProto:
    shape = g.value(name).shape
    dims = [
        f"{name}_{axis}" if g.random.random() < open_share else extent
        for axis, extent in enumerate(shape)
    ]
    return helper.make_tensor_value_info(name, g.type_of(name), dims)


def _output(g: Growing, name: str) -> onnx.ValueInfoProto:
    """Of a known type and rank; its sizes are left to whoever reads the file."""
    return _declared(g, name, 1.0)
