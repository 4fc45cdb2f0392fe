"""A model that is asked in sequences: it is given its state, and told where it is in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from surplus.engine.errors import InputError
from surplus.engine.repository.model_config import ModelConfig
from surplus.engine.runtime.inputs import Array
from surplus.engine.runtime.queryable import Queryable
from surplus.engine.runtime.queryable_of import QueryableOf
from surplus.engine.serving.model_executor import tensor_spec
from surplus.engine.serving.sequences.control_inputs import ControlInputs
from surplus.engine.serving.sequences.open_sequences import OpenSequences
from surplus.engine.serving.sequences.sequence_step import ID, SequenceStep, asked_step
from surplus.engine.serving.sequences.state_tensors import StateTensors

MOST = 1 << 14
"""Sequences of a model at a time, where its configuration says nothing: each holds its state."""

_IDLE_US = 1_000_000
"""Triton's, where nothing is written."""


def sequenced(model: Queryable, config: ModelConfig | None) -> Queryable:
    """The model as its configuration has it asked: in sequences, if that says so.

    Raises
    ------
    ConfigError
        If control inputs or states do not fit the model.
    """
    if config is None or not config.message.HasField("sequence_batching"):
        return model
    return SequencedModel(model, config)


class SequencedModel(QueryableOf):
    """A ``Queryable`` without the inputs and outputs that are no client's.

    Queries of a sequence run one after another, in the order of their coming; those of different
    ones beside each other, and in one call where the model's queries are stacked. What they wait
    for others of their sequence does not count as queued.
    """

    route = None

    def __init__(self, model: Queryable, config: ModelConfig) -> None:
        super().__init__(model)
        message = config.message.sequence_batching
        inputs = {spec.name: tensor_spec(spec) for spec in model.inputs}
        outputs = {spec.name: tensor_spec(spec) for spec in model.outputs}
        self._states = StateTensors(config, inputs, outputs)
        self._controls = ControlInputs(config, inputs)
        if both := self._controls.names & self._states.inputs:
            raise config.lines.wrong(
                "sequence_batching.control_input", f"{min(both)!r} is a state, too"
            )
        given = self._controls.names | self._states.inputs
        shown = {output.name for output in config.message.output}
        kept = set(self._states.outputs) - shown
        self.inputs = tuple(spec for spec in model.inputs if spec.name not in given)
        self.outputs = tuple(spec for spec in model.outputs if spec.name not in kept)
        self._is_batched = config.message.max_batch_size > 0
        idle_us = message.max_sequence_idle_microseconds or _IDLE_US
        most = message.oldest.max_candidate_sequences or MOST
        self._open = OpenSequences(idle_us / 1e6, most, self._states.initial)

    @property
    def facts(self) -> Mapping[str, str]:
        """As of the model, and what it remembers."""
        states = ", ".join(self._states.outputs) or "nothing"
        return {**self._model.facts, "sequences": f"keep {states}"}

    @property
    def open(self) -> int:
        """How many sequences have begun and not ended."""
        return len(self._open)

    def foresee(self, deadline_ns: int | None, priority: int | None) -> None:
        """As of the model: that others of the sequence come first is not predicted."""
        self._model.foresee(deadline_ns, priority)

    async def infer(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None,
        deadline_ns: int | None,
        priority: int | None,
    ) -> dict[str, Array]:
        """Run one query when those of its sequence have run that came before.

        Raises
        ------
        InputError
            If it is of no sequence, or of one that has not begun; as the model does.
        """
        step = self._step(inputs)
        controls = self._controls.values(step)
        wanted = None if outputs is None else list({*outputs, *self._states.outputs})
        async with self._open.turn(step) as sequence:
            given = {**inputs, **controls, **sequence.state}
            answer = await self._model.infer(given, wanted, deadline_ns, priority)
            sequence.state = self._states.after(answer)
        return answer

    def unload(self) -> None:
        """Let the model go, and all that it remembers."""
        self._open.forget()
        self._model.unload()

    def _step(self, inputs: Mapping[str, Array]) -> SequenceStep:
        step = asked_step()
        if step is None:
            raise InputError(f"the model is asked in sequences: a query needs {ID!r}, not 0")
        rows = {array.shape[0] for array in inputs.values()} if self._is_batched else set()
        if rows - {1}:
            raise InputError(f"a query of a sequence is of one row, not of {max(rows)}")
        return step
