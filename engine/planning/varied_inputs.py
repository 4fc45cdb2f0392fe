"""Inputs to compare plans with, made from example inputs: other scales, and other open sizes.

What an example has one row of is also asked with several, whose magnitudes differ: operators that
quantise what each thread gets, or kernels that take few rows otherwise, show there what they do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from surplus.engine.dfg.graph import Graph, GraphTensor
from surplus.engine.profiling.calibrate import dim_key

_FACTORS = (0.9, 0.7, 1.3)
"""Of the example's floating-point numbers."""

_ROWS = (3, 8, 1)
"""Sizes of the first dimension, where that is open."""

_LARGER = 3
"""Times the example's size, of each other open dimension."""

_MOST_ELEMENTS = 1 << 22
"""Of all inputs together."""

_SHARES = 0.5 ** np.arange(4)
"""What rows that are added are of those that they repeat, in turns."""

Inputs = dict[str, Any]


def scaled(inputs: Mapping[str, Any], factor: float) -> Inputs:
    """The inputs, their floating-point numbers times a factor."""
    return {name: _times(value, factor) for name, value in inputs.items()}


def other_scales(inputs: Mapping[str, Any]) -> Iterator[Inputs]:
    """The inputs at other scales."""
    for factor in _FACTORS:
        yield scaled(inputs, factor)


def other_sizes(graph: Graph, inputs: Mapping[str, Any]) -> Iterator[Inputs]:
    """The inputs with more or fewer rows, then with more of each other open dimension.

    A model need not take all of them.
    """
    tensors = [t for t in graph.summary.inputs if isinstance(inputs.get(t.name), np.ndarray)]
    axes = [(tensor, axis) for tensor in tensors for axis in _open_axes(tensor)]
    first = {dim_key(tensor, axis) for tensor, axis in axes if axis == 0}
    others = sorted({dim_key(tensor, axis) for tensor, axis in axes} - first)
    for rows in _ROWS if first else ():
        yield from _resized(inputs, tensors, dict.fromkeys(first, rows))
    for key in others:
        size = next(
            inputs[tensor.name].shape[axis] for tensor, axis in axes if dim_key(tensor, axis) == key
        )
        yield from _resized(inputs, tensors, {key: size * _LARGER})


def _open_axes(tensor: GraphTensor) -> list[int]:
    return [axis for axis, dim in enumerate(tensor.shape or ()) if not isinstance(dim, int)]


def _resized(
    inputs: Mapping[str, Any], tensors: Sequence[GraphTensor], sizes: Mapping[str, int]
) -> Iterator[Inputs]:
    """One, unless it is too large or what there is already."""
    found: Inputs = dict(inputs)
    for tensor in tensors:
        for axis in _open_axes(tensor):
            size = sizes.get(dim_key(tensor, axis))
            if size is not None:
                found[tensor.name] = _of_size(found[tensor.name], axis, size)
    total = sum(value.size for value in found.values() if isinstance(value, np.ndarray))
    changed = any(found[t.name].shape != inputs[t.name].shape for t in tensors)
    if changed and total <= _MOST_ELEMENTS:
        yield found


def _of_size(array: npt.NDArray[Any], axis: int, size: int) -> npt.NDArray[Any]:
    have = array.shape[axis]
    if have == 0 or have == size:
        return array
    taken: npt.NDArray[Any] = np.take(array, np.arange(size) % have, axis)
    if taken.dtype.kind != "f":
        return taken
    shares = np.where(np.arange(size) < have, 1.0, _SHARES[np.arange(size) % len(_SHARES)])
    along = shares.reshape([-1 if i == axis else 1 for i in range(taken.ndim)])
    return np.asarray(taken * along, taken.dtype)


def _times(value: Any, factor: float) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return np.asarray(value * value.dtype.type(factor), value.dtype)
    return value
