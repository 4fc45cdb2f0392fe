"""Random small ONNX models: any wiring of a few operators, in every kind that a plan must keep.

All tensors are float (n, 4), so that any operator may read any of them. Besides plain operators
there are constants, operators of two outputs and of many inputs, readers of nothing but a shape,
bodies that capture values from outside, sequences, an operator that fails on demand, outputs that
others read, inputs that nobody reads, and inputs that are outputs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import TensorProto, helper

from surplus.engine.dfg.graph import Graph
from surplus.engine.planning.stages import read_model

COLUMNS = 4
ROWS = 3
KINDS = ("unary", "binary", "weighted", "split", "join", "shape", "body", "sequence", "pick")
ROW_KINDS = ("unary", "binary", "weighted", "split", "join", "shape")
FAILING_ROW = 1 << 20
"""As input ``row`` it makes every ``pick`` fail, and with it the query."""


@st.composite
def random_models(draw: st.DrawFn, max_nodes: int = 14, sequences: bool = True) -> onnx.ModelProto:
    """Models of 3 to ``max_nodes`` steps, with at least one output."""
    model = _Wiring(lambda values: draw(st.sampled_from(values)))
    kinds = [kind for kind in KINDS if sequences or kind != "sequence"]
    for kind in draw(st.lists(st.sampled_from(kinds), min_size=3, max_size=max_nodes)):
        getattr(model, kind)()
    ends = draw(st.lists(st.sampled_from(model.values), min_size=1, max_size=3, unique=True))
    return model.close(ends)


@st.composite
def row_models(draw: st.DrawFn, max_nodes: int = 10) -> onnx.ModelProto:
    """Models that mostly compute each row from that row alone, and read nothing else."""
    model = _Wiring(lambda values: draw(st.sampled_from(values)))
    for kind in draw(st.lists(st.sampled_from(ROW_KINDS), min_size=2, max_size=max_nodes)):
        getattr(model, kind)()
    ends = draw(st.lists(st.sampled_from(model.values[2:]), min_size=1, max_size=3, unique=True))
    return model.close(ends, ("x0", "x1"))


class _Wiring:
    """Adds operators whose inputs are picked among the values so far."""

    def __init__(self, pick: Callable[[Sequence[str]], str]) -> None:
        self.values = ["x0", "x1"]
        self._choose = pick
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def unary(self) -> None:
        self._op(self._choose(("Neg", "Abs", "Relu", "Tanh")), self._any())

    def binary(self) -> None:
        self._op(self._choose(("Add", "Sub", "Max")), self._any(), self._any())

    def weighted(self) -> None:
        self._op("MatMul", self._any(), self._constant())

    def split(self) -> None:
        halves = self._op("Split", self._any(), outputs=2, axis=1, num_outputs=2)
        self._op("Concat", *reversed(halves), axis=1)

    def join(self) -> None:
        """A Concat of many values made for it alone, which segments may join in part."""
        parts = [self._op("Neg", self._any(), hidden=True)[0] for _ in range(6)]
        (row,) = self._op("Concat", *parts, hidden=True, axis=1)
        self._op("MatMul", row, self._constant(len(parts) * COLUMNS))

    def shape(self) -> None:
        """A value whose shape is read, and nothing else of it."""
        (shape,) = self._op("Shape", self._any(), hidden=True)
        self._op("Expand", self._any(), shape)

    def body(self) -> None:
        """An If that captures a value in each branch; which one it takes depends on data."""
        (total,) = self._op("ReduceSum", self._any(), hidden=True, keepdims=0)
        (flag,) = self._op("Greater", total, self._scalar(0.0), hidden=True)
        branches = [self._branch(op, self._any()) for op in ("Neg", "Abs")]
        self._op("If", flag, then_branch=branches[0], else_branch=branches[1])

    def sequence(self) -> None:
        (items,) = self._op("SequenceConstruct", self._any(), self._any(), hidden=True)
        self._op("SequenceAt", items, self._index(1))

    def pick(self) -> None:
        """One row, chosen by an input, added to all; a row that is not there fails."""
        (row,) = self._op("Gather", self._any(), "row", hidden=True, axis=0)
        self._op("Add", self._any(), row)

    def close(
        self, ends: Sequence[str], read: Sequence[str] = ("x0", "x1", "row")
    ) -> onnx.ModelProto:
        kinds = [(name, TensorProto.FLOAT, ["n", COLUMNS]) for name in ("x0", "x1")]
        inputs = [*kinds, ("row", TensorProto.INT64, [1])]
        graph = helper.make_graph(
            self._nodes,
            "random",
            [helper.make_tensor_value_info(*kind) for kind in inputs if kind[0] in read],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", COLUMNS]) for n in ends],
            self._constants,
        )
        opsets = [helper.make_opsetid("", 18)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)

    def _any(self) -> str:
        return self._choose(self.values)

    def _op(self, kind: str, *inputs: str, outputs: int = 1, hidden: bool = False, **attributes: Any
            ) -> list[str]:  # fmt: skip
        """Add a node; unless hidden, its outputs may be read by those that follow."""
        made = [f"v{len(self._nodes)}_{i}" for i in range(outputs)]
        self._nodes.append(helper.make_node(kind, list(inputs), made, **attributes))
        if not hidden and outputs == 1:
            self.values += made
        return made

    def _branch(self, kind: str, captured: str) -> onnx.GraphProto:
        name = f"{kind}{len(self._nodes)}"
        return helper.make_graph(
            [helper.make_node(kind, [captured], [name])],
            name,
            [],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)],
        )

    def _constant(self, rows: int = COLUMNS) -> str:
        seed = len(self._constants)
        array = np.random.default_rng(seed).standard_normal((rows, COLUMNS), np.float32) / 2
        return self._keep(onnx.numpy_helper.from_array(array, f"c{seed}"))

    def _scalar(self, number: float) -> str:
        return self._keep(helper.make_tensor(f"c{len(self._constants)}", 1, [], [number]))

    def _index(self, number: int) -> str:
        return self._keep(helper.make_tensor(f"c{len(self._constants)}", 7, [], [number]))

    def _keep(self, tensor: onnx.TensorProto) -> str:
        self._constants.append(tensor)
        return str(tensor.name)


def inputs_of(graph: Graph, seed: int, rows: int = ROWS, row: int = 0) -> dict[str, Any]:
    """Seeded inputs of a random model."""
    rng = np.random.default_rng(seed)
    shape = (rows, COLUMNS)
    known = {name: rng.standard_normal(shape, np.float32) for name in ("x0", "x1")}
    known["row"] = np.array([row])
    return {graph.tensors[i].name: known[graph.tensors[i].name] for i in graph.inputs}


class Reader:
    """Reads models through a cache folder; equal models once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read = cache(self._from_bytes)

    def __call__(self, model: onnx.ModelProto) -> Graph:
        return self._read(model.SerializeToString(deterministic=True))

    def _from_bytes(self, content: bytes) -> Graph:
        path = self._folder / f"{hashlib.sha256(content).hexdigest()[:16]}.onnx"
        path.write_bytes(content)
        return read_model(path, self._folder / "cache")
