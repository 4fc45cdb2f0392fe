"""What is wrong with a query's inputs, said as ONNX Runtime says it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from surplus.engine.dfg.graph import ValueKind
from surplus.engine.dropin.node_arg import type_of
from surplus.engine.dropin.ort_value import content_of
from surplus.engine.dropin.statuses import InvalidArgument, status
from surplus.engine.runtime.inputs import Array, IoSpec
from surplus.engine.runtime.type_text import tensor_type

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
    if wanted is not None and array.dtype != wanted and not _both_text(array, wanted):
        actual, expected = type_of(array), tensor_type(spec.elem_type)
        raise status(
            InvalidArgument,
            f"Unexpected input data type. Actual: ({actual}) , expected: ({expected})",
        )
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
