"""The calibration run: every task once, alone, on real tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto

from engine import _core
from engine.dfg.constants import array_of
from engine.dfg.extract import extract
from engine.dfg.graph import Graph, Tensor, ValueKind
from engine.errors import ExecutionError, InputError, one_line
from engine.native import open_session
from engine.profiling.signature import Observed
from engine.values import to_value

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Step:
    """One task ready to be timed.

    Parameters
    ----------
    task : int
        Its index.
    model : bytes
        The task as a model; its external weights lie in the graph's folder.
    session : _core.Session
        That model at width 1, run once already.
    inputs : dict of str to _core.Value
        What it read.
    seen : dict of str to Observed
        All values so far, its outputs included.
    """

    task: int
    model: bytes
    session: _core.Session
    inputs: dict[str, _core.Value]
    seen: dict[str, Observed]


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
    """Run every task in order, each in its own session, freeing values at their last use.

    Raises
    ------
    InputError
        If an input is missing or does not fit.
    ExecutionError
        Naming the task that failed, and why.
    """
    values = initial_values(graph, inputs)
    seen = {name: observe(value) for name, value in values.items()}
    waiting = [len(tensor.consumers) for tensor in graph.tensors]
    for index, task in enumerate(graph.tasks):
        names = [graph.tensors[i].name for i in task.inputs]
        step_inputs = {name: values[name] for name in names if name in values}
        try:
            model = extract(graph, [index], _outputs(graph, index)).SerializeToString()
            session = open_session(model, weights_folder=graph.folder)
            outputs = session.run(dict(step_inputs))
        except (RuntimeError, MemoryError) as error:
            text = f"task {task.name!r} failed in calibration: {one_line(error)}"
            raise ExecutionError(text) from error
        made = dict(zip(session.output_names, outputs, strict=True))
        values.update(made)
        seen.update((name, observe(value)) for name, value in made.items())
        yield Step(index, model, session, step_inputs, seen)
        for i in (*task.inputs, *task.outputs):
            waiting[i] -= i in task.inputs
            if waiting[i] == 0:
                values.pop(graph.tensors[i].name, None)


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


def _value(tensor: Tensor, content: Any) -> _core.Value:
    try:
        if tensor.kind is ValueKind.SEQUENCE:
            items = [to_value(np.asarray(item), tensor.elem_type) for item in content]
            return _core.Value.sequence(items)
        value: _core.Value = to_value(np.asarray(content), tensor.elem_type)
        return value
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"input {tensor.name!r}: {error}") from error


def dim_key(tensor: Tensor, axis: int) -> str:
    """What a dimension is called: its name, or ``INPUT.AXIS`` where the model gives it none."""
    dim = None if tensor.shape is None else tensor.shape[axis]
    return dim if isinstance(dim, str) else f"{tensor.name}.{axis}"


def _random(tensor: Tensor, dims: Mapping[str, int], rng: np.random.Generator) -> Array:
    if tensor.kind is not ValueKind.TENSOR:
        raise InputError(f"input {tensor.name!r} is a {tensor.kind}: example inputs are needed")
    shape = tuple(
        dim if isinstance(dim, int) else dims.get(dim_key(tensor, axis), 1)
        for axis, dim in enumerate(tensor.shape or ())
    )
    if tensor.elem_type == TensorProto.STRING:
        return np.full(shape, "a", dtype=object)
    try:
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    except KeyError as error:
        raise InputError(f"input {tensor.name!r}: example inputs are needed") from error
    if dtype.kind == "b":
        return np.ones(shape, dtype)
    if dtype.kind in "iu":
        return rng.integers(0, 2, shape).astype(dtype)
    return np.asarray(rng.random(shape), dtype)
