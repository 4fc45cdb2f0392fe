"""What SIR+'s policies have in common: tasks that overflow from their default device to the host.

The host is device 0. A task may overflow if its default device is another one and the host can
run it. The paper knows one CPU and one GPU; any other device keeps its tasks here.

References
----------
Kumar, Sivasubramaniam, Zhu: Overflowing Emerging Neural Network Inference Tasks from the GPU to
the CPU on Heterogeneous Servers (SIR+), SYSTOR 2022, section 4.
"""

from __future__ import annotations

from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.simulator import simulate
from surplus.placement.timeline import Span, SpanKind

HOST = 0


def default_devices(problem: Problem) -> list[int]:
    """Where today's runtime puts each task."""
    return [task.default_device for task in problem.tasks]


def can_overflow(problem: Problem, task: int) -> bool:
    """Whether ``task`` may move from its default device to the host."""
    spec = problem.tasks[task]
    return spec.default_device != HOST and spec.service_ns[HOST] is not None


def extra_service_ns(problem: Problem, task: int) -> int:
    """How much longer ``task`` takes on the host than on its default device; may be negative."""
    service_ns = problem.tasks[task].service_ns
    host_ns, default_ns = service_ns[HOST], service_ns[problem.tasks[task].default_device]
    assert host_ns is not None, "ask can_overflow first"
    assert default_ns is not None, "Problem checks it"
    return host_ns - default_ns


def baseline_spans(problem: Problem) -> list[Span]:
    """Profile of the baseline: each task's span, by task index.

    Every task on its default device, in topological order (SIR+ section 3), simulated.
    """
    count = len(problem.tasks)
    baseline = Placement(tuple(default_devices(problem)), tuple(range(count)), "baseline")
    spans = [s for s in simulate(problem, baseline) if s.kind is SpanKind.TASK]
    return sorted(spans, key=lambda span: span.index)


def slowdown_overflow(problem: Problem, alpha_ns: int) -> list[int]:
    """Devices after SD: tasks that are less than ``alpha_ns`` slower on the host go there.

    SIR+ section 4.2. It is also the set that Comm+SD starts from (section 4.3).
    """
    devices = default_devices(problem)
    for task in range(len(devices)):
        if can_overflow(problem, task) and extra_service_ns(problem, task) < alpha_ns:
            devices[task] = HOST
    return devices
