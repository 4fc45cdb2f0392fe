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
InTurn = Callable[[ChainedExecutor], Servable]


def as_it_is(chained: ChainedExecutor) -> Servable:
    """The same."""
    return chained


def ensemble_or_model(
    entry: RepositoryEntry, params: LoadParams, make: MakeServable, in_turn: InTurn = as_it_is
) -> Servable:
    """What answers an entry's queries, made of one file where that can be.

    Parameters
    ----------
    make : callable
        Loads, or checks, an entry with an ONNX file.
    in_turn : callable
        What stands before steps that run in turn.

    Raises
    ------
    EngineError
        As of ``make``, or if the steps do not fit together.
    """
    try:
        whole = as_one_file(entry, params.cache)
    except NotMerged as reason:
        return _in_turn(entry, params, make, in_turn, str(reason))
    try:
        return make(whole, params)
    except ModelError as error:
        if whole is entry:
            raise
        return _in_turn(entry, params, make, in_turn, one_line(error, 300))


def _in_turn(
    entry: RepositoryEntry, params: LoadParams, make: MakeServable, in_turn: InTurn, why: str
) -> Servable:
    """Each step by itself; what is wrong with one is said of that one."""
    assert entry.config is not None, "of an ensemble"
    found = find_ensemble(entry)
    made: list[Servable] = []
    try:
        for _, model in found.steps:
            made.append(ensemble_or_model(model, params, make, in_turn))
        steps = [(step, one) for (step, _), one in zip(found.steps, made, strict=True)]
        return in_turn(ChainedExecutor(entry.config, found.ensemble, steps, why))
    except BaseException:
        for one in made:
            one.close()
        raise
