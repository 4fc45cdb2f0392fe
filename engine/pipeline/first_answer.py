"""The first load of a model: it answers as one session, before anybody has read its graph."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surplus.engine.cache_folder import cache_folder
from surplus.engine.errors import one_line
from surplus.engine.judging.first_width import FirstWidth
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.on_machine import machine_of, recovery_of
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.unread import Unread, open_asleep

if TYPE_CHECKING:
    from surplus.engine.dfg.content import Content

_log = logging.getLogger(__name__)


def open_first(
    path: Path, params: LoadParams, inputs: Mapping[str, Any] | None
) -> PlannedModel | None:
    """A model that answers as one session on all of the CPU's lanes.

    Returns
    -------
    PlannedModel or None
        None where the graph must be read first: who reads it says why if it cannot be used.

    Raises
    ------
    InputError
        If given inputs do not fit the model.
    ModelError
        If ``params.crash_probe`` is set, and its first run, in a child, ends the process, or does
        not end in time.
    """

    def read() -> Content:
        from surplus.engine.planning.stages import read_model  # parses it, for who looks at tasks

        return read_model(path, params.cache or cache_folder()).content

    try:
        with _probed(path, params) as when_read:
            unread = Unread(path, params.specs(), read, when_read, params.first_width)
    except (RuntimeError, ValueError, MemoryError) as error:
        _log.info("%s is read before it answers: %s", path, one_line(error))
        return None
    if inputs is not None:
        from surplus.engine.examples.given import check_inputs

        check_inputs(unread.graph, inputs)
    machine, recovery = machine_of(params), recovery_of(params)
    model = PlannedModel(unread.graph, unread.plan, machine, params.departure(), recovery)
    (segment,) = unread.plan.segments
    if unread.pool.are_workers_asleep:  # else many models share a pool, or it has one lane
        reopen = partial(open_asleep, path, segment.width)
        model.try_beside(lambda plan, switch: FirstWidth(model, plan, switch, unread.pool, reopen))
    return model


def _probed(path: Path, params: LoadParams) -> AbstractContextManager[Callable[[], None] | None]:
    """What is called between reading the file and opening it, if the file is run in a child."""
    if not params.crash_probe:
        return nullcontext()
    from surplus.engine.trial.first_run import harmless_at_first  # starts processes

    return harmless_at_first(path)
