"""What models compute as steps of ensembles: told by the ensembles' own counts, when asked.

One plan of all steps counts its queries once, and nothing more while they run. Whoever wants to
know what a step has computed shares out what its ensembles have counted since the last look.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from surplus.engine.errors import UnknownModelError
from surplus.engine.repository.model_config import ModelConfig
from surplus.engine.serving.statistics import Duration
from surplus.engine.serving.step_work import StepName, StepWork, TellsOfSteps

if TYPE_CHECKING:
    from surplus.engine.serving.model_table import ModelTable
    from surplus.engine.serving.served_model import ServedModel


@dataclass
class StepCount:
    """Of one version of a model.

    Parameters
    ----------
    inferences : int
        Queries of ensembles that it was a step of; one with that step twice counts twice.
    calls : int
        Of its graph, for these: those that were stacked count once.
    took, queue : Duration
        Of those that were steps by themselves, from when they were asked to their answers, and what
        of that they waited for a lane.
    told_inferences, told_calls : int
        Of an ensemble: what of its own was shared out to its steps already.
    """

    inferences: int = 0
    calls: int = 0
    took: Duration = field(default_factory=Duration)
    queue: Duration = field(default_factory=Duration)
    told_inferences: int = 0
    told_calls: int = 0

    @property
    def compute_infer(self) -> Duration:
        """What they did not wait."""
        return Duration(self.took.count, max(0, self.took.total_ns - self.queue.total_ns))

    def add(self, work: StepWork) -> None:
        """Count what it has computed."""
        self.inferences += work.inferences
        self.calls += work.calls
        self.took += Duration(work.timed, work.took_ns)
        self.queue += Duration(work.timed, work.queued_ns)


def step_names(config: ModelConfig) -> tuple[StepName, ...]:
    """The models of an ensemble's steps, one as often as it is a step; none of another model."""
    return tuple(
        (step.model_name, str(step.model_version) if step.model_version > 0 else "")
        for step in config.message.ensemble_scheduling.step
    )


def share_out(models: ModelTable) -> None:
    """Count for each step what its ensembles have computed since the last time.

    To be called before counts are read, and before an ensemble or a step becomes another one: what
    was computed until then is the former one's. A look at each model, no more without ensembles.
    """
    for model in models:
        if model.steps:
            for work in _new_work(model):
                _count(models, work, (model,))


def _new_work(ensemble: ServedModel) -> Iterator[StepWork]:
    """What each step has computed since the last time: as it tells, or as the whole has."""
    own = ensemble.as_step
    computed = max(ensemble.statistics.computed, own.told_inferences)
    calls = max(ensemble.calls, own.told_calls)
    inferences_more, calls_more = computed - own.told_inferences, calls - own.told_calls
    own.told_inferences, own.told_calls = computed, calls
    executor: object = ensemble.loaded
    if isinstance(executor, TellsOfSteps):
        yield from executor.take_step_work()
    elif inferences_more:
        yield from (StepWork(step, inferences_more, calls_more) for step in ensemble.steps)


def _count(models: ModelTable, work: StepWork, within: tuple[ServedModel, ...]) -> None:
    """For the step's model, and for those that this is made of."""
    try:
        model = models.find(*work.step)
    except UnknownModelError:  # it was never served by itself: nobody asks for its counts
        return
    if model in within:
        return
    model.as_step.add(work)
    if not work.tells_below:
        for step in model.steps:
            below = replace(work, step=step, timed=0, took_ns=0, queued_ns=0)
            _count(models, below, (*within, model))
