"""A model's inputs and outputs as its configuration shows them to clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from surplus.engine.repository.model_config import ModelConfig
from surplus.engine.serving.servable import Array, TensorSpec


@dataclass(frozen=True)
class _Reshape:
    """From one shape to another of as many elements; -1 is the batch, or any size."""

    given: tuple[int, ...]
    wanted: tuple[int, ...]

    def __call__(self, array: Array) -> Array:
        """The array in the other shape; one of an unexpected rank as it is."""
        if array.ndim != len(self.given):
            return array
        sizes = zip(self.given, array.shape, strict=True)
        opens = iter([size for known, size in sizes if known == -1])
        return array.reshape([next(opens) if size == -1 else size for size in self.wanted])


class ConfiguredTensors:
    """What clients see of a model's tensors, and how theirs become the model's.

    Parameters
    ----------
    config : ModelConfig
        Completed from these inputs and outputs.
    inputs, outputs : sequence of TensorSpec
        The model's own.
    has_more : bool
        Whether it has outputs besides, which clients cannot ask for.
    """

    def __init__(
        self,
        config: ModelConfig,
        inputs: Sequence[TensorSpec],
        outputs: Sequence[TensorSpec],
        *,
        has_more: bool = False,
    ) -> None:
        batch = (-1,) if config.message.max_batch_size else ()
        ins = {entry.name: entry for entry in config.message.input}
        outs = {entry.name: entry for entry in config.message.output}
        self.inputs = tuple(_seen(s, ins[s.name], batch) for s in inputs if s.name in ins)
        self.outputs = tuple(_seen(s, outs[s.name], batch) for s in outputs if s.name in outs)
        self._to_model = {
            name: _Reshape((*batch, *entry.dims), (*batch, *entry.reshape.shape))
            for name, entry in ins.items()
            if entry.HasField("reshape")
        }
        self._to_client = {
            name: _Reshape((*batch, *entry.reshape.shape), (*batch, *entry.dims))
            for name, entry in outs.items()
            if entry.HasField("reshape")
        }
        names = tuple(spec.name for spec in self.outputs)
        self._offered = None if len(names) == len(outputs) and not has_more else names

    @property
    def are_the_models(self) -> bool:
        """Whether queries and answers are the model's as they are."""
        return not self._to_model and not self._to_client and self._offered is None

    def wanted(self, outputs: Sequence[str] | None) -> Sequence[str] | None:
        """Outputs to ask the model for; None is all that it has."""
        return self._offered if outputs is None else outputs

    def to_model(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        """A query's inputs as the model takes them."""
        return _reshaped(inputs, self._to_model)

    def to_client(self, outputs: dict[str, Array]) -> dict[str, Array]:
        """An answer as the configuration has it."""
        return dict(_reshaped(outputs, self._to_client))


def _reshaped(tensors: Mapping[str, Array], shapes: Mapping[str, _Reshape]) -> Mapping[str, Array]:
    if not shapes:
        return tensors
    return {n: shapes[n](array) if n in shapes else array for n, array in tensors.items()}


def _seen(spec: TensorSpec, entry: Any, batch: tuple[int, ...]) -> TensorSpec:
    """An input or output with the shape of its configuration."""
    if spec.shape is None and list(entry.dims) == [-1]:
        return spec
    return replace(spec, shape=(*batch, *entry.dims))
