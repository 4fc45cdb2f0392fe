"""A profile as a machine has it that runs each operator with the fastest kernels.

At one width, on one device, of two libraries the faster one is never the worse choice: so
policies, solvers and simulators see its times, and a bound for these holds for every mixture. What
a change from one library to another costs (conversions of layouts) is not in them; which kernels a
segment really runs with is measured (planning/kernel_look.py).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import ConfigError
from surplus.engine.kernels.asked import AUTO, ONNX_RUNTIME
from surplus.engine.profiling.profile import Profile, TaskProfile
from surplus.engine.profiling.timing import Timing


def with_fastest_kernels(
    graph: Graph, profile: Profile, allowed: Collection[str] | None = None
) -> tuple[Profile, dict[str, int]]:
    """The profile with the times of the fastest kernels, and how many tasks have whose at width 1.

    Tasks that a library runs as one (a convolution and its activation) are chosen together. Its
    times are stated such that the fusion factor of the device (``ServiceTimes``) makes of them what
    was measured.

    Parameters
    ----------
    allowed : collection of str, optional
        Names of libraries; None is all that the profile holds.

    Raises
    ------
    ProfileError
        If the profile is of another model.
    """
    profile.check_model(graph.source_hash)
    taken: dict[str, int] = {}
    for library in profile.libraries:
        if allowed is not None and library.name not in allowed:
            continue
        for device, widths in library.times.items():
            for width, times_ns in widths.items():
                units = _units(graph, times_ns)
                profile, count = _with_faster(profile, units, device, width, times_ns)
                if width == 1:
                    taken[library.name] = taken.get(library.name, 0) + count
    return profile, taken


def allowed_libraries(profile: Profile, kernels: str) -> list[str]:
    """Which of the profile's libraries are meant: ``auto``, ``onnxruntime`` or one by name.

    Raises
    ------
    ConfigError
        If the profile has no times of it.
    """
    here = [library.name for library in profile.libraries]
    named = {AUTO: here, ONNX_RUNTIME: []} | {name: [name] for name in here}
    if kernels not in named:
        raise ConfigError(
            f"kernels {kernels!r}: the profile has times of {', '.join((ONNX_RUNTIME, *here))}"
        )
    return named[kernels]


def _units(graph: Graph, times_ns: tuple[int, ...]) -> list[int]:
    """For each task the first of those that the library runs with it."""
    unit = list(range(len(graph.tasks)))
    for index, task in enumerate(graph.tasks):
        producers = [graph.tensors[t].producer for t in task.inputs]
        before = [p for p in producers if p >= 0]
        if times_ns[index] == 0 and before:
            unit[index] = unit[before[0]]
    return unit


def _with_faster(
    profile: Profile, units: list[int], device: str, width: int, times_ns: tuple[int, ...]
) -> tuple[Profile, int]:
    own = [task.times[device][width] for task in profile.tasks]
    own_ns = sum(timing.ns for timing in own)
    whole = profile.whole_model[device][width]
    fusion = whole.ns / own_ns if own_ns else 1.0
    theirs = [round(time_ns / fusion) for time_ns in times_ns]
    gain: dict[int, int] = {}
    for index, unit in enumerate(units):
        gain[unit] = gain.get(unit, 0) + own[index].ns - theirs[index]
    faster = [gain[unit] > 0 for unit in units]
    rows = [
        Timing(theirs[i], own[i].mad_ns) if is_faster else own[i]
        for i, is_faster in enumerate(faster)
    ]
    tasks = tuple(
        _with_time(task, device, width, row) for task, row in zip(profile.tasks, rows, strict=True)
    )
    whole = replace(whole, ns=max(1, round(fusion * sum(row.ns for row in rows))))
    wholes = _with(profile.whole_model, device, width, whole)
    return replace(profile, tasks=tasks, whole_model=wholes), sum(faster)


def _with_time(task: TaskProfile, device: str, width: int, timing: Timing) -> TaskProfile:
    return replace(task, times=_with(task.times, device, width, timing))


def _with(
    times: Mapping[str, Mapping[int, Timing]], device: str, width: int, timing: Timing
) -> dict[str, Mapping[int, Timing]]:
    return {**times, device: {**times[device], width: timing}}
