"""A profile applied to a graph: the placement problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from surplus.engine.devices.spec import HOST_MEMORY, DeviceSpec
from surplus.engine.dfg.graph import Graph, GraphTensor, ValueKind
from surplus.engine.dfg.shared_constants import shared_constants
from surplus.engine.errors import ProfileError
from surplus.engine.profiling.profile import Profile
from surplus.placement import problem as p


def problem_of(
    graph: Graph,
    profile: Profile,
    specs: Sequence[DeviceSpec] | None = None,
    gpu_memory_bytes: int | None = None,
    *,
    widths: bool = False,
) -> p.Problem:
    """Tasks with their times at width 1, tensors with their bytes, devices and links.

    A task by itself is an operator on its way to the device, so the submitting thread counts its
    launch; what a segment adds to that is in ServiceTimes.

    Tasks and tensors keep the graph's indices. What only its shape is read of carries no bytes;
    a task that touches a sequence, an optional or text runs on the host. The default device,
    where today's runtime would put a task, is the first GPU that can run it.

    Parameters
    ----------
    specs : sequence of DeviceSpec, optional
        Devices to plan for, the host's CPU first, each of them profiled; all by default.
        Lanes may differ from the profiled ones.
    gpu_memory_bytes : int, optional
        How much of each memory but the host's may be used; None is all that the profile says.
    widths : bool
        Whether tasks may take several lanes at once, as far as that was profiled.

    Raises
    ------
    ProfileError
        If the profile is of another model, or lacks a device, a task or a tensor.
    """
    profile.check_model(graph.source_hash)
    chosen = profile.device_specs() if specs is None else tuple(specs)
    spaces = {spec.memory for spec in chosen}
    blobs = shared_constants(graph)
    return p.Problem(
        name=graph.name,
        devices=tuple(_device(spec, profile, gpu_memory_bytes) for spec in chosen),
        links=tuple(k for k in profile.links if {k.source, k.target} <= spaces),
        tasks=tuple(_tasks(graph, profile, chosen, blobs, widths=widths)),
        tensors=tuple(_tensor(tensor, profile) for tensor in graph.tensors),
        notes={spec.name: profile.device(spec.name).origin for spec in chosen},
        blobs=tuple(p.Blob(name, size) for name, size in blobs.items()),
    )


def _device(spec: DeviceSpec, profile: Profile, gpu_memory_bytes: int | None) -> p.Device:
    measured = profile.device(spec.name)
    if (spec.kind, spec.preset) != (measured.kind, measured.preset):
        raise ProfileError(
            f"device {spec.name!r} was profiled as {measured.preset or measured.kind},"
            f" not {spec.preset or spec.kind}"
        )
    limits = [measured.memory_bytes, None if spec.memory == HOST_MEMORY else gpu_memory_bytes]
    least = min((limit for limit in limits if limit is not None), default=None)
    if spec.pageable != measured.pageable:
        raise ProfileError(
            f"device {spec.name!r} was profiled with {_HOST_COPIES[measured.pageable]} host"
            f" memory, not {_HOST_COPIES[spec.pageable]}"
        )
    slowdown = measured.slowdown if spec.lanes > 1 else ()
    return p.Device(spec.name, spec.lanes, spec.memory, least, slowdown=slowdown)


_HOST_COPIES = {False: "pinned", True: "pageable"}


def _tasks(
    graph: Graph,
    profile: Profile,
    specs: Sequence[DeviceSpec],
    blobs: Mapping[str, int],
    *,
    widths: bool,
) -> list[p.Task]:
    number = {name: index for index, name in enumerate(blobs)}
    rows = []
    for task in graph.tasks:
        times = tuple(profile.service_ns(task.name, spec.name) for spec in specs)
        able = [i for i, time in enumerate(times) if time is not None]
        if not able:
            raise ProfileError(f"the profile has no device for task {task.name!r}")
        away = [i for i in able if not specs[i].traits.is_host]
        default = (away or able)[0]
        rows.append(
            p.Task(
                name=task.name,
                kind=task.op_type,
                service_ns=times,
                default_device=default,
                weight_bytes=task.weight_bytes,
                blobs=tuple(sorted({number[n] for n in task.initializers if n in number})),
                launch_ns=tuple(profile.launch_ns(task.name, spec.name) for spec in specs),
                spread_ns=tuple(profile.spread_ns(task.name, spec.name) for spec in specs),
                wider_ns=tuple(_wider(profile, task.name, spec) for spec in specs if widths),
            )
        )
    return rows


def _wider(profile: Profile, task: str, spec: DeviceSpec) -> tuple[tuple[int, int], ...]:
    """Times of a task on more lanes than one, where it can run."""
    times = ((n, profile.service_ns(task, spec.name, n)) for n in spec.widths if n > 1)
    return tuple((lanes, ns) for lanes, ns in times if ns is not None)


def _tensor(tensor: GraphTensor, profile: Profile) -> p.Tensor:
    size = profile.tensors.get(tensor.name)
    if size is None and tensor.producer >= 0:
        raise ProfileError(f"the profile has no tensor {tensor.name!r}")
    size_bytes = 0
    if size is not None and not tensor.metadata_only:
        # An empty tensor is copied like any other, which takes a copy's fixed time; no bytes at
        # all would mean that nothing is copied.
        size_bytes = max(size.size_bytes, 1 if tensor.kind is ValueKind.TENSOR else 0)
    return p.Tensor(
        name=tensor.name,
        producer=tensor.producer,
        consumers=tensor.consumers,
        size_bytes=size_bytes,
        is_output=tensor.is_output,
    )
