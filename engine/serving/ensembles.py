"""How an ensemble of a repository becomes ready: as one model, or as steps that run in turn."""

from __future__ import annotations

from collections.abc import Callable

from surplus.engine.ensembles.in_repository import as_one_file, find_ensemble
from surplus.engine.ensembles.merging import NotMerged
from surplus.engine.errors import ModelError, one_line
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.repository.layout import RepositoryEntry
from surplus.engine.serving.chained_executor import ChainedExecutor
from surplus.engine.serving.servable import Servable

MakeServable = Callable[[RepositoryEntry, LoadParams], Servable]


def ensemble_or_model(
    entry: RepositoryEntry,
    params: LoadParams,
    make: MakeServable,
    chain: type[ChainedExecutor] = ChainedExecutor,
) -> Servable:
    """What answers an entry's queries, made of one file where that can be.

    Parameters
    ----------
    make : callable
        Loads, or checks, an entry with an ONNX file.
    chain : type
        What runs steps in turn.

    Raises
    ------
    EngineError
        As of ``make``, or if the steps do not fit together.
    """
    try:
        whole = as_one_file(entry, params.cache)
    except NotMerged as reason:
        return _in_turn(entry, params, make, chain, str(reason))
    try:
        return make(whole, params)
    except ModelError as error:
        if whole is entry:
            raise
        return _in_turn(entry, params, make, chain, one_line(error, 300))


def _in_turn(
    entry: RepositoryEntry,
    params: LoadParams,
    make: MakeServable,
    chain: type[ChainedExecutor],
    why: str,
) -> ChainedExecutor:
    """Each step by itself; what is wrong with one is said of that one."""
    assert entry.config is not None, "of an ensemble"
    found = find_ensemble(entry)
    made: list[Servable] = []
    try:
        for _, model in found.steps:
            made.append(ensemble_or_model(model, params, make, chain))
        steps = [(step, one) for (step, _), one in zip(found.steps, made, strict=True)]
        return chain(entry.config, found.ensemble, steps, why)
    except BaseException:
        for one in made:
            one.close()
        raise
