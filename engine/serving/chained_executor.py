"""An ensemble whose steps run in turn, since they have no graph in common.

Each step answers as its model does by itself; between two of them nothing is encoded or copied.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from surplus.engine.ensembles.ensemble import Ensemble, EnsembleStep
from surplus.engine.errors import InputError
from surplus.engine.repository.model_config import ModelConfig
from surplus.engine.serving.servable import Array, Servable, TensorSpec
from surplus.engine.serving.signature import Signature
from surplus.engine.serving.step_tally import StepTally
from surplus.engine.serving.step_work import StepWork


class ChainedExecutor:
    """A ``Servable`` over those of its steps, which are this one's.

    Parameters
    ----------
    config : ModelConfig
        The ensemble's.
    steps : sequence of (EnsembleStep, Servable)
        In the order of their running.
    why : str
        They run in turn, for people.

    Raises
    ------
    ConfigError
        If types or sizes of a tensor differ between steps, or from the configuration.
    """

    route = None
    worker = None
    joined = 0
    held = ""

    def __init__(
        self,
        config: ModelConfig,
        ensemble: Ensemble,
        steps: Sequence[tuple[EnsembleStep, Servable]],
        why: str,
    ) -> None:
        self._steps = [(step, executor, Signature(executor)) for step, executor in steps]
        self._tallies = [StepTally(step, executor) for step, executor in steps]
        known = self._known(ensemble)
        self.inputs = tuple(replace(known[p.name], name=p.name) for p in ensemble.inputs)
        self.outputs = tuple(replace(known[p.name], name=p.name) for p in ensemble.outputs)
        self.config = config.completed(self.inputs, self.outputs)
        self.batches: Mapping[int, tuple[int, int]] = {}
        self._why = why

    @property
    def queued_ns(self) -> int:
        """What queries waited in all steps."""
        return sum(executor.queued_ns for _, executor, _ in self._steps)

    @property
    def warning(self) -> str:
        """Of any step."""
        return "; ".join(filter(None, (executor.warning for _, executor, _ in self._steps)))

    @property
    def failure(self) -> str:
        """Of any step: without it there is no answer."""
        return next(filter(None, (executor.failure for _, executor, _ in self._steps)), "")

    @property
    def facts(self) -> Mapping[str, str]:
        """That its steps run in turn, and why."""
        return {"ensemble": f"{len(self._steps)} steps in turn: {self._why}"}

    def take_step_work(self) -> list[StepWork]:
        """As of ``TellsOfSteps``."""
        return [work for tally in self._tallies for work in tally.take()]

    def foresee(self, deadline_ns: int | None, priority: int = 0) -> None:
        """As of the first step."""
        self._steps[0][1].foresee(deadline_ns, priority)

    async def infer(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None,
        deadline_ns: int | None,
        priority: int = 0,
    ) -> dict[str, Array]:
        """Run one query through all steps."""
        known = dict(inputs)
        for (step, executor, signature), tally in zip(self._steps, self._tallies, strict=True):
            try:
                given = signature.check_inputs(
                    [(name, known[t]) for name, t in step.inputs.items() if t in known]
                )
            except InputError as error:
                raise InputError(f"{step}: {error}") from error
            began_ns = time.monotonic_ns()
            answer = await executor.infer(given, tuple(step.outputs), deadline_ns, priority)
            tally.took.add(time.monotonic_ns() - began_ns)
            known |= {tensor: answer[name] for name, tensor in step.outputs.items()}
        wanted = [spec.name for spec in self.outputs] if outputs is None else outputs
        return {name: known[name] for name in wanted}

    def close(self) -> None:
        """Free the steps."""
        for _, executor, _ in self._steps:
            executor.close()

    def _known(self, ensemble: Ensemble) -> dict[str, TensorSpec]:
        known: dict[str, TensorSpec] = {}
        for step, _, signature in self._steps:
            for field, mapped, specs in (
                ("input_map", step.inputs, signature.inputs),
                ("output_map", step.outputs, signature.outputs),
            ):
                for name, tensor in mapped.items():
                    if name not in specs:
                        there = ", ".join(map(repr, specs))
                        kind = field.partition("_")[0]
                        raise ensemble.wrong(
                            f"{step.at}.{field}", f"{step} has no {kind} {name!r}; it has {there}"
                        )
                    if tensor in known and (why := _contradiction(known[tensor], specs[name])):
                        raise ensemble.wrong(
                            f"{step.at}.{field}", f"tensor {tensor!r} does not fit {step}: {why}"
                        )
                    known.setdefault(tensor, specs[name])
            needed = (s.name for s in signature.inputs.values() if not s.optional)
            if missing := [name for name in needed if name not in step.inputs]:
                raise ensemble.wrong(
                    f"{step.at}.input_map", f"nothing is given to input {missing[0]!r} of {step}"
                )
        return known


def _contradiction(one: TensorSpec, other: TensorSpec) -> str:
    """Why two descriptions cannot be of one tensor; empty if they can."""
    if one.dtype != other.dtype:
        return f"{one.dtype} is not {other.dtype}"
    if one.shape is None or other.shape is None:
        return ""
    if len(one.shape) == len(other.shape) and all(
        -1 in (ours, theirs) or ours == theirs
        for ours, theirs in zip(one.shape, other.shape, strict=True)
    ):
        return ""
    return f"{list(one.shape)} is not {list(other.shape)}"
