"""``engine.load``: from an ONNX file to a model that answers, reusing what is in the cache."""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.dfg.graph import Graph
from engine.errors import EngineError, ExecutionError, PlacementError
from engine.native import load_runtime, runtime_version
from engine.pipeline.placement_file import load_placement
from engine.pipeline.stages import (
    Costs,
    ProgressCallback,
    candidates,
    costs_of,
    example_inputs,
    measure,
    no_progress,
    place,
    plan_of,
    read_model,
)
from engine.profiling.devices import DeviceSpec, parse_devices
from engine.profiling.machine import machine_fingerprint
from engine.profiling.profile import Profile
from engine.runtime.machines import EmulationParams, machine_for
from engine.runtime.model import Model
from engine.runtime.selection import median_times_ns, refit
from engine.segmentation.plan import Plan
from engine.segmentation.segmenter import Candidate
from placement.placement import Placement

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LoadParams:
    """How to load a model.

    Parameters
    ----------
    devices : str
        For example ``cpu:2`` or ``cpu:1,emulated:gpu``; empty means every core.
    policy, options : str, mapping
        Placement policy and its options.
    cache : Path, optional
        Folder of graphs, measurements and plans; default in the user's cache folder.
    reuse : bool
        Whether a stored plan may be used, and the new one be stored.
    finalists : int
        How many of the best predicted segmentations to build and run before choosing.
    selection_ns : int
        Time for running them.
    """

    devices: str = ""
    policy: str = "comm_sd"
    options: Mapping[str, Any] = field(default_factory=dict)
    cache: Path | None = None
    reuse: bool = True
    finalists: int = 3
    selection_ns: int = 1_500_000_000
    emulation: EmulationParams | None = None

    def specs(self) -> tuple[DeviceSpec, ...]:
        """The devices, parsed."""
        return parse_devices(self.devices or f"cpu:{len(os.sched_getaffinity(0))}")


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
        Placement policy; its options follow by keyword, as do the fields of ``LoadParams``.
    inputs : mapping, optional
        Example inputs by name.

    Raises
    ------
    EngineError
        One of engine/errors.py, naming what is wrong.
    """
    own = {
        k: options.pop(k)
        for k in ("cache", "reuse", "finalists", "selection_ns", "emulation")
        if k in options
    }
    params = LoadParams(devices=devices, policy=policy, options=options, **own)
    return load_with(path, params, inputs, progress)


def load_with(
    path: str | Path,
    params: LoadParams,
    inputs: Mapping[str, Any] | None = None,
    progress: ProgressCallback = no_progress,
) -> Model:
    """``load`` with its settings in one object."""
    load_runtime()
    specs = params.specs()
    graph = read_model(path, params.cache)
    stored = _stored_plan(graph, params, specs) if params.reuse else None
    machine = machine_for(specs, params.emulation)
    if stored is not None:
        try:
            return Model(graph, stored, machine)
        except EngineError as error:
            _log.warning("the stored plan of %s is not used: %s", path, error)
    given = dict(inputs) if inputs is not None else example_inputs(graph, path)
    profile = measure(graph, specs, given, params.cache, progress)
    costs = costs_of(graph, profile, specs)
    placement = place(costs.problem, params.policy, params.options)
    model = choose(graph, costs, placement, params, given, progress)
    if params.reuse:
        _store_plan(graph, params, specs, model.plan)
    return model


def load_placed(
    path: str | Path,
    placement_path: Path,
    profile_path: Path,
    params: LoadParams,
    inputs: Mapping[str, Any] | None = None,
    progress: ProgressCallback = no_progress,
) -> Model:
    """Load with a placement and a profile from files instead of a policy's.

    Raises
    ------
    PlacementError, ProfileError
        If a file is malformed or of another model.
    """
    load_runtime()
    graph = read_model(path, params.cache)
    costs = costs_of(graph, Profile.load(profile_path), params.specs())
    placement = load_placement(placement_path, graph, costs.problem)
    given = dict(inputs) if inputs is not None else example_inputs(graph, path)
    return choose(graph, costs, placement, params, given, progress)


def choose(
    graph: Graph,
    costs: Costs,
    placement: Placement,
    params: LoadParams,
    inputs: Mapping[str, Any],
    progress: ProgressCallback = no_progress,
) -> Model:
    """Build the best predicted segmentations, run them, keep the fastest with its real times.

    The whole model as one segment is always among them where one device can run it, so the
    result is never slower than the session that it is.
    """
    ranked = candidates(costs, placement)
    finalists = _finalists(ranked, params.finalists)
    machine = machine_for(params.specs(), params.emulation)
    models: list[Model] = []
    for done, candidate in enumerate(finalists):
        progress("build segments", done, len(finalists))
        models.append(Model(graph, plan_of(graph, costs, candidate, placement.policy), machine))
    progress("build segments", len(finalists), len(finalists))
    if len(models) == 1:
        best = 0
    else:
        times = median_times_ns(models, inputs, params.selection_ns)
        best = times.index(min(times))
        for candidate, time_ns in zip(finalists, times, strict=True):
            _log.info(
                "%s: measured %.3f ms, predicted %.3f ms, %d segments",
                candidate.name,
                time_ns / 1e6,
                candidate.predicted.makespan_ns / 1e6,
                len(candidate.graph.groups),
            )
    chosen = models[best]
    try:
        chosen.plan = refit(chosen, finalists[best].graph, costs.service, inputs)
    except ExecutionError as error:
        _log.warning("times were not measured in place: %s", error)
    return chosen


def _finalists(ranked: Sequence[Candidate], count: int) -> list[Candidate]:
    """The best predicted, and every one-segment plan whatever its prediction."""
    best = [c for c in ranked if not c.is_trivial][: max(0, count - 1)]
    return best + [c for c in ranked if c.is_trivial] or list(ranked[:1])


def _plan_path(graph: Graph, params: LoadParams, specs: Sequence[DeviceSpec]) -> Path:
    options = sorted(params.options.items())
    key = (specs, params.policy, options, runtime_version(), machine_fingerprint())
    return graph.folder / f"plan-{hashlib.sha256(repr(key).encode()).hexdigest()[:24]}.json"


def _stored_plan(graph: Graph, params: LoadParams, specs: Sequence[DeviceSpec]) -> Plan | None:
    path = _plan_path(graph, params, specs)
    try:
        plan = Plan.from_json(path.read_text())
    except FileNotFoundError:
        return None
    except (OSError, PlacementError) as error:
        _log.warning("stored plan %s is not used: %s", path, error)
        return None
    return plan if plan.source_hash == graph.source_hash else None


def _store_plan(graph: Graph, params: LoadParams, specs: Sequence[DeviceSpec], plan: Plan) -> None:
    """Keep the plan for the next start; a cache that cannot be written costs only that."""
    path = _plan_path(graph, params, specs)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "w") as file:
            file.write(plan.to_json())
        Path(temporary).replace(path)
    except OSError as error:
        _log.warning("the plan is not stored: %s", error)
