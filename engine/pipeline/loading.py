"""From an ONNX file to a model that answers, reusing what is in the cache."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surplus.engine import _core
from surplus.engine.cache_folder import cache_folder
from surplus.engine.dfg.stored_files import HASHES_FOLDER
from surplus.engine.errors import DeviceLostError, EngineError, one_line
from surplus.engine.native import load_runtime
from surplus.engine.pipeline.load_job import LoadJob
from surplus.engine.planning.load_options import check_known
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.on_machine import after_losses, close_lost, has_lost
from surplus.engine.planning.progress import ProgressCallback, no_progress
from surplus.engine.runtime.free_memory import released_at_the_end
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.utf8_path import utf8_path

if TYPE_CHECKING:
    from surplus.engine.dfg.graph import Graph

_log = logging.getLogger(__name__)

_FIELDS = frozenset(field.name for field in fields(LoadParams))


def params_of(devices: str, options: Mapping[str, Any]) -> LoadParams:
    """The settings of ``load``, by the names that options have now.

    Raises
    ------
    ConfigError
        If one is out of range, or none of ``load``'s.
    """
    if others := options.keys() - _FIELDS:
        check_known(sorted(others), options.get("placement_policy", ""))
    return LoadParams(devices=devices, **options)


@contextmanager
def many_loads(count: int, params: LoadParams) -> Iterator[None]:
    """Load so many models: where that is many, their sessions share threads from the start.

    Memory that loads free is given back at the end.
    """
    _core.expect_wide_sessions(count, params.specs()[0].lanes)
    try:
        with released_at_the_end():
            yield
    finally:
        _core.expect_wide_sessions(0, 1)


def load_with(
    path: str | Path,
    params: LoadParams,
    inputs: Mapping[str, Any] | None = None,
    progress: ProgressCallback = no_progress,
) -> PlannedModel:
    """``surplus.load`` with its settings in one object.

    A loss of a device while it loads is treated as one at a query is: ``params.on_device_loss``.

    Raises
    ------
    DeviceLostError
        If a device was lost and there is no other way to go; it says which and when.
    EngineError
        Naming what is wrong.
    """
    file = utf8_path(path)
    if params.custom_operators:
        from surplus.engine.custom_operators import add_custom_operators

        add_custom_operators(params.custom_operators)
    ways = after_losses(params)
    while True:
        try:
            with params.load_limit(path):
                model = _loaded(LoadJob(file, params, inputs, progress))
                model.limit_queries(params.query_limit_ns())
                model.be_urgent(params.urgency())
                if params.crash_probe:
                    model.probe_empty_inputs()
                if params.queueing is not None:
                    model.be_queued(params.queueing)
                model.be_called(model.graph.name)
                if params.has_real_gpu:
                    from surplus.engine.pipeline.first_queries import ask_once  # no CPU needs it

                    ask_once(model, path, params, inputs)
            return model
        except EngineError as error:
            is_loss = isinstance(error, DeviceLostError) or has_lost(params)
            following = next(ways, None) if is_loss else None
            if following is None:
                raise
            params = following
            _log.warning("%s: %s; it is loaded on %s", path, one_line(error), params.devices)


def _loaded(job: LoadJob) -> PlannedModel:
    """By the stored plan, as one session for now, or when a plan is made; the first that can be."""
    params = job.params
    load_runtime()
    close_lost(params)
    model = _opened_again(job)
    if model is not None:
        return model
    graph = _known(job.path, params)
    sizes = None
    if graph is not None:
        from surplus.engine.examples.sizes import inputs_in_question  # new files have no plans
        from surplus.engine.pipeline.opening import open_stored

        sizes = inputs_in_question(graph, job.path, job.inputs)
        if sizes is not None and params.uses_stored:
            model = open_stored(job.planning(graph, sizes), job)
            if model is not None:
                _measure_again(model, job)
                return model
    if params.answers_first:
        from surplus.engine.pipeline.first_answer import open_first

        first = open_first(job.path, params, job.inputs)
        if first is not None:
            if params.tune == "off":
                params.asked_kernels()
            else:
                from surplus.engine.pipeline.learning import learn  # which asks for kernels, too

                learn(first, job.path, params, job.inputs)
            return first
    from surplus.engine.pipeline.making import make  # all of ONNX and of planning

    return make(job, known=None if sizes is None else graph)


def _opened_again(job: LoadJob) -> PlannedModel | None:
    """By a plan that this process has opened for the same load before, of unchanged files."""
    if "surplus.engine.pipeline.opening" not in sys.modules:  # it has opened none
        return None
    # Another thread may be importing it just now; an import waits for that.
    from surplus.engine.pipeline.opened_before import OPENED
    from surplus.engine.pipeline.opening import open_read

    known = OPENED.find(job)
    model = None if known is None else open_read(known.job, known.stored, is_prepacked=True)
    if model is not None:
        _measure_again(model, job)
    return model


def _measure_again(model: PlannedModel, job: LoadJob) -> None:
    """Have all plans compared anew beside a provisional one, in idle time.

    In service only those are tried that keep its bits.
    """
    judgement = model.judgement
    tunes = job.params.answers_first and job.params.tune != "off"
    if judgement is not None and judgement.provisional and tunes:
        from surplus.engine.pipeline.learning import learn  # starts a process

        learn(model, job.path, job.params, job.inputs, tune="again")


def _known(path: Path, params: LoadParams) -> Graph | None:
    """The graph, if it was read before.

    Not where that takes a while to know, and something may answer first: a hash of 100 MB takes as
    long as opening them, from the same cores. What is stored of such a file, which lay elsewhere or
    looks changed, is found beside its first queries (learning.py).
    """
    cache = params.cache or cache_folder()
    if not (cache / HASHES_FOLDER).is_dir():  # nothing was: no need to hash the file
        return None
    from surplus.engine.dfg.file_hashes import hashes_in
    from surplus.engine.dfg.known_graph import known_graph

    is_late = params.answers_first and not hashes_in(cache).is_quick(path)
    return None if is_late else known_graph(path, cache)
