"""What a model expects of its inputs, checked at the edge and named in the error."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx

from engine.dfg.graph import Dim, Tensor, ValueKind
from engine.errors import InputError

Array = Any
"""numpy array, list of arrays for a sequence, or None for an absent optional."""


def checked_input(tensor: Tensor, content: Array) -> Array:
    """The content of one input, lists and numbers made arrays.

    Parameters
    ----------
    tensor : Tensor
        The graph's input: name, kind, element type, shape.

    Raises
    ------
    InputError
        If kind, type or shape does not fit; the message names the input.
    """
    if tensor.kind is ValueKind.TENSOR:
        array = _array(tensor, content)
        _check_shape(tensor, array)
        return array
    if tensor.kind is ValueKind.SEQUENCE and not isinstance(content, list | tuple):
        raise InputError(
            f"input {tensor.name!r}: expected a list of arrays, got {type(content).__name__}"
        )
    return content


def input_dtype(tensor: Tensor) -> np.dtype[Any] | None:
    """The dtype of a tensor input; None for other kinds, or where the model does not say."""
    if tensor.kind is not ValueKind.TENSOR or tensor.elem_type == onnx.TensorProto.UNDEFINED:
        return None
    dtype: np.dtype[Any] = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    return dtype


def _array(tensor: Tensor, content: Array) -> np.ndarray[Any, Any]:
    wanted = input_dtype(tensor)
    if isinstance(content, np.ndarray | np.generic):
        array = np.asarray(content)
        if wanted is not None and array.dtype != wanted and not _both_text(array.dtype, wanted):
            raise InputError(f"input {tensor.name!r}: expected {wanted}, got {array.dtype}")
        return array
    return _made_array(tensor, content, wanted)


def _made_array(
    tensor: Tensor, content: Array, wanted: np.dtype[Any] | None
) -> np.ndarray[Any, Any]:
    """Python numbers and lists have no type of their own: take what fits without loss of kind."""
    try:
        array = np.asarray(content)
    except (TypeError, ValueError) as error:
        raise InputError(f"input {tensor.name!r}: {error}") from error
    if wanted is None or _both_text(array.dtype, wanted):
        return array
    if array.dtype.kind == "O" or not (
        array.size == 0 or np.can_cast(array.dtype, wanted, "same_kind")
    ):
        kind = type(content).__name__ if array.dtype.kind == "O" else array.dtype
        raise InputError(f"input {tensor.name!r}: expected {wanted}, got {kind}")
    return array.astype(wanted)


def _check_shape(tensor: Tensor, array: np.ndarray[Any, Any]) -> None:
    shape = tensor.shape
    if shape is None:
        return
    if len(shape) != array.ndim or any(
        isinstance(want, int) and want >= 0 and want != have
        for want, have in zip(shape, array.shape, strict=True)
    ):
        raise InputError(f"input {tensor.name!r}: expected shape {_show(shape)}, got {array.shape}")


def _both_text(have: np.dtype[Any], want: np.dtype[Any]) -> bool:
    return want.kind == "O" and have.kind in "OUS"


def _show(shape: tuple[Dim, ...]) -> str:
    inner = ", ".join("?" if d is None else str(d) for d in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"
