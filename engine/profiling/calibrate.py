"""The calibration run: the tasks in order, on real tensors, those executed that must be."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from onnx import TensorProto

from surplus.engine import _core
from surplus.engine.dfg.constants import array_of, element_bits, stored_bytes
from surplus.engine.dfg.extract import extract
from surplus.engine.dfg.graph import Graph, GraphTensor, ValueKind
from surplus.engine.dfg.graph_tensor import is_open
from surplus.engine.errors import InputError
from surplus.engine.native import open_session
from surplus.engine.profiling.calibration_values import CalibrationValues, failed
from surplus.engine.profiling.random_content import random_content
from surplus.engine.profiling.signature import Observed
from surplus.engine.values import to_value

Array = np.ndarray[Any, Any]


class Step:
    """One task ready to be timed.

    It is executed when its session or its inputs are asked for, not if nobody does.

    Parameters
    ----------
    task : int
        Its index.
    seen : dict of str to Observed
        All values so far, its outputs included.
    """

    def __init__(
        self, graph: Graph, task: int, values: CalibrationValues, seen: dict[str, Observed]
    ) -> None:
        self.task = task
        self.seen = seen
        self._graph = graph
        self._values = values

    @cached_property
    def model(self) -> bytes:
        """The task as a model; its external weights lie in the graph's folder."""
        content: bytes = extract(
            self._graph, [self.task], _outputs(self._graph, self.task)
        ).SerializeToString()
        return content

    @cached_property
    def inputs(self) -> dict[str, _core.Value]:
        """What it reads.

        Raises
        ------
        ExecutionError
            Naming the task that failed, and why.
        """
        return self._values.inputs_of(self.task)

    @cached_property
    def session(self) -> _core.Session:
        """That model at width 1, run once already.

        Raises
        ------
        ExecutionError
            Naming the task that failed, and why.
        """
        try:
            session = open_session(self.model, weights_folder=self._graph.folder)
            outputs = session.run(dict(self.inputs))
        except (RuntimeError, MemoryError) as error:
            raise failed(self._graph, self.task, error) from error
        made = dict(zip(session.output_names, outputs, strict=True))
        self.seen.update((name, observe(value)) for name, value in made.items())
        self._values.add(self.task, made)
        return session


def random_inputs(graph: Graph, dims: Mapping[str, int], seed: int = 0) -> dict[str, Array]:
    """Seeded inputs by the graph's own types and shapes.

    Floats are uniform in [0, 1), integers 0 or 1 (valid as indices and as token numbers), which
    may not be what the model expects: give real inputs where behaviour depends on them.

    Parameters
    ----------
    dims : mapping of str to int
        Sizes of dynamic dimensions by ``dim_key``; others become 1.

    Raises
    ------
    InputError
        If an input is no tensor, or has an element type that cannot be made up.
    """
    rng = np.random.default_rng(seed)
    return {
        t.name: _random(t, dims, rng)
        for t in graph.summary.inputs
        if t.name not in graph.default_inputs and t.kind is not ValueKind.OPTIONAL
    }


def calibrate(graph: Graph, inputs: Mapping[str, Array]) -> Iterator[Step]:
    """Every task in order, each in a session of its own if it is executed.

    Those are whose outputs have sizes that only their execution tells, and those that are timed.

    Raises
    ------
    InputError
        If an input is missing or does not fit.
    ExecutionError
        Naming the task that failed, and why.
    """
    given = initial_values(graph, inputs)
    values = CalibrationValues(graph, given)
    seen = {name: observe(value) for name, value in given.items()}
    steered = _steered(graph)
    for index in range(len(graph.tasks)):
        step = Step(graph, index, values, seen)
        values.wait(index)
        declared = _declared(graph, index, steered)
        if declared is None:
            _ = step.session
        else:
            seen.update(declared)
        yield step


def _steered(graph: Graph) -> frozenset[int]:
    """Tensors that control flow reads: scalars among them are part of its signature."""
    return frozenset(i for task in graph.tasks if task.is_control_flow for i in task.inputs)


def _declared(graph: Graph, task: int, steered: Collection[int]) -> dict[str, Observed] | None:
    """What the graph says of a task's outputs; None where that is not all."""
    found = {}
    for index in graph.tasks[task].outputs:
        tensor = graph.tensors[index]
        bits = element_bits(tensor.elem_type)
        plain = tensor.kind is ValueKind.TENSOR and tensor.elem_type != TensorProto.STRING
        if index in steered or is_open(tensor.shape) or not plain or not bits or bits % 8:
            return None
        shape = tuple(dim for dim in tensor.shape or () if isinstance(dim, int))
        found[tensor.name] = Observed(
            tensor.elem_type, shape, stored_bytes(tensor.elem_type, shape)
        )
    return found


def observe(value: _core.Value) -> Observed:
    """Type, shape and size of a value."""
    if value.kind != "tensor":
        return Observed(0, None, 0)
    content = ""
    if value.shape in ((), (1,)) and value.elem_type in _SCALARS:
        content = str(value.to_numpy().ravel()[0])
    return Observed(value.elem_type, tuple(value.shape), value.nbytes, content)


_SCALARS = {TensorProto.BOOL, TensorProto.INT64, TensorProto.INT32}


def _outputs(graph: Graph, index: int) -> list[str]:
    """All that the task makes: what nobody reads has a size, too."""
    return [graph.tensors[i].name for i in graph.tasks[index].outputs]


def initial_values(graph: Graph, inputs: Mapping[str, Any]) -> dict[str, _core.Value]:
    """The graph's inputs as values, defaults filled in.

    Raises
    ------
    InputError
        If an input is missing or does not fit its type.
    """
    values = {}
    for tensor in graph.summary.inputs:
        if tensor.name in inputs:
            values[tensor.name] = _value(tensor, inputs[tensor.name])
        elif tensor.name in graph.default_inputs:
            held = graph.initializers[tensor.name]
            values[tensor.name] = to_value(array_of(held, graph.folder), held.data_type)
        elif tensor.kind is not ValueKind.OPTIONAL:
            raise InputError(f"input {tensor.name!r} is missing")
    return values


def _value(tensor: GraphTensor, content: Any) -> _core.Value:
    try:
        if tensor.kind is ValueKind.SEQUENCE:
            items = [to_value(np.asarray(item), tensor.elem_type) for item in content]
            return _core.Value.sequence(items)
        value: _core.Value = to_value(np.asarray(content), tensor.elem_type)
        return value
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"input {tensor.name!r}: {error}") from error


def dim_key(tensor: GraphTensor, axis: int) -> str:
    """What a dimension is called: its name, or ``INPUT.AXIS`` where the model gives it none."""
    dim = None if tensor.shape is None else tensor.shape[axis]
    return dim if isinstance(dim, str) else f"{tensor.name}.{axis}"


def made_up_shape(tensor: GraphTensor, dims: Mapping[str, int]) -> tuple[int, ...]:
    """Its shape with sizes of open dimensions by ``dim_key``; others are 1."""
    return tuple(
        dim if isinstance(dim, int) else dims.get(dim_key(tensor, axis), 1)
        for axis, dim in enumerate(tensor.shape or ())
    )


def _random(tensor: GraphTensor, dims: Mapping[str, int], rng: np.random.Generator) -> Array:
    if tensor.kind is not ValueKind.TENSOR:
        raise InputError(f"input {tensor.name!r} is a {tensor.kind}: example inputs are needed")
    shape = made_up_shape(tensor, dims)
    try:
        return random_content(tensor.elem_type, shape, rng)
    except ValueError as error:
        raise InputError(f"input {tensor.name!r}: example inputs are needed") from error
