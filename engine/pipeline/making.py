"""From a graph to a model whose plan was measured here and now, and stored.

Long because all stages of a load that measures are here, in their order.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from surplus.engine.cache_folder import cache_folder
from surplus.engine.custom_operators import add_custom_operators
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import (
    EngineError,
    ExecutionError,
    PlanningTimeError,
    one_line,
)
from surplus.engine.examples.given import check_inputs
from surplus.engine.examples.made_up import example_inputs
from surplus.engine.examples.sizes import inputs_in_question
from surplus.engine.native import load_runtime
from surplus.engine.pipeline.batches import stack, with_stacks
from surplus.engine.pipeline.during import during
from surplus.engine.pipeline.in_service import judge_in_service
from surplus.engine.pipeline.load_job import LoadJob
from surplus.engine.pipeline.opening import is_wanted, open_stored
from surplus.engine.pipeline.proving import proven
from surplus.engine.planning.choice import choose, tune
from surplus.engine.planning.job import PlanJob
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.on_machine import close_lost
from surplus.engine.planning.placement_file import load_placement
from surplus.engine.planning.progress import ProgressCallback, no_progress
from surplus.engine.planning.slice_model import slice_model
from surplus.engine.planning.stages import costs_of, measure, place, read_model
from surplus.engine.planning.stored_plan import StoredPlan, read_plan, write_plan
from surplus.engine.planning.tuning_report import TuningReport
from surplus.engine.planning.unused_plans import remove_unused_files
from surplus.engine.planning.whole_plan import whole_plan
from surplus.engine.profiling.costs import problem_of
from surplus.engine.profiling.fastest_kernels import with_fastest_kernels
from surplus.engine.profiling.planning_time import UNLIMITED, PlanningTime
from surplus.engine.profiling.profile import Profile
from surplus.engine.runtime.free_memory import release_free_memory
from surplus.engine.runtime.layout import refuse_layout
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.store.cache_limit import keep_within_limit

_log = logging.getLogger(__name__)

_MEASURING = threading.Lock()
"""Models load side by side, but one is measured at a time: measurements disturb each other."""

_MOST_WAIT_S = 10.0
"""Whoever has waited that long measures beside the others: one of them may hang."""


@contextmanager
def _measuring() -> Iterator[None]:
    alone = _MEASURING.acquire(timeout=_MOST_WAIT_S)
    if not alone:
        _log.warning("another model has been measured for %g s: beside it now", _MOST_WAIT_S)
    try:
        yield
    finally:
        if alone:
            _MEASURING.release()


@dataclass(frozen=True)
class TunedModel:
    """A model, how its plan was found, and the file that keeps it (None if not stored)."""

    model: PlannedModel
    report: TuningReport
    path: Path | None


def make(load: LoadJob, known: Graph | None = None) -> PlannedModel:
    """Read, profile, place, segment, choose and store.

    Parameters
    ----------
    known : Graph, optional
        The model's, where it was read before and no stored plan of it can be used.

    Raises
    ------
    EngineError
        Naming what is wrong.
    """
    graph = known or read_model(load.path, load.params.cache, crash_probe=load.params.crash_probe)
    sizes = inputs_in_question(graph, load.path, load.inputs)
    if sizes is None:
        sizes = example_inputs(graph, load.path)
    if known is None and load.params.uses_stored:  # the same content under another name
        model = open_stored(load.planning(graph, sizes))
        if model is not None:
            return model
    job = load.planning(graph, _given(graph, load.path, load.inputs))
    with _measuring():
        proven_now = _proven_now(job) if load.params.uses_stored else None
        return proven_now or _made(job)[0]


def _proven_now(job: PlanJob) -> PlannedModel | None:
    """The model of a stored plan whose answers nobody compared here yet, if they are right."""
    stored = read_plan(job.stored_at, job.graph, job.question)
    if stored is None or stored.is_proven_here or not is_wanted(stored, job.params):
        return None
    try:
        found = proven(job, stored)
    except EngineError as error:
        if job.has_lost:
            raise
        _log.warning("the stored plan %s is not used: %s", job.stored_at, error)
        return None
    if found is None:
        return None
    model, stored = found
    write_plan(job.stored_at, job.question, stored)
    judge_in_service(model, job, stored)
    return model


def tune_with(
    path: str | Path,
    params: LoadParams,
    inputs: Mapping[str, Any] | None = None,
    progress: ProgressCallback = no_progress,
) -> TunedModel:
    """Tune a model for ``params.tune_s`` seconds, whatever is stored, and store the result.

    Whatever ``params.on_device_loss`` says, a loss ends it: there would be nothing to compare.

    Raises
    ------
    ValueError
        If no time is given.
    DeviceLostError
        If a device was lost; it says which and when. Nothing is stored.
    EngineError
        Naming what is wrong.
    """
    if params.tune_s <= 0:
        raise ValueError(f"tune_s must be > 0, got {params.tune_s}")
    add_custom_operators(params.custom_operators)
    load_runtime()
    close_lost(params)
    graph = read_model(path, params.cache, crash_probe=params.crash_probe)
    job = PlanJob(graph, params, _given(graph, path, inputs), progress)
    with _measuring():
        model, report, stored = _made(job)
    if report is None:
        raise ExecutionError(f"{graph.name}: no plan can be measured; the log says why")
    model.limit_queries(params.query_limit_ns())
    model.be_urgent(params.urgency())
    model.be_called(model.graph.name)
    return TunedModel(model, report, job.stored_at if stored else None)


def load_placed(
    path: str | Path,
    placement_path: Path,
    profile_path: Path | None,
    params: LoadParams,
    inputs: Mapping[str, Any] | None = None,
    progress: ProgressCallback = no_progress,
) -> PlannedModel:
    """Load with a placement from a file instead of a policy's.

    A loss of a device meanwhile ends it, as the placement is for these devices; one at a query is
    treated as ``params.on_device_loss`` says.

    Parameters
    ----------
    profile_path : Path or None
        The costs; where ``params`` names no devices, its devices are meant. None measures.

    Raises
    ------
    PlacementError, ProfileError
        If a file is malformed or of another model.
    DeviceLostError
        If a device was lost; it says which and when.
    """
    add_custom_operators(params.custom_operators)
    load_runtime()
    profile = None if profile_path is None else Profile.load(profile_path)
    graph = read_model(path, params.cache, crash_probe=params.crash_probe)
    given = _given(graph, path, inputs)
    if profile is not None and not params.devices:
        params = replace(params, devices=",".join(spec.text for spec in profile.device_specs()))
    close_lost(params)
    job = PlanJob(graph, params, given, progress)
    if profile is None:
        profile = _measured(job)
    profile, _ = with_fastest_kernels(graph, profile, params.asked_kernels().versions)
    machine = (graph, profile, params.specs(), params.gpu_memory_bytes())
    placement = load_placement(placement_path, graph, problem_of(*machine, widths=True))
    costs = costs_of(*machine)
    with during(params, "plans were compared"):
        model = choose(job, costs, placement, is_given=True)
    model.limit_queries(params.query_limit_ns())
    model.be_urgent(params.urgency())
    model.be_called(model.graph.name)
    return model


def _given(graph: Graph, path: str | Path, inputs: Mapping[str, Any] | None) -> dict[str, Any]:
    """What to measure with: all inputs, whatever their sizes."""
    return check_inputs(graph, inputs) if inputs is not None else example_inputs(graph, path)


def _measured(job: PlanJob, limit: PlanningTime = UNLIMITED) -> Profile:
    specs, cache, reopens = job.params.specs(), job.params.cache, job.params.reopens
    inputs, progress = job.inputs, job.progress
    return measure(job.graph, specs, inputs, cache, progress, reopens=reopens, limit=limit)


def _made(job: PlanJob) -> tuple[PlannedModel, TuningReport | None, bool]:
    """A new model, how it was tuned if it was, and whether its plan was stored."""
    graph, params = job.graph, job.params
    try:
        model, report = _planned(job)
    except (PlanningTimeError, ExecutionError) as error:
        if job.has_lost:
            raise
        _log.warning("%s: %s; the whole model runs in one session", graph.name, one_line(error))
        model, report = PlannedModel(graph, whole_plan(graph, params.specs()), job.machine), None
        model.guard(job.machine, job.recovery)
    if not params.reuse or _shows_nothing_new(model, params):
        with during(params, "sessions were opened"):
            model.open_throughput_plan()
            stack(job, model)
        return model, report, False
    tuning = None if report is None else report.to_dict()
    stored = StoredPlan(
        model.plan, tuning, model.throughput_plan, model.judgement, narrow_plan=model.narrow_plan
    )
    # Nothing that was measured is lost from here on.
    write_plan(job.stored_at, job.question, stored)
    del model  # before the next one opens its sessions
    prepacked, stored = _prepacked(job, stored)
    stored = with_stacks(job, prepacked, stored)
    written = write_plan(job.stored_at, job.question, stored)
    if written:
        remove_unused_files(graph)
        keep_within_limit(params.cache or cache_folder())
        judge_in_service(prepacked, job, stored)
    release_free_memory()
    return prepacked, report, written


def _shows_nothing_new(model: PlannedModel, params: LoadParams) -> bool:
    """Whether plans were compared again on a machine that is still disturbed."""
    judgement = model.judgement
    return params.tune == "again" and judgement is not None and judgement.provisional


def _planned(job: PlanJob) -> tuple[PlannedModel, TuningReport | None]:
    """A model with the plan that was chosen, and how it was tuned if it was.

    Raises
    ------
    PlanningTimeError
        If the time was over before there was a profile.
    """
    graph, params = job.graph, job.params
    limit = PlanningTime.of(params.planning_s)
    profile = _measured(job, limit)
    costs = costs_of(graph, profile, params.specs(), params.gpu_memory_bytes(), limit)
    placement = place(costs.problem, params.placement_policy, params.policy_options)
    report = None
    if params.tune_s:
        known = read_plan(job.stored_at, graph, job.question) if params.reuse else None
        with during(params, "the model was tuned"):
            model, report = tune(job, costs, placement, None if known is None else known.plan)
    else:
        with during(params, "plans were compared"):
            model = choose(job, costs, placement)
    if params.slice_s:
        with during(params, "the plan was cut"):
            model = slice_model(job, model, costs, placement.policy)
    return model, report


def _prepacked(job: PlanJob, stored: StoredPlan) -> tuple[PlannedModel, StoredPlan]:
    """The model of a plan, not prepacked where that spoils its answers, and what to store."""
    graph = job.graph
    found = proven(job, stored)
    if found is None:
        refuse_layout(graph, stored.plan)
        found = proven(job, stored)
    if found is None:
        _log.warning("%s: the whole model runs in one session", graph.name)
        whole = StoredPlan(whole_plan(graph, job.params.specs()))
        refuse_layout(graph, whole.plan)
        found = proven(job, whole)
    if found is None:
        raise ExecutionError(f"model {graph.name!r} answers otherwise each time it is opened")
    return found
