"""The stages from a file to a running model, each a function that a verb or a test can call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from surplus.engine.cache_folder import cache_folder
from surplus.engine.devices.machines import open_machine
from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.onnx_reader import read
from surplus.engine.errors import PlacementError
from surplus.engine.examples.given import check_inputs
from surplus.engine.examples.made_up import example_inputs as example_inputs
from surplus.engine.planning.progress import ProgressCallback as ProgressCallback
from surplus.engine.planning.progress import no_progress as no_progress
from surplus.engine.profiling.costs import problem_of
from surplus.engine.profiling.disturbance import Watch
from surplus.engine.profiling.planning_time import UNLIMITED, PlanningTime
from surplus.engine.profiling.profile import Profile
from surplus.engine.profiling.profiler import profile_graph
from surplus.engine.segmentation.best_case import best_case
from surplus.engine.segmentation.capture import refusal
from surplus.engine.segmentation.coarse import predict
from surplus.engine.segmentation.group_holds import planned_ranks
from surplus.engine.segmentation.peaks import excesses
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.plan_making import make_plan
from surplus.engine.segmentation.segmenter import Candidate, SegmentationParams, per_task, segment
from surplus.engine.segmentation.service import ServiceTimes
from surplus.engine.store.model_folders import note_source
from surplus.engine.trial.first_run import require_harmless
from surplus.placement.bounds import lower_bounds
from surplus.placement.fit_memory import InfeasibleError
from surplus.placement.placement import Placement
from surplus.placement.policy import make_policy
from surplus.placement.problem import Problem


@dataclass(frozen=True)
class Costs:
    """A profile applied to a graph: the problem for policies, service times for segments.

    Parameters
    ----------
    time : PlanningTime
        What is left for thinking of plans with them.
    """

    problem: Problem
    service: ServiceTimes
    time: PlanningTime = UNLIMITED

    @cached_property
    def bound_ns(self) -> int:
        """Lower bound of any plan's makespan."""
        return lower_bounds(best_case(self.problem, self.service)).makespan_ns


def read_model(path: str | Path, cache: Path | None = None, *, crash_probe: bool = False) -> Graph:
    """Read an ONNX file into a graph, through the cache folder.

    Parameters
    ----------
    crash_probe : bool
        Whether a file that nobody has seen is first run in a child.

    Raises
    ------
    ModelError
        If it is no model that ONNX Runtime loads, or that run ends its process, or does not end in
        time.
    """
    check = require_harmless if crash_probe else None
    return _noted(path, read(Path(path), cache or cache_folder(), check))


def _noted(path: str | Path, graph: Graph) -> Graph:
    note_source(graph.folder, Path(path).absolute())
    return graph


def measure(
    graph: Graph,
    specs: Sequence[DeviceSpec],
    inputs: Mapping[str, Any],
    cache: Path | None = None,
    progress: ProgressCallback = no_progress,
    *,
    reopens: bool = False,
    limit: PlanningTime = UNLIMITED,
) -> Profile:
    """Profile every task on every device; known operators come from the store.

    Parameters
    ----------
    reopens : bool
        Whether a GPU that is lost meanwhile is to be opened again (machines.py).
    limit : PlanningTime
        When to give up.

    Raises
    ------
    InputError
        If the inputs do not fit the model.
    DeviceLostError
        If a device is lost meanwhile; nothing wrong is stored.
    PlanningTimeError
        If the time is over and tasks are left.
    """
    given = check_inputs(graph, inputs)
    return profile_graph(
        graph,
        specs,
        given,
        cache=cache or cache_folder(),
        progress=progress,
        open_machine=partial(open_machine, reopens=reopens),
        limit=limit,
        watch=Watch(),
    )


def costs_of(
    graph: Graph,
    profile: Profile,
    specs: Sequence[DeviceSpec],
    gpu_memory_bytes: int | None = None,
    limit: PlanningTime = UNLIMITED,
) -> Costs:
    """Apply a profile to its graph; ``gpu_memory_bytes`` as in ``problem_of``.

    Parameters
    ----------
    limit : PlanningTime
        For what is thought of with these costs.

    Raises
    ------
    ProfileError
        If the profile is of another model or lacks a device.
    """
    problem = problem_of(graph, profile, specs, gpu_memory_bytes)
    widths = {
        (index, width): [profile.service_ns(task.name, device.name, width) for task in graph.tasks]
        for index, device in enumerate(specs)
        for width in device.widths
    }
    fusion = {
        (index, width): _fusion(profile, specs[index].name, width, row)
        for (index, width), row in widths.items()
    }
    overheads = profile.overheads
    cpus = [i for i, spec in enumerate(specs) if spec.traits.is_host]
    beside_gpu = cpus if len(cpus) < len(specs) else []
    service = ServiceTimes(
        widths,
        fusion,
        boundary_ns=overheads.boundary_ns,
        wide_boundary_ns=overheads.wide_boundary_ns,
        tensor_ns=dict.fromkeys(cpus, overheads.tensor_ns),
        segment_ns=dict.fromkeys(beside_gpu, overheads.cold_segment_ns),
        operator_ns=dict.fromkeys(beside_gpu, overheads.cold_operator_ns),
        problem=problem,
        overheads=overheads,
    )
    service = _with_submission(service, graph, profile, specs)
    return Costs(replaced(problem, service), service, limit)


