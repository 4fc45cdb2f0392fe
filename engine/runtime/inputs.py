"""What a model expects of its inputs, checked at the edge and named in the error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surplus.engine.dfg.graph import Dim, Graph, GraphTensor, ValueKind
from surplus.engine.element_type import ElementType
from surplus.engine.errors import InputError
from surplus.engine.runtime.array_like import UNREADABLE, as_array, has_type, survives
from surplus.engine.shapes import check_rank, dim_text
from surplus.engine.values import byte_order_error, dtype_of

Array = Any
"""numpy array, list of arrays for a sequence, or None for an absent optional."""

Outputs = dict[str, Any]
"""By output name: a numpy array of a tensor, a list of arrays of a sequence, a dict or a list of
dicts of a map or of maps, None of an absent optional."""


@dataclass(frozen=True)
class IoSpec:
    """An input or output of a model.

    Parameters
    ----------
    elem_type : int
        ``onnx.TensorProto.DataType``; 0 for what is not a tensor.
    shape : tuple of Dim or None
        None where even the rank is unknown.
    optional : bool
        Whether a query may leave it out (an input with a default, or of optional type).
    map_key : int
        Of maps to floats, and sequences of these, the element type of the keys; else 0.
    """

    name: str
    elem_type: int
    shape: tuple[Dim, ...] | None
    kind: ValueKind
    optional: bool = False
    map_key: int = 0

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """Numpy's type of its elements; None for what is no tensor, or where the model is silent.

        Text is of numpy's ``object``; what numpy lacks is of ``ml_dtypes``.
        """
        if self.kind is not ValueKind.TENSOR or self.elem_type == ElementType.UNDEFINED:
            return None
        return dtype_of(self.elem_type)

    @property
    def type(self) -> str:
        """As ONNX Runtime writes it: ``tensor(float)``."""
        from surplus.engine.runtime.type_text import type_text  # for who prints it

        return type_text(self.kind, self.elem_type, self.map_key)

    def __repr__(self) -> str:
        shape = "" if self.shape is None else _show(self.shape)
        return f"<{self.name!r}: {self.type}{shape}{', optional' if self.optional else ''}>"


def input_specs(graph: Graph) -> tuple[IoSpec, ...]:
    """What a graph reads."""
    defaults = set(graph.default_inputs)
    return tuple(_spec(tensor, defaults) for tensor in graph.summary.inputs)


def output_specs(graph: Graph) -> tuple[IoSpec, ...]:
    """What a graph answers."""
    rows = {zip_map.output: zip_map.key_type for zip_map in graph.summary.zip_maps}
    return tuple(
        IoSpec(tensor.name, 0, None, ValueKind.SEQUENCE, map_key=rows[tensor.name])
        if tensor.name in rows
        else _spec(tensor, set())
        for tensor in graph.summary.outputs
    )


def _spec(tensor: GraphTensor, defaults: set[str]) -> IoSpec:
    optional = tensor.name in defaults or tensor.kind is ValueKind.OPTIONAL
    return IoSpec(tensor.name, tensor.elem_type, tensor.shape, tensor.kind, optional)


def check_mapping(specs: Sequence[IoSpec], inputs: object) -> None:
    """Refuse what is given instead of inputs by name.

    Raises
    ------
    InputError
        Showing how they are given.
    """
    if isinstance(inputs, Mapping):
        return
    shown = ", ".join(f"{spec.name!r}: array" for spec in specs if not spec.optional)
    kind = type(inputs).__name__
    raise InputError(f"inputs must be a mapping of name to array, as {{{shown}}}, got {kind}")


def check_names(specs: Mapping[str, Any], names: Iterable[str]) -> None:
    """Refuse names that are no input.

    Raises
    ------
    InputError
        Naming the first of them, and what there is.
    """
    for name in names:
        if name not in specs:
            known = ", ".join(sorted(specs)) or "none"
            raise InputError(f"unknown input {name!r}; there are: {known}")


def checked_input(spec: IoSpec, content: Array) -> Array:
    """The content of one input, lists and numbers made arrays.

    Raises
    ------
    InputError
        If kind, type or shape does not fit; the message names the input.
    """
    if spec.kind is ValueKind.TENSOR:
        array = _array(spec, content)
        _check_shape(spec, array)
        return array
    if spec.kind is ValueKind.SEQUENCE and not isinstance(content, list | tuple):
        raise InputError(
            f"input {spec.name!r}: expected a list of arrays, got {type(content).__name__}"
        )
    return content


def is_empty(content: Any) -> bool:
    """Whether it is an array without elements, or a list that holds one."""
    if isinstance(content, list | tuple):
        return any(map(is_empty, content))
    return getattr(content, "size", 1) == 0


def unchanging(content: Array) -> Array:
    """An input that its owner cannot change: arrays that can be written to are copied.

    So are other libraries' tensors and tables; strings are anyway, when the core's value is made.
    """
    if isinstance(content, np.ndarray):
        can_change = content.flags.writeable and content.dtype.kind != "O"
        return content.copy() if can_change else content
    if isinstance(content, list | tuple):
        return [unchanging(item) for item in content]
    if not has_type(content) or isinstance(content, Mapping):
        return content
    try:
        array = as_array(content)
    except UNREADABLE:
        return content  # whoever checks it says so
    return content if array.dtype.kind == "O" else array.copy()


def _array(spec: IoSpec, content: Array) -> np.ndarray[Any, Any]:
    wanted = spec.dtype
    try:
        array = as_array(content)
    except UNREADABLE as error:
        raise InputError(f"input {spec.name!r}: {error}") from error
    if wanted is None or array.dtype == wanted or _both_text(array.dtype, wanted):
        return array
    if not array.dtype.isnative:
        raise InputError(f"input {spec.name!r}: {byte_order_error(array.dtype)}")
    if has_type(content) or array.dtype.kind not in "biufc":
        kind = type(content).__name__ if array.dtype.kind == "O" else array.dtype
        raise InputError(f"input {spec.name!r}: expected {wanted}, got {kind}")
    if not survives(array, wanted):
        raise InputError(f"input {spec.name!r}: expected {wanted}, got numbers that it cannot hold")
    return array.astype(wanted)


def _check_shape(spec: IoSpec, array: np.ndarray[Any, Any]) -> None:
    check_rank(spec.name, array.shape)
    shape = spec.shape
    if shape is None:
        return
    if len(shape) != array.ndim or any(
        isinstance(want, int) and want >= 0 and want != have
        for want, have in zip(shape, array.shape, strict=True)
    ):
        raise InputError(f"input {spec.name!r}: expected shape {_show(shape)}, got {array.shape}")


def _both_text(have: np.dtype[Any], want: np.dtype[Any]) -> bool:
    return want.kind == "O" and have.kind in "OUST"


def _show(shape: tuple[Dim, ...]) -> str:
    inner = ", ".join(map(dim_text, shape))
    return f"({inner},)" if len(shape) == 1 else f"({inner})"
