"""Graphs of very many small nodes, of a few shapes, with types for no value but inputs and outputs.

What exporters write of unrolled loops and of programs traced step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

_OPSET = 17
_IR_VERSION = 8
_SIZE = 16
_SIMPLE = ("Sin", "Abs", "Sigmoid", "Neg", "Tanh")
"""Of these ONNX Runtime fuses no two and removes none."""

_BLOCK = 10

Nodes = Iterable[NodeProto]


def _simple(index: int, source: str, target: str) -> NodeProto:
    return helper.make_node(_SIMPLE[index % len(_SIMPLE)], [source], [target], name=f"n{index}")


def _chain(count: int) -> Nodes:
    """One after the other."""
    for index in range(count - 1):
        yield _simple(index, f"t{index - 1}" if index else "x", f"t{index}")
    yield _simple(count - 1, f"t{count - 2}", "y")


def _wide(count: int) -> Nodes:
    """All beside each other, and one Concat of all."""
    names = [f"t{index}" for index in range(count - 1)]
    for index, name in enumerate(names):
        # Of its own each: what is computed twice ONNX Runtime computes once.
        yield helper.make_node("Add", ["x", f"c{index}"], [name], name=f"n{index}")
    yield helper.make_node("Concat", names, ["y"], name="join", axis=1)


def _blocks(count: int) -> Nodes:
    """Blocks of a product, a bias, an activation and three branches that meet, in a chain."""
    source = "x"
    blocks = max(1, count // _BLOCK)
    for block in range(blocks):
        b = f"b{block}"
        yield helper.make_node("MatMul", [source, "w"], [f"{b}_m"], name=f"{b}_m")
        yield helper.make_node("Add", [f"{b}_m", "b"], [f"{b}_a"], name=f"{b}_a")
        yield helper.make_node("Tanh", [f"{b}_a"], [f"{b}_t"], name=f"{b}_t")
        for branch, kind in enumerate(("Sin", "Abs", "Neg")):
            inner, end = f"{b}_{branch}", f"{b}_{branch}e"
            yield helper.make_node(kind, [f"{b}_t"], [inner], name=inner)
            if branch < 2:
                yield helper.make_node("Sigmoid", [inner], [end], name=end)
        yield helper.make_node("Add", [f"{b}_0e", f"{b}_1e"], [f"{b}_s"], name=f"{b}_s")
        target = "y" if block == blocks - 1 else f"{b}_y"
        yield helper.make_node("Add", [f"{b}_s", f"{b}_2"], [target], name=f"{b}_y")
        source = target


def _weights(shape: str, count: int) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    rng = np.random.default_rng(0)
    if shape == "blocks":
        yield "w", rng.normal(0, _SIZE**-0.5, (_SIZE, _SIZE))
        yield "b", rng.normal(0, 0.1, _SIZE)
    if shape == "wide":
        for index in range(count - 1):
            yield f"c{index}", rng.normal(0, 1, 1)


SHAPES: Mapping[str, Callable[[int], Nodes]] = MappingProxyType(
    {"chain": _chain, "wide": _wide, "blocks": _blocks}
)


def large_model(shape: str, count: int) -> onnx.ModelProto:
    """A model of about so many nodes: of ``shape`` ``chain``, ``wide`` or ``blocks``."""
    width = _SIZE * (count - 1) if shape == "wide" else _SIZE
    graph = helper.make_graph(
        list(SHAPES[shape](count)),
        f"{shape}{count}",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, _SIZE])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, width])],
        [numpy_helper.from_array(w.astype(np.float32), n) for n, w in _weights(shape, count)],
    )
    opset = [helper.make_opsetid("", _OPSET)]
    return helper.make_model(graph, opset_imports=opset, ir_version=_IR_VERSION)


def write_large_model(shape: str, count: int, folder: Path) -> Path:
    """The model's file in ``folder``, written if it is not there."""
    path = folder / f"large_{shape}{count}.onnx"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(large_model(shape, count).SerializeToString())
    return path
