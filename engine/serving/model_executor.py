"""Puts whatever answers a model's queries behind the interface that the server speaks to."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

import numpy as np

from surplus.engine._core import Route
from surplus.engine.dfg.graph import ValueKind
from surplus.engine.errors import ModelError
from surplus.engine.repository.model_config import ModelConfig, unwritten
from surplus.engine.runtime.inputs import Array, IoSpec
from surplus.engine.runtime.queryable import Queryable
from surplus.engine.runtime.queryable_of import QueryableOf
from surplus.engine.serving.configured_tensors import ConfiguredTensors
from surplus.engine.serving.datatypes import datatype_of
from surplus.engine.serving.servable import TensorSpec
from surplus.engine.values import dtype_of

LEVELS = 9
USUAL_LEVEL = 5


def priority_of(level: int) -> int | None:
    """What the core takes for the protocol's ``priority``: the higher goes first.

    The protocol counts levels from 1, the most urgent; 0, the default, is what the model's queries
    are. Ours are nine, of which the fifth is what queries are of which nobody says anything, so
    that some may be made more urgent and some less; larger ones count as the ninth.
    """
    return None if level == 0 else USUAL_LEVEL - min(level, LEVELS)


class ModelExecutor(QueryableOf):
    """An ``surplus.engine.serving.servable.Servable``: the same whether or not a policy runs it.

    Parameters
    ----------
    model : Queryable
        A model by itself, one that its first query loads, or one of several under a policy.
    config : ModelConfig, optional
        How its tensors are shown; by default as they are.

    Raises
    ------
    ConfigError
        If the configuration contradicts the model.
    ModelError
        If an input is not a tensor, or an output that is offered: the protocol has no sequences; or
        if it has no datatype for one of them.
    EngineError
        If the model is loaded late, and its file is none that can be served.
    """

    def __init__(self, model: Queryable, config: ModelConfig | None = None) -> None:
        super().__init__(model)
        inputs = tuple(tensor_spec(spec) for spec in model.inputs)
        config = config or unwritten("")
        named = {entry.name for entry in config.message.output}
        outputs = tuple(tensor_spec(spec) for spec in offered(model.outputs, named))
        self.config = config.completed(inputs, outputs)
        has_more = len(outputs) < len(model.outputs)
        self._tensors = ConfiguredTensors(self.config, inputs, outputs, has_more=has_more)
        self.inputs = self._tensors.inputs
        self.outputs = self._tensors.outputs

    @property
    def facts(self) -> Mapping[str, str]:
        """As of the model; of an ensemble that it is one."""
        steps = len(self.config.message.ensemble_scheduling.step)
        merged = {"ensemble": f"one plan of {steps} steps"} if steps else {}
        return {**self._model.facts, **merged}

    @property
    def route(self) -> Route | None:
        """As of the model; None where tensors are not the model's as they are."""
        return self._model.route if self._tensors.are_the_models else None

    @property
    def worker(self) -> None:
        """It runs in this process."""
        return None

    def foresee(self, deadline_ns: int | None, priority: int = 0) -> None:
        """As of the model."""
        self._model.foresee(deadline_ns, priority_of(priority))

    async def infer(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None,
        deadline_ns: int | None,
        priority: int = 0,
    ) -> dict[str, Array]:
        """Run one query; cancelling the awaiting task cancels the run."""
        given, wanted = self._tensors.to_model(inputs), self._tensors.wanted(outputs)
        answer = await self._model.infer(given, wanted, deadline_ns, priority_of(priority))
        return self._tensors.to_client(answer)

    def close(self) -> None:
        """Let the model go: lanes are shared, sessions go with it."""
        self._model.unload()


def offered(outputs: Sequence[IoSpec], named: Container[str]) -> list[IoSpec]:
    """Outputs that clients may ask for: those that a configuration names, or else all tensors.

    A classifier's dicts behind a ZipMap do not keep its labels from being served. Where there are
    no tensors, or none is named that there is, all are: whoever describes them says what is wrong.
    """
    found = [spec for spec in outputs if spec.name in named]
    tensors = [spec for spec in outputs if spec.kind is ValueKind.TENSOR]
    return found or tensors or list(outputs)


def tensor_spec(spec: IoSpec) -> TensorSpec:
    """An input or output as the protocol describes it.

    Raises
    ------
    ModelError
        If it is not a tensor, or of a type that the protocol has no datatype for.
    """
    if spec.kind is not ValueKind.TENSOR:
        raise ModelError(f"{spec.name!r} is a {spec.kind}; the protocol serves tensors only")
    dtype = dtype_of(spec.elem_type)
    shape = None
    if spec.shape is not None:
        shape = tuple(d if isinstance(d, int) and d >= 0 else -1 for d in spec.shape)
    try:
        datatype = datatype_of(np.empty(0, dtype))
    except ValueError as error:
        raise ModelError(f"{spec.name!r}: {error}") from error
    return TensorSpec(spec.name, datatype, shape, spec.optional)
