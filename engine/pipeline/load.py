"""``engine.load``: from an ONNX file to a model that answers, reusing what is in the cache."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from engine.dfg.graph import Graph
from engine.errors import DeviceLostError, EngineError, one_line
from engine.native import load_runtime
from engine.pipeline.choice import choose, tune
from engine.pipeline.during import during
from engine.pipeline.example_inputs import check_inputs, example_inputs
from engine.pipeline.load_params import LoadParams
from engine.pipeline.placement_file import load_placement
from engine.pipeline.plan_question import PlanQuestion, has_open_sizes, question_of
from engine.pipeline.slice_model import slice_model
from engine.pipeline.stages import (
    ProgressCallback,
    costs_of,
    measure,
    no_progress,
    place,
    read_model,
)
from engine.pipeline.stored_plan import (
    StoredPlan,
    plan_path,
    read_plan,
    remove_unused_files,
    write_plan,
)
from engine.pipeline.tuning_report import TuningReport
from engine.profiling.profile import Profile
from engine.runtime.free_memory import release_free_memory
from engine.runtime.lowering import lay_out_plan
from engine.runtime.model import Model

__all__ = ["LoadParams", "TunedModel", "load", "load_placed", "load_with", "tune_with"]

_log = logging.getLogger(__name__)

_MEASURING = threading.Lock()
"""Models load side by side, but one is measured at a time: measurements disturb each other."""

_OWN = tuple(f.name for f in fields(LoadParams) if f.name not in ("devices", "policy", "options"))


@dataclass(frozen=True)
class TunedModel:
    """A model, how its plan was found, and the file that keeps it (None if not stored)."""

    model: Model
    report: TuningReport
    path: Path | None


def load(
    path: str | Path,
    devices: str = "",
    policy: str = "comm_sd",
    *,
    inputs: Mapping[str, Any] | None = None,
    progress: ProgressCallback = no_progress,
    **options: Any,
) -> Model:
    """Read, profile, place, segment and prepare a model; the second time from the cache.

    Parameters
    ----------
    path : str or Path
        An ONNX file. ``NAME.npz`` beside it holds example inputs to measure with, if it exists.
    devices : str
        For example ``cpu:2`` or ``cpu:1,emulated:gpu[h200]``; every core by default.
    policy : str
        Placement policy; its options follow by keyword, as do the fields of ``LoadParams``:
        ``tune_s=20`` looks for a better plan for 20 seconds, once.
    inputs : mapping, optional
        Example inputs by name.

    Raises
    ------
    EngineError
        One of engine/errors.py, naming what is wrong.
    """
    own = {name: options.pop(name) for name in _OWN if name in options}
    params = LoadParams(devices=devices, policy=policy, options=options, **own)
    return load_with(path, params, inputs, progress)


def load_with(
    path: str | Path,
    params: LoadParams,
    inputs: Mapping[str, Any] | None = None,
    progress: ProgressCallback = no_progress,
) -> Model:
    """``load`` with its settings in one object.

    A loss of a device while it loads is treated as one at a query is: ``params.on_device_loss``.

    Raises
    ------
    DeviceLostError
        If a device was lost and there is no other way to go; it says which and when.
    EngineError
        One of engine/errors.py, naming what is wrong.
    """
    ways = params.after_losses()
    while True:
        try:
            return _loaded(path, params, inputs, progress)
        except EngineError as error:
            is_loss = isinstance(error, DeviceLostError) or params.has_lost()
            following = next(ways, None) if is_loss else None
            if following is None:
                raise
            params = following
            _log.warning("%s: %s; it is loaded on %s", path, one_line(error), params.devices)


def _loaded(
    path: str | Path,
    params: LoadParams,
    inputs: Mapping[str, Any] | None,
    progress: ProgressCallback,
) -> Model:
    load_runtime()
    params.close_lost()
    graph = read_model(path, params.cache)
    given = _given(graph, path, inputs)
    stored_at = _path(graph, params, given or {})
    model = _from_stored(stored_at, graph, params, given or {}) if params.reuse else None
    if model is not None:
        return model
    if given is None:
        given = example_inputs(graph, path)
    with _MEASURING:
        return _made(stored_at, graph, params, given, progress)[0]


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
        One of engine/errors.py, naming what is wrong.
    """
    if params.tune_s <= 0:
        raise ValueError(f"tune_s must be > 0, got {params.tune_s}")
    load_runtime()
    params.close_lost()
    graph = read_model(path, params.cache)
    given = _given(graph, path, inputs)
    if given is None:
        given = example_inputs(graph, path)
    stored_at = _path(graph, params, given)
    with _MEASURING:
        model, report, stored = _made(stored_at, graph, params, given, progress)
    assert report is not None, "a time was given"
    return TunedModel(model, report, stored_at if stored else None)


