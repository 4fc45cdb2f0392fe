"""Sizes for the dimensions that a model leaves open, where nobody says which are usual.

A plan that was measured on images of one pixel would be chosen for nobody's queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from onnx import TensorProto

from surplus.engine.dfg.graph import Graph, GraphTensor, ValueKind
from surplus.engine.errors import EngineError
from surplus.engine.examples.fitting import fitting_inputs
from surplus.engine.native import open_session
from surplus.engine.profiling.calibrate import dim_key, initial_values, random_inputs

_GUESSES = ((224, 128), (64, 16))
"""Sides of an image and lengths of a text, tried in this order, before everything is 1."""

_CHANNELS = (1, 3, 4)
_TEXT = (TensorProto.INT64, TensorProto.INT32)


def made_up_inputs(graph: Graph, dims: Mapping[str, int]) -> dict[str, Any]:
    """Seeded inputs of usual sizes: images of 224 x 224, texts of 128 tokens, all else 1.

    What the model does not run with (a text longer than its position table) is tried smaller:
    64 and 16, then 1; then what lets more of it run (fitting.py). Where nothing does, the
    profile will fail, and the model runs whole.

    Parameters
    ----------
    dims : mapping of str to int
        Sizes that are known, by the dimension's name, or ``INPUT.AXIS`` for one without a name.

    Raises
    ------
    InputError
        If an input is no tensor, or has an element type that cannot be made up.
    """
    for guess in _guesses(graph, dims):
        inputs: dict[str, Any] = dict(random_inputs(graph, guess))
        if _runs(graph, inputs):
            return inputs
    inputs = dict(random_inputs(graph, dims))
    if not _has_choice(graph, dims) or _runs(graph, inputs):
        return inputs
    return fitting_inputs(graph, dims) or inputs


def open_dims(graph: Graph) -> list[str]:
    """Names of the open dimensions of inputs, ``INPUT.AXIS`` for those without one; sorted."""
    tensors = graph.summary.inputs
    return sorted({dim_key(t, axis) for t in tensors for axis in _open_axes(t)})


def _guesses(graph: Graph, dims: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Sizes to try; none where no input looks like an image or a text of open size."""
    tensors = graph.summary.inputs
    images = {dim_key(t, axis) for t in tensors for axis in _open_axes(t) if _is_side(t, axis)}
    texts = {dim_key(t, axis) for t in tensors for axis in _open_axes(t) if _is_length(t, axis)}
    if images | texts <= dims.keys():
        return
    for side, length in _GUESSES:
        yield {**dict.fromkeys(texts, length), **dict.fromkeys(images, side), **dims}


def _has_choice(graph: Graph, dims: Mapping[str, int]) -> bool:
    """Whether inputs of other sizes, or other integers, could be made up."""
    integers = any(tensor.elem_type in _TEXT for tensor in graph.summary.inputs)
    return integers or not set(open_dims(graph)) <= dims.keys()


def _open_axes(tensor: GraphTensor) -> list[int]:
    """Axes without a fixed size; a batch, or whatever else comes first, among them."""
    if tensor.kind is not ValueKind.TENSOR:
        return []
    return [axis for axis, dim in enumerate(tensor.shape or ()) if not isinstance(dim, int)]


def _is_side(tensor: GraphTensor, axis: int) -> bool:
    """Height or width: of (N, C, H, W), (N, H, W, C) or (C, H, W)."""
    shape = tensor.shape or ()
    if len(shape) == 4:
        return axis in ((1, 2) if shape[3] in _CHANNELS else (2, 3))
    return len(shape) == 3 and shape[0] in _CHANNELS and axis > 0


def _is_length(tensor: GraphTensor, axis: int) -> bool:
    """Length of a text: the second of two dimensions of integers."""
    return len(tensor.shape or ()) == 2 and axis == 1 and tensor.elem_type in _TEXT


def _runs(graph: Graph, inputs: Mapping[str, Any]) -> bool:
    try:
        session = open_session(str(graph.model_path), level="disable_all")
        values = initial_values(graph, inputs)
        session.run({name: values[name] for name in session.input_names if name in values})
    except (RuntimeError, MemoryError, EngineError):
        return False
    return True
