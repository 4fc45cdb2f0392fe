"""``engine.load``: from an ONNX file to a model that answers, reusing what is in the cache."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from engine.dfg.graph import Graph
from engine.errors import ConfigError, EngineError, ExecutionError
from engine.native import load_runtime
from engine.pipeline.example_inputs import check_inputs, example_inputs
from engine.pipeline.placement_file import load_placement
from engine.pipeline.stages import (
    Costs,
    ProgressCallback,
    candidates,
    check_policy,
    costs_of,
    measure,
    no_progress,
    place,
    plan_of,
    read_model,
)
from engine.pipeline.stored_plan import plan_path, read_plan, write_plan
from engine.profiling.devices import DeviceSpec, available_cores, parse_devices
from engine.profiling.profile import Profile
from engine.runtime.machines import EmulationParams, machine_for
from engine.runtime.model import Model
from engine.runtime.selection import interleaved_ns, refit, relative_times
from engine.segmentation.segmenter import Candidate
from placement.placement import Placement

_log = logging.getLogger(__name__)

_SEGMENTS_HANDICAP = 1.03
"""Several segments must beat one by 3 % to be chosen: less is within the noise of measuring."""


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
    emulation : EmulationParams, optional
        How an emulated device departs from its profile.

    Raises
    ------
    ConfigError
        If policy or options are wrong, or a number is out of range.
    """

    devices: str = ""
    policy: str = "comm_sd"
    options: Mapping[str, Any] = field(default_factory=dict)
    cache: Path | None = None
    reuse: bool = True
    finalists: int = 3
    selection_ns: int = 1_500_000_000
    emulation: EmulationParams | None = None

    def __post_init__(self) -> None:
        check_policy(self.policy, self.options)
        if self.finalists < 1:
            raise ConfigError(f"finalists must be >= 1, got {self.finalists}")
        if self.selection_ns < 0:
            raise ConfigError(f"selection_ns must be >= 0, got {self.selection_ns}")

    def specs(self) -> tuple[DeviceSpec, ...]:
        """The devices, parsed.

        Raises
        ------
        DeviceError
            Naming the device that is not understood.
        """
        return parse_devices(self.devices or f"cpu:{available_cores()}")


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
    stored = plan_path(graph, specs, params.policy, params.options)
    model = _from_stored(stored, graph, params) if params.reuse else None
    if model is not None:
        return model
    given = check_inputs(graph, inputs) if inputs is not None else example_inputs(graph, path)
    profile = measure(graph, specs, given, params.cache, progress)
    costs = costs_of(graph, profile, specs)
    placement = place(costs.problem, params.policy, params.options)
    model = choose(graph, costs, placement, params, given, progress)
    if params.reuse:
        write_plan(stored, model.plan)
    return model


def _from_stored(path: Path, graph: Graph, params: LoadParams) -> Model | None:
    plan = read_plan(path, graph)
    if plan is None:
        return None
    try:
        return Model(graph, plan, machine_for(params.specs(), params.emulation))
    except EngineError as error:
        _log.warning("the stored plan %s is not used: %s", path, error)
        return None


def load_placed(
    path: str | Path,
    placement_path: Path,
    profile_path: Path | None,
    params: LoadParams,
    inputs: Mapping[str, Any] | None = None,
    progress: ProgressCallback = no_progress,
) -> Model:
    """Load with a placement from a file instead of a policy's.

    Parameters
    ----------
    profile_path : Path or None
        The costs; where ``params`` names no devices, its devices are meant. None measures.

    Raises
    ------
    PlacementError, ProfileError
        If a file is malformed or of another model.
    """
    load_runtime()
    profile = None if profile_path is None else Profile.load(profile_path)
    graph = read_model(path, params.cache)
    given = check_inputs(graph, inputs) if inputs is not None else example_inputs(graph, path)
    if profile is not None and not params.devices:
        params = replace(params, devices=",".join(map(_text, profile.device_specs())))
    if profile is None:
        profile = measure(graph, params.specs(), given, params.cache, progress)
    costs = costs_of(graph, profile, params.specs())
    placement = load_placement(placement_path, graph, costs.problem)
    return choose(graph, costs, placement, params, given, progress)


def _text(spec: DeviceSpec) -> str:
    """A device as ``parse_devices`` reads it."""
    words = [spec.preset] * bool(spec.preset) + ["replay"] * spec.replay
    return f"{spec.name}{'[' + ','.join(words) + ']' if words else ''}:{spec.lanes}"


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
    finalists = _finalists(candidates(costs, placement), params.finalists)
    built = _build(graph, costs, finalists, placement.policy, params, progress)
    candidate, model = _fastest(built, inputs, params.selection_ns)
    try:
        model.plan = refit(model, candidate.graph, costs.service, inputs)
    except ExecutionError as error:
        _log.warning("times were not measured in place: %s", error)
    return model


def _build(
    graph: Graph,
    costs: Costs,
    finalists: Sequence[Candidate],
    policy: str,
    params: LoadParams,
    progress: ProgressCallback,
) -> list[tuple[Candidate, Model]]:
    """What a device refuses drops out as long as something else is left."""
    machine = machine_for(params.specs(), params.emulation)
    built: list[tuple[Candidate, Model]] = []
    refused: EngineError | None = None
    for done, candidate in enumerate(finalists):
        progress("build segments", done, len(finalists))
        try:
            built.append(
                (candidate, Model(graph, plan_of(graph, costs, candidate, policy), machine))
            )
        except EngineError as error:
            _log.warning("segmentation %s is not used: %s", candidate.name, error)
            refused = error
    progress("build segments", len(finalists), len(finalists))
    if not built and refused is not None:
        raise refused
    return built


def _fastest(
    built: Sequence[tuple[Candidate, Model]], inputs: Mapping[str, Any], budget_ns: int
) -> tuple[Candidate, Model]:
    """The fastest; one segment unless several are faster by more than noise."""
    if len(built) == 1:
        return built[0]
    rounds = interleaved_ns([model for _, model in built], inputs, budget_ns)
    relative = relative_times(rounds, reference=0)
    for (candidate, _), ratio in zip(built, relative, strict=True):
        _log.info(
            "%s: %d segments, predicted %.3f ms, measured %.3f of the first",
            candidate.name,
            len(candidate.graph.groups),
            candidate.predicted.makespan_ns / 1e6,
            ratio,
        )
    handicap = [1.0 if c.is_trivial else _SEGMENTS_HANDICAP for c, _ in built]
    scores = [ratio * factor for ratio, factor in zip(relative, handicap, strict=True)]
    return built[scores.index(min(scores))]


def _finalists(ranked: Sequence[Candidate], count: int) -> list[Candidate]:
    """The best predicted of each hub size, and every one-segment plan whatever its prediction."""
    by_fan: dict[str, Candidate] = {}
    for candidate in ranked:
        if not candidate.is_trivial:
            by_fan.setdefault(candidate.name.rpartition(" ")[0], candidate)
    best = list(by_fan.values())[: max(0, count - 1)]
    return best + [c for c in ranked if c.is_trivial] or list(ranked[:1])
