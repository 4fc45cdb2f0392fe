"""A random model that is valid by construction: a node stays if ONNX Runtime alone computes it.

Each node that is proposed is run, unoptimised and by itself, on the values that the graph has at
that place. So its shape and type are known rather than derived, and a rule (rules.py) may propose
what is not always right. What is not finite, or too large to compare, is not kept either.

References
----------
Liu et al., NNSmith, ASPLOS 2023: there constraints of each operator are solved; here they are
tried, which costs about a millisecond a node and needs no model of any operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

Array = np.ndarray[Any, Any]

OPSETS = (13, 17, 18, 21)
_IR_VERSION = 10
_MOST_ELEMENTS = 20_000
_LARGEST = 1e4
"""Beyond, rounding decides about what is added to it."""


@dataclass(frozen=True)
class Query:
    """Inputs by name."""

    inputs: dict[str, Array]


@dataclass(frozen=True)
class Grown:
    """A model and queries that ONNX Runtime answers.

    Parameters
    ----------
    seed : int
        Makes the same model again.
    """

    seed: int
    model: onnx.ModelProto
    inputs: dict[str, Array]


@dataclass
class Growing:
    """The nodes so far, and a value of each tensor.

    Attributes
    ----------
    values : dict of str to array
        What later nodes may read, in order of appearance.
    """

    random: Random
    opset: int
    values: dict[str, Array] = field(default_factory=dict)
    inputs: dict[str, Array] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    _count: int = 0

    @property
    def rng(self) -> np.random.Generator:
        """A stream of numbers of its own for each use."""
        return np.random.default_rng(self.random.getrandbits(32))

    def name(self, prefix: str = "v") -> str:
        """A name that nothing has."""
        self._count += 1
        return f"{prefix}{self._count}"

    def any(self, fits: Callable[[Array], bool] = lambda _: True) -> str | None:
        """A value that fits, the later ones more often."""
        found = [name for name, value in self.values.items() if fits(value)]
        if not found:
            return None
        place = max(self.random.random(), self.random.random())
        return found[int(place * len(found))]

    def constant(self, array: Array) -> str:
        """An initializer."""
        name = self.name("c")
        self.constants[name] = array
        return name

    def op(
        self,
        kind: str,
        inputs: Sequence[str],
        outputs: int = 1,
        domain: str = "",
        **attributes: Any,
    ) -> list[str] | None:
        """Add a node and return its outputs' names; None where ONNX Runtime does not compute it."""
        made = [self.name() for _ in range(outputs)]
        node = helper.make_node(kind, list(inputs), made, domain=domain, **attributes)
        found = self._computed(node)
        if found is None or not all(map(_is_usable, found)):
            return None
        self.nodes.append(node)
        self.values.update(zip(made, found, strict=True))
        return made

    def forget(self, names: Sequence[str]) -> None:
        """Let nothing that follows read these."""
        for name in names:
            self.values.pop(name, None)

    def value(self, name: str) -> Array:
        """Of a tensor or a constant."""
        found = self.constants.get(name)
        return self.values[name] if found is None else found

    def type_of(self, name: str) -> int:
        """Element type by ONNX' numbers."""
        return int(helper.np_dtype_to_tensor_dtype(self.value(name).dtype))

    def _computed(self, node: onnx.NodeProto) -> list[Array] | None:
        read = [name for name in dict.fromkeys([*node.input, *_captured(node)]) if name]
        known = {n: self.value(n) for n in read if n in self.values or n in self.constants}
        held = [numpy_helper.from_array(a, n) for n, a in known.items() if n in self.constants]
        fed = {n: a for n, a in known.items() if n in self.values}
        graph = helper.make_graph(
            [node],
            "one",
            [helper.make_tensor_value_info(n, self.type_of(n), a.shape) for n, a in fed.items()],
            [onnx.ValueInfoProto(name=name) for name in node.output if name],
            held,
        )
        try:
            return run_plain(self.wrapped(graph).SerializeToString(), fed)
        except Exception:  # the binding's exceptions have no common class
            return None

    def wrapped(self, graph: onnx.GraphProto) -> onnx.ModelProto:
        """A graph as a model of this operator set."""
        opsets = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)


def run_plain(
    model: bytes, inputs: dict[str, Array], level: str = "ORT_DISABLE_ALL", threads: int = 1
) -> list[Any]:
    """What ONNX Runtime's own Python package answers."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    found: list[Any] = session.run(None, inputs)
    return found


def _captured(node: onnx.NodeProto) -> list[str]:
    """Names that bodies read from outside, or make themselves: the caller knows which there are."""
    bodies = [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    return [name for body in bodies for inner in body.node for name in inner.input]


def _is_usable(array: Any) -> bool:
    if not isinstance(array, np.ndarray):
        return False
    if array.size > _MOST_ELEMENTS or array.ndim > 6:
        return False
    if array.dtype.kind != "f":
        return array.dtype.kind in "iub"
    return bool(np.isfinite(array).all() and np.abs(array).max(initial=0.0) <= _LARGEST)