def _with_submission(
    service: ServiceTimes, graph: Graph, profile: Profile, specs: Sequence[DeviceSpec]
) -> ServiceTimes:
    """Adds what segments take a GPU's submitting thread, and which tasks can be captured."""
    away = [(i, spec) for i, spec in enumerate(specs) if not spec.traits.is_host]
    able = [not refusal(graph, task) for task in graph.tasks]
    launches = {
        i: [profile.launch_ns(task.name, spec.name) for task in graph.tasks] for i, spec in away
    }
    return replace(
        service,
        submit_ns={i: profile.device(spec.name).submit_ns for i, spec in away},
        launch_ns={i: _together(profile, spec.name, launches[i]) for i, spec in away},
        captured_ns={
            i: [
                profile.captured_ns(task.name, spec.name) if ok else None
                for task, ok in zip(graph.tasks, able, strict=True)
            ]
            for i, spec in away
            if spec.captured
        },
        least_captured={i: spec.traits.least_captured for i, spec in away},
    )


def _together(profile: Profile, device: str, launches: Sequence[int]) -> list[int]:
    """Launches of tasks in one session with others, which fuses them as it does the whole model."""
    whole_ns, total_ns = profile.whole_launch_ns.get(device), sum(launches)
    if whole_ns is None or total_ns == 0:
        return list(launches)
    share = max(0, whole_ns - profile.device(device).submit_ns) / total_ns
    return [round(ns * share) for ns in launches]


def _fusion(profile: Profile, device: str, width: int, row: Sequence[int | None]) -> float:
    whole = profile.whole_model_ns(device, width)
    total = sum(time for time in row if time is not None)
    return 1.0 if whole is None or total == 0 else whole / total


def place(problem: Problem, policy: str, options: Mapping[str, Any] | None = None) -> Placement:
    """Run a placement policy by name.

    Raises
    ------
    PlacementError
        If no placement was found that the devices' memories hold.
    """
    try:
        return make_policy(policy, **dict(options or {})).place(problem)
    except InfeasibleError as error:
        raise PlacementError(f"policy {policy!r}: {error}") from error


def candidates(
    costs: Costs, placement: Placement, params: SegmentationParams | None = None
) -> list[Candidate]:
    """Segmentations of a placement that the memories hold, best predicted first.

    Where they hold none, a segment for each task is tried; nothing is left if that is too much.
    """
    found = segment(costs.problem, placement, costs.service, params, costs.time.is_over)
    if placement.holds or placement.copy_holds:  # which no other cut can keep
        found.append(finest_cut(costs, placement))
        found.sort(key=lambda candidate: candidate.predicted.makespan_ns)
    fitting = [candidate for candidate in found if fits_memory(costs, candidate)]
    if fitting or not found:
        return fitting
    finest = finest_cut(costs, placement)
    return [finest] if fits_memory(costs, finest) else []


def finest_cut(costs: Costs, placement: Placement) -> Candidate:
    """A segment for each task, in the order of the placement and with its holds."""
    graph = per_task(costs.problem, placement)
    order = planned_ranks(graph, placement)
    predicted = predict(graph, costs.service, order=order)
    return Candidate("per task x1", graph, predicted, order)


def fits_memory(costs: Costs, candidate: Candidate) -> bool:
    """Whether each memory holds the constants and, at any moment, the tensors of one query."""
    return not excess_of(costs, candidate)


def excess_of(costs: Costs, candidate: Candidate) -> str:
    """Which memory is too small for a query, and what it needs; empty if all hold it."""
    return next(excesses(candidate.graph, costs.service, candidate.predicted), "")


def replaced(problem: Problem, service: ServiceTimes) -> Problem:
    """The problem with other times of width 1, which are what policies look at."""
    devices = range(len(problem.devices))
    tasks = tuple(
        replace(task, service_ns=tuple(service.operator_in_plan_ns(i, d) for d in devices))
        for i, task in enumerate(problem.tasks)
    )
    return replace(problem, tasks=tasks)


def plan_of(graph: Graph, costs: Costs, candidate: Candidate, policy: str) -> Plan:
    """The executable plan of a candidate."""
    shards = candidate.shards
    if shards is not None:
        graph, costs = shards.graph, Costs(shards.problem, shards.service)
    return make_plan(
        graph,
        candidate.graph,
        costs.service,
        candidate.predicted,
        name=candidate.name,
        policy=policy,
        bound_ns=costs.bound_ns,
        shards=1 if shards is None else shards.count,
    )
