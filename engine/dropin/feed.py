"""What is wrong with a query's inputs, said as ONNX Runtime says it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from surplus.engine.dfg.graph import ValueKind
from surplus.engine.dropin.node_arg import type_of
from surplus.engine.dropin.ort_value import content_of
from surplus.engine.dropin.statuses import Fail, InvalidArgument, status, without_heading
from surplus.engine.element_type import ElementType
from surplus.engine.runtime.inputs import Array, IoSpec
from surplus.engine.runtime.type_text import tensor_type
from surplus.engine.values import byte_order_error, elem_type_of

_FIX = "Please fix either the inputs/outputs or the model."


def check_complete(specs: Sequence[IoSpec], names: Iterable[str]) -> None:
    """Refuse a query without an input that the model has no default for.

    Raises
    ------
    ValueError
        Naming all that are missing.
    """
    given = list(names)
    missing = [spec.name for spec in specs if not spec.optional and spec.name not in given]
    if missing:
        raise ValueError(f"Required inputs ({missing}) are missing from input feed ({given}).")


def check_outputs(known: Sequence[str], wanted: Iterable[str]) -> None:
    """Refuse outputs that the model has not got.

    Raises
    ------
    InvalidArgument
        Naming the first.
    """
    for name in wanted:
        if name not in known:
            raise status(InvalidArgument, f"Invalid output name:{name}")


def contents(feed: Mapping[str, Any]) -> dict[str, Array]:
    """The feed with what its ``OrtValue``s hold."""
    return {name: content_of(value) for name, value in feed.items()}


def made_of_lists(specs: Sequence[IoSpec], feed: Mapping[str, Array]) -> dict[str, Array]:
    """The feed as ONNX Runtime reads it: lists made arrays, what is no text made text.

    Raises
    ------
    RuntimeError
        If a list makes no array, or an array is of a type that no model takes.
    """
    tensors = {spec.name: spec for spec in specs if spec.kind is ValueKind.TENSOR}
    return {
        name: _read(tensors[name], content) if name in tensors else content
        for name, content in feed.items()
    }


def _read(spec: IoSpec, content: Array) -> Array:
    if isinstance(content, list | tuple):
        _require_array(content)
        return content
    if isinstance(content, Mapping):
        _refuse_map(spec, content)
    if not isinstance(content, np.ndarray):
        return content
    if spec.elem_type == ElementType.STRING and content.dtype.kind == "O":
        return _texts(content)
    try:
        elem_type_of(content.dtype)
    except ValueError:
        raise RuntimeError(
            f"Numpy_type {content.dtype.num} can't be converted to MLDataType"
            f" ({content.dtype}, for input {spec.name!r})."
        ) from None
    return content


def _refuse_map(spec: IoSpec, content: Mapping[Any, Any]) -> NoReturn:
    """As ONNX Runtime, which reads it first."""
    if not content:
        raise RuntimeError("Size of dictionary is empty, unable to run the prediction.")
    try:
        for value in content.values():
            float(value)
    except (TypeError, ValueError) as error:
        raise without_heading(Fail, f"{type(error)}: {error}") from error
    key = "string" if isinstance(next(iter(content)), str) else "int64"
    actual, expected = f"(map({key},tensor(float)))", f"({tensor_type(spec.elem_type)})"
    raise _wrong_type(actual, expected)


def _wrong_type(actual: str, expected: str) -> Exception:
    text = f"Unexpected input data type. Actual: ({actual}) , expected: ({expected})"
    return status(InvalidArgument, text)


def _require_array(content: list[Any] | tuple[Any, ...]) -> None:
    try:
        is_tensor = np.asarray(content).dtype.kind != "O"
    except (TypeError, ValueError):
        is_tensor = False
    if not is_tensor:
        raise RuntimeError("Could not create tensor from given input list")


def _texts(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Each element's text; the array itself where all have one."""
    if all(isinstance(item, str | bytes) for item in array.flat):
        return array
    texts = [item if isinstance(item, bytes) else str(item) for item in array.flat]
    return np.array(texts, object).reshape(array.shape)


def check_feed(specs: Sequence[IoSpec], feed: Mapping[str, Array]) -> None:
    """Refuse the first input that does not fit.

    Raises
    ------
    InvalidArgument
        If a name, type, rank or size is wrong.
    """
    known = {spec.name: spec for spec in specs}
    for name, content in feed.items():
        if name not in known:
            raise status(InvalidArgument, f"Invalid input name: {name}")
        if known[name].kind is ValueKind.TENSOR and isinstance(content, np.ndarray):
            _check_tensor(known[name], content)


def _check_tensor(spec: IoSpec, array: np.ndarray[Any, Any]) -> None:
    wanted = spec.dtype
    if not array.dtype.isnative:
        raise status(InvalidArgument, f"input {spec.name!r}: {byte_order_error(array.dtype)}")
    if wanted is not None and array.dtype != wanted and not _both_text(array, wanted):
        raise _wrong_type(type_of(array), tensor_type(spec.elem_type))
    if spec.shape is None:
        return
    if len(spec.shape) != array.ndim:
        raise status(
            InvalidArgument,
            f"Invalid rank for input: {spec.name} Got: {array.ndim} Expected: {len(spec.shape)}"
            f" {_FIX}",
        )
    wrong = [
        f" index: {i} Got: {have} Expected: {want}\n"
        for i, (have, want) in enumerate(zip(array.shape, spec.shape, strict=True))
        if isinstance(want, int) and want >= 0 and have != want
    ]
    if wrong:
        raise status(
            InvalidArgument,
            f"Got invalid dimensions for input: {spec.name} for the following indices\n"
            f"{''.join(wrong)} {_FIX}",
        )


def _both_text(array: np.ndarray[Any, Any], wanted: np.dtype[Any]) -> bool:
    return wanted.kind == "O" and array.dtype.kind in "OUST"
