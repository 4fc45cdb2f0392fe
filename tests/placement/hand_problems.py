"""Problems small enough to schedule by hand: one CPU and one GPU, a byte takes a nanosecond."""

from surplus.placement.placement import Placement
from surplus.placement.problem import Device, Link, Problem, Task, Tensor

CPU, GPU = 0, 1


def cpu_gpu(
    services,
    edges=(),
    *,
    cpu_lanes=1,
    gpu_lanes=1,
    latency_ns=0,
    occupancy_ns=0,
    widths=None,
    defaults=None,
):
    """services: (cpu, gpu) of each task; edges: (producer, consumers, bytes[, is_output])."""
    link = (latency_ns, 1e9, occupancy_ns)
    return Problem(
        "by hand",
        (Device("cpu", cpu_lanes), Device("gpu", gpu_lanes, "gpu")),
        (Link("host", "gpu", *link), Link("gpu", "host", *link)),
        tuple(
            Task(
                f"t{i}",
                "Op",
                tuple(service),
                (widths or {}).get(i, ()),
                defaults[i] if defaults else (GPU if service[GPU] is not None else CPU),
            )
            for i, service in enumerate(services)
        ),
        tuple(
            Tensor(f"x{i}", edge[0], tuple(edge[1]), edge[2], *edge[3:])
            for i, edge in enumerate(edges)
        ),
    )


def on(devices, priority=None):
    """A placement with the given devices, in topological order unless told otherwise."""
    return Placement(tuple(devices), tuple(priority or range(len(devices))), "by hand")


def task_times(timeline):
    """(ready, start, end) of each task, by index."""
    spans = sorted((s for s in timeline if s.kind == "task"), key=lambda s: s.index)
    return [(s.ready_ns, s.start_ns, s.end_ns) for s in spans]


def copy_times(timeline):
    """(tensor, link, ready, start, end) of each copy, by start."""
    return [
        (s.index, s.resource, s.ready_ns, s.start_ns, s.end_ns)
        for s in timeline
        if s.kind == "copy"
    ]
