"""What a model remembers from one query of a sequence to the next: ``state``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from surplus.engine.repository.model_config import ModelConfig
from surplus.engine.serving.configured_values import datatype_named_by, read_values, zeros
from surplus.engine.serving.servable import Array, TensorSpec

FOLDER = "initial_state"
"""Of the model's folder: where files with states lie, as by Triton."""

SequenceState = dict[str, Array]
"""By the names of the model's inputs."""


@dataclass(frozen=True)
class _Kept:
    """An output that is the next query's input."""

    input: str
    output: str
    initial: Array


class StateTensors:
    """The states of a model.

    Parameters
    ----------
    inputs, outputs : mapping of str to TensorSpec
        The model's own.

    Raises
    ------
    ConfigError
        If it has no such input or output, or they are of another type or shape.
    """

    def __init__(
        self,
        config: ModelConfig,
        inputs: Mapping[str, TensorSpec],
        outputs: Mapping[str, TensorSpec],
    ) -> None:
        self._kept: list[_Kept] = []
        for index, state in enumerate(config.message.sequence_batching.state):
            at = f"sequence_batching.state[{index}]"
            self._check_names(config, at, state, inputs, outputs)
            for spec in (inputs[state.input_name], outputs[state.output_name]):
                _check_spec(config, at, state, spec)
            initial = _initial(config, at, state, inputs[state.input_name])
            initial.flags.writeable = False
            self._kept.append(_Kept(state.input_name, state.output_name, initial))

    @property
    def inputs(self) -> frozenset[str]:
        """Names of the inputs that clients do not give."""
        return frozenset(kept.input for kept in self._kept)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs that are kept."""
        return tuple(kept.output for kept in self._kept)

    def initial(self) -> SequenceState:
        """Of a sequence that begins."""
        return {kept.input: kept.initial for kept in self._kept}

    def after(self, answer: Mapping[str, Array]) -> SequenceState:
        """What the next query of the sequence is given."""
        return {kept.input: answer[kept.output] for kept in self._kept}

    def _check_names(
        self,
        config: ModelConfig,
        at: str,
        state: Any,
        inputs: Mapping[str, TensorSpec],
        outputs: Mapping[str, TensorSpec],
    ) -> None:
        for field, name, known, used in (
            ("input_name", state.input_name, inputs, self.inputs),
            ("output_name", state.output_name, outputs, self.outputs),
        ):
            if name not in known:
                there = ", ".join(map(repr, known))
                kind = field.partition("_")[0]
                raise config.lines.wrong(
                    f"{at}.{field}", f"the model has no {kind} {name!r}; it has {there}"
                )
            if name in used:
                raise config.lines.wrong(f"{at}.{field}", f"{name!r} is kept twice")


def _check_spec(config: ModelConfig, at: str, state: Any, spec: TensorSpec) -> None:
    datatype = datatype_named_by(config, f"{at}.data_type", state.data_type)
    if datatype != spec.dtype:
        raise config.lines.wrong(
            f"{at}.data_type", f"is {datatype}, but {spec.name!r} is {spec.dtype}"
        )
    wanted = _shape(config, state.dims)
    if spec.shape is not None and not _fits(wanted, spec.shape):
        raise config.lines.wrong(
            f"{at}.dims", f"is {list(state.dims)}, but {spec.name!r} is {list(spec.shape)}"
        )


def _initial(config: ModelConfig, at: str, state: Any, spec: TensorSpec) -> Array:
    """Zeros where it says nothing, with an open size as 1, which is Triton's."""
    given = state.initial_state
    if not given:
        return zeros(spec.dtype, tuple(abs(size) for size in _shape(config, state.dims, rows=1)))
    if len(given) > 1:
        raise config.lines.wrong(f"{at}.initial_state", f"there are {len(given)}, must be one")
    here, one = f"{at}.initial_state[0]", given[0]
    datatype = datatype_named_by(config, f"{here}.data_type", one.data_type)
    shape = _shape(config, one.dims, rows=1)
    if datatype != spec.dtype:
        raise config.lines.wrong(f"{here}.data_type", f"is {datatype}, the state {spec.dtype}")
    if min(shape, default=0) < 0 or not _fits(shape, _shape(config, state.dims)):
        raise config.lines.wrong(
            f"{here}.dims", f"{list(one.dims)} is no shape of the state's {list(state.dims)}"
        )
    which = one.WhichOneof("state_data")
    if which is None:
        raise config.lines.wrong(here, "needs zero_data or data_file")
    if which == "zero_data":
        return zeros(datatype, shape)
    field = f"{here}.data_file"
    return np.array(read_values(config, field, one.name, (FOLDER, one.data_file), datatype, shape))


def _shape(config: ModelConfig, dims: Any, rows: int = -1) -> tuple[int, ...]:
    """With the batch dimension, where the model has one."""
    return (rows, *dims) if config.message.max_batch_size else tuple(dims)


def _fits(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return len(one) == len(other) and all(
        -1 in (ours, theirs) or ours == theirs for ours, theirs in zip(one, other, strict=True)
    )
