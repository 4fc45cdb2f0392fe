"""The models of a server, which load while the server itself is imported."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import replace

from surplus.engine.custom_operators import add_custom_operators
from surplus.engine.devices.parsing import available_cores
from surplus.engine.errors import ConfigError, EngineError, UnavailableError, one_line
from surplus.engine.pipeline.lazy import LazyModel
from surplus.engine.pipeline.loading import load_with, many_loads
from surplus.engine.pipeline.served_late import ServedLate
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.repository.layout import RepositoryEntry
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.queryable import Queryable
from surplus.engine.runtime.served_alone import ServedAlone
from surplus.engine.serving.configured_queueing import batch_limit_for, max_batch_for, queueing_for
from surplus.engine.serving.ensembles import ensemble_or_model
from surplus.engine.serving.instance_devices import devices_for
from surplus.engine.serving.late_chain import LateChain
from surplus.engine.serving.model_executor import ModelExecutor
from surplus.engine.serving.operator_libraries import operator_libraries
from surplus.engine.serving.sequences.sequenced import sequenced
from surplus.engine.serving.servable import Servable
from surplus.engine.serving.warm_up import ask_warm_ups, real_inputs, warmed

Load = Callable[[RepositoryEntry, LoadParams], PlannedModel]

_log = logging.getLogger(__name__)


def load_entry(entry: RepositoryEntry, params: LoadParams) -> PlannedModel:
    """Load without a word."""
    return load_with(entry.path, params, real_inputs(entry.config))


class Loads(AbstractContextManager[Sequence["Future[Servable]"]]):
    """Models that load side by side, one a core, from now on.

    Within its block all are awaited; at the end of it nothing is loaded any more. Whatever goes
    wrong with one is an ``EngineError`` of it alone.

    Parameters
    ----------
    params : mapping of str to LoadParams
        By the models' names; they differ in their urgency.
    lazy : bool
        Whether they are only checked, and loaded by their first query.
    load : callable
        Loads one, and may show how far it is.
    rest : callable, optional
        Instead of all that: makes what loads a version when a query asks for it.
    """

    def __init__(
        self,
        entries: Sequence[RepositoryEntry],
        params: Mapping[str, LoadParams],
        *,
        lazy: bool = False,
        load: Load = load_entry,
        rest: Callable[[RepositoryEntry], Servable] | None = None,
    ) -> None:
        self._rest = rest
        self._open = ExitStack()
        _add_operators(entries)
        if entries:
            first = params[entries[0].name]
            self._open.enter_context(many_loads(len(entries), first))
        threads = self._open.enter_context(ThreadPoolExecutor(available_cores()))
        self._load = load
        make = checked if lazy else self._loaded
        self._futures = [
            threads.submit(_made, make, entry, params[entry.name]) for entry in entries
        ]

    def __enter__(self) -> Sequence[Future[Servable]]:
        return self._futures

    def __exit__(self, *_: object) -> None:
        self.give_up()
        self._open.close()

    def give_up(self) -> None:
        """Begin no other."""
        for future in self._futures:
            future.cancel()

    def _loaded(self, entry: RepositoryEntry, params: LoadParams) -> Servable:
        if self._rest is not None:
            return self._rest(entry)
        return loaded(entry, params, self._load)


def _made(
    make: Callable[[RepositoryEntry, LoadParams], Servable],
    entry: RepositoryEntry,
    params: LoadParams,
) -> Servable:
    try:
        return make(entry, params)
    except EngineError:
        raise
    except Exception as error:
        _log.exception("%s: internal error", entry.name)
        why = f"internal error: {type(error).__name__}: {one_line(error)}"
        raise UnavailableError(why) from error


def loaded(entry: RepositoryEntry, params: LoadParams, load: Load = load_entry) -> Servable:
    """A version of a model, ready.

    Raises
    ------
    EngineError
        If it cannot be loaded, its configuration is wrong, or the two contradict each other.
    """

    def made(entry: RepositoryEntry, params: LoadParams) -> Servable:
        model = load(entry, _configured(entry, params))
        return executor_of(ServedAlone(model, entry.name), entry)

    return warmed(ensemble_or_model(entry, _with_operators(entry, params), made))


def checked(entry: RepositoryEntry, params: LoadParams) -> Servable:
    """The same, to be loaded by its first query."""

    def made(entry: RepositoryEntry, params: LoadParams) -> Servable:
        params = _configured(entry, params)

        def warm(opened: Queryable) -> None:
            ask_warm_ups(executor_of(opened, entry))

        late = ServedLate(LazyModel(entry.path, params), params.cache, entry.name, warm)
        return executor_of(late, entry)

    params = _with_operators(entry, params)
    add_custom_operators(params.custom_operators)
    return ensemble_or_model(entry, params, made, LateChain)


def executor_of(model: Queryable, entry: RepositoryEntry) -> ModelExecutor:
    """What answers for a model as its configuration says.

    Raises
    ------
    ConfigError
        If that contradicts the model.
    """
    return ModelExecutor(sequenced(model, entry.config), entry.config)


def _add_operators(entries: Sequence[RepositoryEntry]) -> None:
    """Of all models, before any is loaded: what is kept of them is kept by what there is."""
    for entry in entries:
        with suppress(EngineError):  # its load says so
            operator_libraries(entry)


def _with_operators(entry: RepositoryEntry, params: LoadParams) -> LoadParams:
    """With what its configuration says of libraries of operators."""
    return replace(params, custom_operators=(*params.custom_operators, *operator_libraries(entry)))


def _configured(entry: RepositoryEntry, params: LoadParams) -> LoadParams:
    """How to load, with what the model's configuration says of that."""
    if entry.error:
        raise ConfigError(entry.error)
    return replace(
        params,
        devices=devices_for(entry.config, params.devices),
        max_batch=max_batch_for(entry.config, params.max_batch),
        batch_limit=batch_limit_for(entry.config),
        queueing=queueing_for(entry.config),
    )
