"""The models of a server, which load while the server itself is imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack

from surplus.engine.cli.output import duration
from surplus.engine.cli.progress import progress_bar
from surplus.engine.devices.parsing import available_cores
from surplus.engine.pipeline.lazy import LazyModel
from surplus.engine.pipeline.loading import load_with, many_loads
from surplus.engine.pipeline.served_late import ServedLate
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.runtime.served_alone import ServedAlone
from surplus.engine.segmentation.plan import Plan
from surplus.engine.serving.model_executor import ModelExecutor
from surplus.engine.serving.repository import RepositoryEntry
from surplus.engine.serving.say import say
from surplus.engine.serving.servable import Servable


class Loads(AbstractContextManager[Sequence["Future[Servable]"]]):
    """Models that load side by side, one a core, from now on.

    Within its block all are awaited; at the end of it nothing is loaded any more.

    Parameters
    ----------
    params : mapping of str to LoadParams
        By the models' names; they differ in their urgency.
    lazy : bool
        Whether they are only checked, and loaded by their first query.
    """

    def __init__(
        self,
        entries: Sequence[RepositoryEntry],
        params: Mapping[str, LoadParams],
        *,
        lazy: bool = False,
    ) -> None:
        self._open = ExitStack()
        self._open.enter_context(many_loads(len(entries), next(iter(params.values()))))
        threads = self._open.enter_context(ThreadPoolExecutor(available_cores()))
        load: Callable[[RepositoryEntry, LoadParams], Servable] = _checked if lazy else _loaded
        self._futures = [threads.submit(load, entry, params[entry.name]) for entry in entries]

    def __enter__(self) -> Sequence[Future[Servable]]:
        return self._futures

    def __exit__(self, *_: object) -> None:
        self.give_up()
        self._open.close()

    def give_up(self) -> None:
        """Begin no other."""
        for future in self._futures:
            future.cancel()


def _checked(entry: RepositoryEntry, params: LoadParams) -> ModelExecutor:
    return ModelExecutor(ServedLate(LazyModel(entry.path, params), params.cache, entry.name))


def _loaded(entry: RepositoryEntry, params: LoadParams) -> ModelExecutor:
    say(f"loading {entry.name} from {entry.path}")
    with progress_bar() as progress:
        model = load_with(entry.path, params, progress=progress)
    say(f"{entry.name}: {plan_text(model.plan)}")
    if model.throughput_plan is not None:
        say(f"{entry.name}: while queries overlap, {model.throughput_plan.text}")
    return ModelExecutor(ServedAlone(model, entry.name))


def plan_text(plan: Plan) -> str:
    """What a plan is and how long it takes, if that was measured."""
    text = f"{len(plan.segments)} segments ({plan.name})"
    if plan.predicted.makespan_ns == 0:  # its name says so
        return text
    return (
        f"{text}, predicted makespan {duration(plan.predicted.makespan_ns)},"
        f" lower bound {duration(plan.bound_ns)}"
    )
