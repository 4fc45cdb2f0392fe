"""What a step has computed that is asked by itself: counted as it is asked."""

from __future__ import annotations

from collections.abc import Iterator

from surplus.engine.ensembles.ensemble import EnsembleStep
from surplus.engine.serving.servable import Servable
from surplus.engine.serving.statistics import Duration
from surplus.engine.serving.step_work import StepWork, TellsOfSteps


class StepTally:
    """Of one step of an ensemble.

    Parameters
    ----------
    executor : Servable
        Which answers for the step alone.

    Attributes
    ----------
    took : Duration
        Its queries that were answered since the last ``take``.
    """

    def __init__(self, step: EnsembleStep, executor: Servable) -> None:
        self.took = Duration()
        self._step = step.model, str(step.version) if step.version > 0 else ""
        self._executor = executor
        self._queued_ns = executor.queued_ns
        self._joined = executor.joined

    def take(self) -> Iterator[StepWork]:
        """Since the last time; of what the step is made of, too, where that tells."""
        below = self._executor if isinstance(self._executor, TellsOfSteps) else None
        took, queued_ns, joined = self.took, self._executor.queued_ns, self._executor.joined
        if took.count:
            yield StepWork(
                self._step,
                took.count,
                max(0, took.count - (joined - self._joined)),
                took.count,
                took.total_ns,
                min(took.total_ns, max(0, queued_ns - self._queued_ns)),  # it is estimated
                tells_below=below is not None,
            )
            self.took, self._queued_ns, self._joined = Duration(), queued_ns, joined
        if below is not None:
            yield from below.take_step_work()
