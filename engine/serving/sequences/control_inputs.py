"""Inputs that tell a model where in its sequence a query stands: ``control_input``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from surplus.engine.errors import InputError
from surplus.engine.repository.config_message import enum_name
from surplus.engine.repository.model_config import ModelConfig
from surplus.engine.serving.datatypes import DATATYPES
from surplus.engine.serving.sequences.sequence_step import ID, SequenceStep
from surplus.engine.serving.servable import Array, TensorSpec

_CORRID = "CONTROL_SEQUENCE_CORRID"
_FLAGS: dict[str, Callable[[SequenceStep], bool]] = {
    "CONTROL_SEQUENCE_START": lambda step: step.starts,
    "CONTROL_SEQUENCE_END": lambda step: step.ends,
    "CONTROL_SEQUENCE_READY": lambda step: True,
}
_PAIRS = {"int32_false_true": "INT32", "fp32_false_true": "FP32", "bool_false_true": "BOOL"}
_ID_TYPES = ("UINT64", "INT64", "UINT32", "INT32", "BYTES")


@dataclass(frozen=True)
class _Control:
    """An input of one value.

    Parameters
    ----------
    values : (array, array), or None
        For false and for true; None of one that is given the sequence's id.
    empty : array
        Of its type and shape.
    """

    kind: str
    values: tuple[Array, Array] | None
    empty: Array


class ControlInputs:
    """The control inputs of a model.

    Parameters
    ----------
    inputs : mapping of str to TensorSpec
        The model's own.

    Raises
    ------
    ConfigError
        If the model has no such input, or it is of another type or not of one value.
    """

    def __init__(self, config: ModelConfig, inputs: Mapping[str, TensorSpec]) -> None:
        self._controls: dict[str, _Control] = {}
        kinds: set[str] = set()
        for index, entry in enumerate(config.message.sequence_batching.control_input):
            at = f"sequence_batching.control_input[{index}]"
            if entry.name not in inputs or entry.name in self._controls:
                there = ", ".join(map(repr, inputs))
                raise config.lines.wrong(
                    f"{at}.name", f"{entry.name!r} must be one input of the model; it has {there}"
                )
            if len(entry.control) != 1:
                raise config.lines.wrong(
                    f"{at}.control", f"{entry.name!r} has {len(entry.control)}, must have one"
                )
            control = _control(config, f"{at}.control[0]", entry.control[0], inputs[entry.name])
            if control.kind in kinds:
                raise config.lines.wrong(f"{at}.control[0].kind", f"{control.kind} is there twice")
            kinds.add(control.kind)
            self._controls[entry.name] = control

    @property
    def names(self) -> frozenset[str]:
        """The inputs' names."""
        return frozenset(self._controls)

    def values(self, step: SequenceStep) -> dict[str, Array]:
        """What the model is told of a query.

        Raises
        ------
        InputError
            If the sequence's id is none that the model can be told.
        """
        found = {}
        for name, control in self._controls.items():
            if control.values is None:
                found[name] = _id_array(step.id, control.empty)
            else:
                found[name] = control.values[_FLAGS[control.kind](step)]
        return found


def _control(config: ModelConfig, at: str, control: Any, spec: TensorSpec) -> _Control:
    kind = enum_name("ModelSequenceBatching.Control.Kind", control.kind)
    shape = () if spec.shape is None else spec.shape
    if any(size not in (-1, 1) for size in shape):
        raise config.lines.wrong(at, f"{spec.name!r} is {list(shape)}, must be of one value")
    pairs = {
        datatype: list(getattr(control, field))
        for field, datatype in _PAIRS.items()
        if getattr(control, field)
    }
    if kind == _CORRID:
        return _Control(kind, None, _id_values(config, at, control, spec, pairs))
    if len(pairs) != 1 or len(next(iter(pairs.values()))) != 2:
        fields = ", ".join(_PAIRS)
        raise config.lines.wrong(
            at, f"needs two values, for false and for true, in one of {fields}"
        )
    ((datatype, values),) = pairs.items()
    if datatype != spec.dtype:
        raise config.lines.wrong(at, f"is {datatype}, but {spec.name!r} is {spec.dtype}")
    empty = np.empty((1,) * len(shape), DATATYPES[datatype].dtype)
    false, true = (np.full_like(empty, value) for value in values)
    return _Control(kind, (false, true), empty)


def _id_values(
    config: ModelConfig, at: str, control: Any, spec: TensorSpec, pairs: Mapping[str, Any]
) -> Array:
    asked = (
        enum_name("DataType", control.data_type).removeprefix("TYPE_").replace("STRING", "BYTES")
    )
    if pairs:
        raise config.lines.wrong(at, "an id has no values for false and for true")
    if asked not in _ID_TYPES or asked != spec.dtype:
        raise config.lines.wrong(
            f"{at}.data_type",
            f"is {asked}; an id is one of {', '.join(_ID_TYPES)}, and {spec.name!r} {spec.dtype}",
        )
    rank = 0 if spec.shape is None else len(spec.shape)
    return np.empty((1,) * rank, DATATYPES[asked].dtype)


def _id_array(name: int | str, empty: Array) -> Array:
    if empty.dtype == np.object_:
        return np.full_like(empty, str(name).encode())
    bounds = np.iinfo(empty.dtype)
    if not isinstance(name, int) or not bounds.min <= name <= bounds.max:
        raise InputError(f"parameter {ID!r}: {name!r} is no {empty.dtype}, as the model takes it")
    return np.full_like(empty, name)
