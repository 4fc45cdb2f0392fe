"""Builds an ONNX graph node by node: fresh names, constants and seeded weights."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from surplus.models.room import BuildBudget

OPSET = 17
IR_VERSION = 8
Array = npt.NDArray[Any]
Shape = Sequence[int | str]


class GraphBuilder:
    """Collects nodes and initializers in a model.

    Values are plain strings, the names that ONNX itself uses. Node names are paths of the scopes
    that were open, so that a placement or a trace of the model can be read.

    Parameters
    ----------
    name : str
        Name of the graph.
    seed : int
        Seed of all weights. A weight depends on the seed and its own name only, so two models
        that share a backbone's names share its weights, too.
    opset : int
        Version of the ONNX operators.
    """

    def __init__(self, name: str, seed: int = 0, opset: int = OPSET) -> None:
        self._seed = seed
        self._scopes: list[str] = []
        self._used: dict[str, int] = {}
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._room = BuildBudget()
        # Filled in place: protobuf copies a message that is put into another, and with it all
        # weights.
        self._model = helper.make_model(
            helper.make_graph([], name, [], []),
            producer_name="surplus-models",
            opset_imports=[helper.make_opsetid("", opset)],
            ir_version=IR_VERSION,
        )
        self._graph = self._model.graph

    @contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Prefix all names made inside with `name`."""
        self._scopes.append(name)
        try:
            yield
        finally:
            self._scopes.pop()

    def path(self, name: str) -> str:
        """`name` within the open scopes."""
        return "/".join([*self._scopes, name])

    def input(self, name: str, shape: Shape, elem_type: int = TensorProto.FLOAT) -> str:
        """Declare an input of the graph; a string in `shape` is a dynamic dimension."""
        self._graph.input.append(helper.make_tensor_value_info(name, elem_type, list(shape)))
        self._used[name] = 1
        return name

    def output(
        self, value: str, name: str, shape: Shape, elem_type: int = TensorProto.FLOAT
    ) -> None:
        """Declare `value` as the graph's output `name`, renaming it where it was made."""
        self._rename(value, name)
        self._graph.output.append(helper.make_tensor_value_info(name, elem_type, list(shape)))

    def op(self, op_type: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Add a node of one output and return that output."""
        return self.op_multi(op_type, *inputs, outputs=1, name=name, **attributes)[0]

    def op_multi(
        self, op_type: str, *inputs: str, outputs: int, name: str = "", **attributes: Any
    ) -> list[str]:
        """Add a node of several outputs and return them in order."""
        self._room.take_node()
        node_name = self._fresh(name or op_type)
        made = [f"{node_name}:{i}" if outputs > 1 else f"{node_name}:" for i in range(outputs)]
        self._graph.node.append(
            helper.make_node(op_type, list(inputs), made, name=node_name, **attributes)
        )
        return made

    def constant(self, value: Any, dtype: npt.DTypeLike = np.float32) -> str:
        """Return an initializer holding `value`; equal constants are stored once."""
        # ascontiguousarray would turn 0-d into 1-d.
        array = np.asarray(value, dtype=dtype, order="C")
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = self.initializer(f"constant/{len(self._constants)}", array)
        return self._constants[key]

    def ints(self, *values: int) -> str:
        """Return a 1-d int64 constant, as axes, shapes and splits want it."""
        return self.constant(values, np.int64)

    def index(self, value: int) -> str:
        """Return a 0-d int64 constant: a Gather with it drops the axis."""
        return self.constant(value, np.int64)

    def initializer(self, name: str, array: Array) -> str:
        """Store `array` under a fresh name without looking for an equal one."""
        self._room.take_bytes(array.nbytes)
        fresh = self._fresh(name, scoped=False)
        self._graph.initializer.append(numpy_helper.from_array(array, fresh))
        return fresh

    def weight_rng(self, name: str) -> np.random.Generator:
        """Return the random stream of the weight `name` in the open scopes."""
        return np.random.default_rng([self._seed, zlib.crc32(self.path(name).encode())])

    def build(self, description: str = "") -> onnx.ModelProto:
        """Return the model, not yet checked; what is added later becomes part of it, too."""
        self._model.doc_string = description
        return self._model

    def _fresh(self, name: str, *, scoped: bool = True) -> str:
        path = self.path(name) if scoped else name
        count = self._used.get(path, 0)
        self._used[path] = count + 1
        return f"{path}_{count}" if count else path

    def _rename(self, value: str, name: str) -> None:
        for node in self._graph.node:
            for values in (node.input, node.output):
                for i, old in enumerate(values):
                    if old == value:
                        values[i] = name
