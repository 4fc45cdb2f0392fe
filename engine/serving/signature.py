"""Checks of a query against the signature of its model."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.engine.errors import InputError
from surplus.engine.serving.datatypes import datatype_of
from surplus.engine.serving.servable import Array, Servable, TensorSpec


class Signature:
    """Inputs and outputs of a model by name; immutable."""

    def __init__(self, executor: Servable) -> None:
        self.inputs = {spec.name: spec for spec in executor.inputs}
        self.outputs = {spec.name: spec for spec in executor.outputs}
        self._required = [spec.name for spec in executor.inputs if not spec.optional]

    def check_inputs(self, inputs: Sequence[tuple[str, Array]]) -> dict[str, Array]:
        """Inputs by name.

        Raises
        ------
        InputError
            Naming the first input that is unknown, twice there, of a wrong datatype or shape, or
            missing.
        """
        checked: dict[str, Array] = {}
        for name, array in inputs:
            if name in checked:
                raise InputError(f"input {name!r} is given twice")
            spec = self.inputs.get(name)
            if spec is None:
                raise InputError(f"unknown input {name!r}; the model has {_names(self.inputs)}")
            _check_tensor(spec, array)
            checked[name] = array
        for name in self._required:
            if name not in checked:
                raise InputError(f"input {name!r} is missing; got {_names(checked)}")
        return checked

    def check_outputs(self, names: Sequence[str]) -> tuple[str, ...]:
        """Names of the outputs to compute, in the order of the answer; all if none are named.

        Raises
        ------
        InputError
            Naming the first output that is unknown or requested twice.
        """
        if not names:
            return tuple(self.outputs)
        for index, name in enumerate(names):
            if name not in self.outputs:
                raise InputError(f"unknown output {name!r}; the model has {_names(self.outputs)}")
            if name in names[:index]:
                raise InputError(f"output {name!r} is requested twice")
        return tuple(names)


def _check_tensor(spec: TensorSpec, array: Array) -> None:
    datatype = datatype_of(array)
    if datatype != spec.dtype:
        raise InputError(f"input {spec.name!r}: expected {spec.dtype}, got {datatype}")
    if spec.shape is None or array.shape == spec.shape:
        return
    fits = len(array.shape) == len(spec.shape) and all(
        expected in (-1, size) for expected, size in zip(spec.shape, array.shape, strict=True)
    )
    if not fits:
        raise InputError(
            f"input {spec.name!r}: expected shape {list(spec.shape)} (-1: any), "
            f"got {list(array.shape)}"
        )


def _names(names: Sequence[str] | dict[str, TensorSpec] | dict[str, Array]) -> str:
    return ", ".join(map(repr, names)) or "none"
