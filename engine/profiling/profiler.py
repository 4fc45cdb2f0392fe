"""Profiles a graph on devices: all by measurement, but emulated GPUs by derivation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from surplus.engine.devices.host import this_machine
from surplus.engine.devices.links import host_links, link_figures, through_host
from surplus.engine.devices.opened_device import OpenMachine
from surplus.engine.devices.presets import GPUS, SLOWDOWN, part_of
from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import ExecutionError, PlanningTimeError
from surplus.engine.profiling.calibrate import Step, calibrate
from surplus.engine.profiling.cpu_profiler import CpuProfiler, ProfilingParams, Timer, core_timer
from surplus.engine.profiling.device_profile import DeviceProfile
from surplus.engine.profiling.disturbance import Watch
from surplus.engine.profiling.measured_gpu import MeasuredGpu, measured_gpu
from surplus.engine.profiling.measured_plugin import MeasuredPlugin, measured_plugin
from surplus.engine.profiling.operator_probe import OperatorCost
from surplus.engine.profiling.peer_links import peer_links
from surplus.engine.profiling.planning_time import UNLIMITED, PlanningTime
from surplus.engine.profiling.profile import Profile, TaskProfile, TensorProfile
from surplus.engine.profiling.roofline import (
    captured_time,
    derived_time,
    launch_ns,
    origin_of,
    runs_on_gpu,
)
from surplus.engine.profiling.segment_probe import SegmentTimes
from surplus.engine.profiling.signature import Observed, signature
from surplus.engine.profiling.timing import Timing
from surplus.engine.profiling.timing_store import TimingStore
from surplus.engine.profiling.work import work_of
from surplus.placement.problem import Link

Measured = MeasuredGpu | MeasuredPlugin
"""A device that is open to be measured."""

_PROBES: Mapping[str, Callable[..., AbstractContextManager[Measured]]] = {
    "gpu": measured_gpu,
    "plugin": measured_plugin,
}
"""By what traits name, how a device is opened for that."""

Progress = Callable[[str, int, int], None]
"""Called with (stage, done, total)."""


def profile_graph(
    graph: Graph,
    specs: Sequence[DeviceSpec],
    inputs: Mapping[str, Any],
    *,
    cache: Path | None = None,
    progress: Progress | None = None,
    params: ProfilingParams | None = None,
    timer: Timer = core_timer,
    open_machine: OpenMachine | None = None,
    limit: PlanningTime = UNLIMITED,
    watch: Watch | None = None,
) -> Profile:
    """Service time of every task on every device and width, and the size of every tensor.

    Parameters
    ----------
    inputs : mapping of str to array
        Example inputs; sizes of all tensors are as these make them.
    cache : Path, optional
        Folder of the store that remembers measured signatures; None measures all anew.
    open_machine : callable, optional
        Starts the machine on which a GPU is measured.
    limit : PlanningTime
        When to give up.
    watch : Watch, optional
        Says how disturbed the CPU's times are (``CpuProfiler``).

    Raises
    ------
    DeviceError
        If a device is not here to be profiled, or is lost meanwhile (``DeviceLostError``).
    InputError
        If the example inputs do not fit.
    ExecutionError
        Naming a task that fails.
    PlanningTimeError
        If the time is over and tasks are left.
    """
    for spec in specs:
        spec.check_present()
    params = params or ProfilingParams()
    store = TimingStore(cache)
    try:
        with ExitStack() as stack:
            cpu = CpuProfiler(graph, store, params, timer, watch)
            gpus = {
                spec.name: stack.enter_context(
                    _PROBES[spec.traits.probe](spec, graph, store, open_machine)
                )
                for spec in specs
                if spec.traits.probe
            }
            tasks, seen = _tasks(graph, specs, inputs, cpu, gpus, progress or _silent, limit)
            whole = _whole_on_cpus(graph, specs, inputs, cpu, progress or _silent)
            away = _whole_on_gpus(inputs, gpus) if graph.tasks else {}
            devices = tuple(_device(spec, gpus) for spec in specs)
            links = _links(specs, gpus, open_machine)
    finally:
        store.close()
    return Profile(
        model=graph.name,
        model_hash=graph.source_hash,
        machine=this_machine(),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        repeats=params.max_repeats,
        session_overhead_ns=cpu.session_overhead_ns,
        devices=devices,
        links=links,
        tasks=tuple(tasks),
        tensors={
            tensor.name: TensorProfile(seen[tensor.name].size_bytes, seen[tensor.name].shape)
            for tensor in graph.tensors
            if tensor.name in seen
        },
        whole_model=whole | {name: {1: times.service} for name, times in away.items()},
        whole_launch_ns={
            name: times.host_ns for name, times in away.items() if times.host_ns is not None
        },
    )


def _silent(stage: str, done: int, total: int) -> None:
    pass


def _tasks(
    graph: Graph,
    specs: Sequence[DeviceSpec],
    inputs: Mapping[str, Any],
    cpu: CpuProfiler,
    gpus: Mapping[str, Measured],
    progress: Progress,
    limit: PlanningTime,
) -> tuple[list[TaskProfile], dict[str, Observed]]:
    rows = []
    seen: dict[str, Observed] = {}
    for step in calibrate(graph, inputs):
        if limit.is_over():
            raise PlanningTimeError(
                f"{graph.name}: {step.task} of {len(graph.tasks)} operators were profiled when the"
                " time for planning was over"
            )
        task, seen = graph.tasks[step.task], step.seen
        key = signature(graph, task, seen)
        away = [s for s in specs if not s.traits.is_host and runs_on_gpu(graph, task)]
        costs = {s.name: _gpu_cost(graph, step, key, s, gpus) for s in away}
        able = {name: cost for name, cost in costs.items() if cost is not None}
        times: dict[str, dict[int, Timing]] = {}
        for spec in specs:
            if spec.traits.is_host:
                times[spec.name] = {w: cpu.task_time(step, key, w) for w in spec.widths}
        rows.append(
            TaskProfile(
                name=task.name,
                op=task.op_type,
                signature=key,
                times=times | {name: {1: cost.time} for name, cost in able.items()},
                launch_ns={name: cost.launch_ns for name, cost in able.items()},
                captured_ns={
                    name: cost.captured_ns
                    for name, cost in able.items()
                    if cost.captured_ns is not None
                },
            )
        )
        progress("profile tasks", step.task + 1, len(graph.tasks))
    return rows, seen


def _gpu_cost(
    graph: Graph, step: Step, key: str, spec: DeviceSpec, gpus: Mapping[str, Measured]
) -> OperatorCost | None:
    """Measured where the GPU is here, else derived; None where it cannot run the task."""
    if spec.name in gpus:
        return gpus[spec.name].operators.task_cost(step, key)
    work = work_of(graph, graph.tasks[step.task], step.seen)
    gpu = part_of(GPUS[spec.preset], spec.share_percent)
    return OperatorCost(derived_time(work, gpu), launch_ns(work, gpu), captured_time(work, gpu))


def _whole_on_cpus(
    graph: Graph,
    specs: Sequence[DeviceSpec],
    inputs: Mapping[str, Any],
    cpu: CpuProfiler,
    progress: Progress,
) -> dict[str, dict[int, Timing]]:
    whole: dict[str, dict[int, Timing]] = {}
    for spec in (s for s in specs if s.traits.is_host and graph.tasks):
        whole[spec.name] = {}
        for done, width in enumerate(spec.widths):
            progress("profile whole model", done, len(spec.widths))
            whole[spec.name][width] = cpu.whole_model_time(inputs, width)
        progress("profile whole model", len(spec.widths), len(spec.widths))
    return whole


def _whole_on_gpus(
    inputs: Mapping[str, Any], gpus: Mapping[str, Measured]
) -> dict[str, SegmentTimes]:
    """Times of the whole model in one session, of the devices that take all of it."""
    found = {}
    for name, measured in gpus.items():
        with suppress(ExecutionError):
            found[name] = measured.operators.whole_model(inputs)
    return found


def _device(spec: DeviceSpec, gpus: Mapping[str, Measured]) -> DeviceProfile:
    if spec.name in gpus:
        return gpus[spec.name].profile()
    gpu = part_of(GPUS[spec.preset], spec.share_percent) if spec.traits.is_emulated else None
    if gpu is None:
        return DeviceProfile.of(spec, "measured")
    return DeviceProfile.of(
        spec,
        origin_of(gpu),
        memory_bytes=gpu.memory_bytes,
        submit_ns=gpu.submit_ns,
        slowdown=SLOWDOWN,
    )


def _links(
    specs: Sequence[DeviceSpec], gpus: Mapping[str, Measured], open_machine: OpenMachine | None
) -> tuple[Link, ...]:
    """Both directions to each device's memory, and between two devices.

    These go through the host, but for GPUs that copy to each other, which is measured.
    """
    pairs = {s.memory: _pair(s, gpus) for s in specs if not s.traits.is_host}
    links = {(link.source, link.target): link for pair in pairs.values() for link in pair}
    for source, (_, down) in pairs.items():
        for target, (up, _) in pairs.items():
            if source != target:
                links[source, target] = through_host(down, up)
    peers = [spec for spec in specs if isinstance(gpus.get(spec.name), MeasuredGpu)]
    if open_machine is not None:
        links |= {(link.source, link.target): link for link in peer_links(peers, open_machine)}
    return tuple(links.values())


def _pair(spec: DeviceSpec, gpus: Mapping[str, Measured]) -> tuple[Link, Link]:
    if spec.name in gpus:
        return gpus[spec.name].links()
    return host_links(spec.memory, link_figures(spec.preset), pageable=spec.pageable)
