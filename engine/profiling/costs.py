"""A profile applied to a graph: the placement problem."""

from __future__ import annotations

from collections.abc import Sequence

from engine.dfg.graph import Graph, Tensor
from engine.errors import ProfileError
from engine.profiling.devices import DeviceSpec
from engine.profiling.profile import Profile
from placement import problem as p


def problem_of(
    graph: Graph, profile: Profile, specs: Sequence[DeviceSpec] | None = None
) -> p.Problem:
    """Tasks with their times at width 1, tensors with their bytes, devices and links.

    Tasks and tensors keep the graph's indices. What only its shape is read of carries no bytes;
    a task that touches a sequence, an optional or text runs on the host. The default device,
    where today's runtime would put a task, is the first GPU that can run it.

    Parameters
    ----------
    specs : sequence of DeviceSpec, optional
        Devices to plan for, the host's CPU first, each of them profiled; all by default.
        Lanes may differ from the profiled ones.

    Raises
    ------
    ProfileError
        If the profile is of another model, or lacks a device, a task or a tensor.
    """
    profile.check_model(graph.source_hash)
    chosen = profile.device_specs() if specs is None else tuple(specs)
    spaces = {spec.memory for spec in chosen}
    return p.Problem(
        name=graph.name,
        devices=tuple(_device(spec, profile) for spec in chosen),
        links=tuple(k for k in profile.links if {k.source, k.target} <= spaces),
        tasks=tuple(_tasks(graph, profile, chosen)),
        tensors=tuple(_tensor(tensor, profile) for tensor in graph.tensors),
        notes={spec.name: profile.device(spec.name).origin for spec in chosen},
    )


def _device(spec: DeviceSpec, profile: Profile) -> p.Device:
    measured = profile.device(spec.name)
    if (spec.kind, spec.preset) != (measured.kind, measured.preset):
        raise ProfileError(
            f"device {spec.name!r} was profiled as {measured.preset or measured.kind},"
            f" not {spec.preset or spec.kind}"
        )
    return p.Device(spec.name, spec.lanes, spec.memory, measured.memory_bytes)


def _tasks(graph: Graph, profile: Profile, specs: Sequence[DeviceSpec]) -> list[p.Task]:
    rows = []
    for task in graph.tasks:
        times = tuple(profile.service_ns(task.name, spec.name) for spec in specs)
        able = [i for i, time in enumerate(times) if time is not None]
        if not able:
            raise ProfileError(f"the profile has no device for task {task.name!r}")
        away = [i for i in able if specs[i].kind != "cpu"]
        default = (away or able)[0]
        rows.append(
            p.Task(
                name=task.name,
                kind=task.op_type,
                service_ns=times,
                default_device=default,
                weight_bytes=task.weight_bytes,
            )
        )
    return rows


def _tensor(tensor: Tensor, profile: Profile) -> p.Tensor:
    size = profile.tensors.get(tensor.name)
    if size is None and tensor.producer >= 0:
        raise ProfileError(f"the profile has no tensor {tensor.name!r}")
    return p.Tensor(
        name=tensor.name,
        producer=tensor.producer,
        consumers=tensor.consumers,
        size_bytes=0 if size is None or tensor.metadata_only else size.size_bytes,
        is_output=tensor.is_output,
    )