def load_placed(
    path: str | Path,
    placement_path: Path,
    profile_path: Path | None,
    params: LoadParams,
    inputs: Mapping[str, Any] | None = None,
    progress: ProgressCallback = no_progress,
) -> Model:
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
    load_runtime()
    profile = None if profile_path is None else Profile.load(profile_path)
    graph = read_model(path, params.cache)
    given = check_inputs(graph, inputs) if inputs is not None else example_inputs(graph, path)
    if profile is not None and not params.devices:
        params = replace(params, devices=",".join(spec.text for spec in profile.device_specs()))
    params.close_lost()
    if profile is None:
        profile = _measured(graph, params, given, progress)
    costs = costs_of(graph, profile, params.specs(), params.gpu_memory_bytes())
    placement = load_placement(placement_path, graph, costs.problem)
    with during(params, "plans were compared"):
        return choose(graph, costs, placement, params, given, progress, is_given=True)


def _given(
    graph: Graph, path: str | Path, inputs: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Example inputs, if they are given or the question depends on their sizes."""
    if inputs is not None:
        return check_inputs(graph, inputs)
    return example_inputs(graph, path) if has_open_sizes(graph) else None


def _measured(
    graph: Graph, params: LoadParams, inputs: Mapping[str, Any], progress: ProgressCallback
) -> Profile:
    return measure(graph, params.specs(), inputs, params.cache, progress, reopens=params.reopens)


def _path(graph: Graph, params: LoadParams, inputs: Mapping[str, Any]) -> Path:
    return plan_path(graph, params.specs(), params.policy, params.plan_options(), inputs)


def _question(graph: Graph, params: LoadParams, inputs: Mapping[str, Any]) -> PlanQuestion:
    return question_of(graph, params.specs(), params.policy, params.plan_options(), inputs)


def _made(
    path: Path,
    graph: Graph,
    params: LoadParams,
    inputs: Mapping[str, Any],
    progress: ProgressCallback,
) -> tuple[Model, TuningReport | None, bool]:
    """A new model, how it was tuned if it was, and whether its plan was stored."""
    profile = _measured(graph, params, inputs, progress)
    costs = costs_of(graph, profile, params.specs(), params.gpu_memory_bytes())
    placement = place(costs.problem, params.policy, params.options)
    report = None
    if params.tune_s:
        known = read_plan(path, graph, _question(graph, params, inputs)) if params.reuse else None
        plan = None if known is None else known.plan
        with during(params, "the model was tuned"):
            model, report = tune(graph, costs, placement, params, inputs, progress, plan)
    else:
        with during(params, "plans were compared"):
            model = choose(graph, costs, placement, params, inputs, progress)
    if params.slice_ms:
        with during(params, "the plan was cut"):
            model = slice_model(model, costs, placement.policy, params, inputs)
    if not params.reuse:
        with during(params, "sessions were opened"):
            model.open_companion()
        return model, report, False
    tuning = None if report is None else report.to_dict()
    stored = StoredPlan(model.plan, tuning, model.companion)
    written = write_plan(path, _question(graph, params, inputs), stored)
    del model  # before the next one opens its sessions
    laid_out = _laid_out(graph, stored, params)
    if written:
        remove_unused_files(graph)
    release_free_memory()
    return laid_out, report, written


def _from_stored(
    path: Path, graph: Graph, params: LoadParams, inputs: Mapping[str, Any]
) -> Model | None:
    """The stored plan's model; one that was chosen quickly does where no tuning is asked for."""
    stored = read_plan(path, graph, _question(graph, params, inputs))
    if stored is None or (params.tune_s and stored.tuning is None):
        return None
    try:
        return _laid_out(graph, stored, params)
    except EngineError as error:
        if params.has_lost():
            raise
        _log.warning("the stored plan %s is not used: %s", path, error)
        return None


def _laid_out(graph: Graph, stored: StoredPlan, params: LoadParams) -> Model:
    """The plan's model on weights that all processes map; making these files takes a while."""
    lay_out_plan(graph, stored.plan)
    with during(params, "sessions were opened"):
        return Model(
            graph.unread(),
            stored.plan,
            params.machine(),
            params.second_plan(),
            params.recovery(),
            stored.companion,
        )
