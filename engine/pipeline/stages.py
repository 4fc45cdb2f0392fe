"""The stages from a file to a running model, each a function that a verb or a test can call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.dfg.graph import Graph
from engine.dfg.onnx_reader import read
from engine.errors import InputError, PlacementError
from engine.profiling.calibrate import random_inputs
from engine.profiling.costs import problem_of
from engine.profiling.devices import DeviceSpec
from engine.profiling.profile import Profile
from engine.profiling.profiler import profile_graph
from engine.profiling.store import cache_folder
from engine.segmentation.groups import GroupGraph
from engine.segmentation.plan import Plan, make_plan
from engine.segmentation.segmenter import Candidate, SegmentationParams, segment
from engine.segmentation.service import ServiceTimes
from placement.bounds import lower_bounds
from placement.placement import Placement
from placement.policy import make_policy
from placement.problem import Problem

ProgressCallback = Callable[[str, int, int], None]
"""Called with (stage, done, total)."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class Costs:
    """A profile applied to a graph: the problem for policies, service times for segments."""

    problem: Problem
    service: ServiceTimes


def read_model(path: str | Path, cache: Path | None = None) -> Graph:
    """Read an ONNX file into a graph, through the cache folder.

    Raises
    ------
    ModelError
        If it is no model that ONNX Runtime loads.
    """
    return read(Path(path), cache or cache_folder())


def example_inputs(
    graph: Graph,
    model_path: str | Path,
    inputs_path: Path | None = None,
    dims: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Inputs to calibrate with: a given .npz, the one beside the model, or seeded random ones.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    beside = Path(model_path).with_suffix(".npz")
    chosen = inputs_path or (beside if beside.exists() else None)
    if chosen is None:
        return dict(random_inputs(graph, dims or {}))
    try:
        with np.load(chosen) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read example inputs {chosen}: {error}") from error


def measure(
    graph: Graph,
    specs: Sequence[DeviceSpec],
    inputs: Mapping[str, Any],
    cache: Path | None = None,
    progress: ProgressCallback = no_progress,
) -> Profile:
    """Profile every task on every device; known operators come from the store."""
    return profile_graph(graph, specs, inputs, cache=cache or cache_folder(), progress=progress)


def costs_of(graph: Graph, profile: Profile, specs: Sequence[DeviceSpec]) -> Costs:
    """Apply a profile to its graph.

    Raises
    ------
    ProfileError
        If the profile is of another model or lacks a device.
    """
    problem = problem_of(graph, profile, specs)
    widths = {
        (index, width): [profile.service_ns(task.name, device.name, width) for task in graph.tasks]
        for index, device in enumerate(specs)
        for width in device.widths
    }
    fusion = {
        (index, width): _fusion(profile, specs[index].name, width, row)
        for (index, width), row in widths.items()
    }
    return Costs(problem, ServiceTimes(widths, fusion))


def _fusion(profile: Profile, device: str, width: int, row: Sequence[int | None]) -> float:
    whole = profile.whole_model_ns(device, width)
    total = sum(time for time in row if time is not None)
    return 1.0 if whole is None or total == 0 else whole / total


def place(problem: Problem, policy: str, options: Mapping[str, Any] | None = None) -> Placement:
    """Run a placement policy by name."""
    return make_policy(policy, **dict(options or {})).place(problem)


def candidates(
    costs: Costs, placement: Placement, params: SegmentationParams | None = None
) -> list[Candidate]:
    """Segmentations of a placement, best predicted first."""
    return segment(costs.problem, placement, costs.service, params)


def plan_of(graph: Graph, costs: Costs, candidate: Candidate, policy: str) -> Plan:
    """The executable plan of a candidate."""
    return make_plan(
        graph,
        candidate.graph,
        costs.service,
        candidate.predicted,
        name=candidate.name,
        policy=policy,
        bound_ns=lower_bounds(costs.problem).makespan_ns,
    )


def check_memory(groups: GroupGraph) -> None:
    """Refuse a plan whose weights do not fit a device.

    Raises
    ------
    PlacementError
        Naming the device and both sizes.
    """
    problem = groups.problem
    for index, device in enumerate(problem.devices):
        need = sum(
            problem.tasks[t].weight_bytes
            for g in groups.groups
            if g.device == index
            for t in g.tasks
        )
        if device.memory_bytes is not None and need > device.memory_bytes:
            raise PlacementError(
                f"device {device.name!r}: weights need {need} bytes of {device.memory_bytes}"
            )
