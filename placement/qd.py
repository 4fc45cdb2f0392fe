"""QD: tasks that wait for their device overflow to the host (SIR+ section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

from surplus.placement.ordering import Order, check_order, planned
from surplus.placement.overflow import (
    HOST,
    baseline_spans,
    can_overflow,
    default_devices,
    extra_service_ns,
)
from surplus.placement.placement import Placement
from surplus.placement.policy import register
from surplus.placement.problem import Problem
from surplus.placement.timeline import Span


@dataclass(frozen=True)
class QDAllParams:
    """Options of ``qd_all``; ``order`` is the planned start order, see ``ordering.planned``."""

    order: Order = "rank"

    def __post_init__(self) -> None:
        check_order(self.order)


@dataclass(frozen=True)
class QDParams:
    """Options of ``qd``.

    Parameters
    ----------
    order : {"rank", "topological"}
        Planned start order, see ``ordering.planned``.
    host_queue : bool
        Whether the estimate of the end on the host counts the wait for one of its lanes, too.
        The paper's does not; it takes the host for idle.
    """

    order: Order = "rank"
    host_queue: bool = False

    def __post_init__(self) -> None:
        check_order(self.order)


@register("qd_all", QDAllParams)
class QDAll:
    """The straw man: every task that waits in the baseline goes to the host."""

    def __init__(self, params: QDAllParams | None = None) -> None:
        self._params = params or QDAllParams()

    def place(self, problem: Problem) -> Placement:
        """Move tasks with a queueing time above zero."""
        devices = default_devices(problem)
        for task, span in enumerate(baseline_spans(problem)):
            if span.queueing_ns > 0 and can_overflow(problem, task):
                devices[task] = HOST
        return planned(problem, devices, "qd_all", self._params.order)


@register("qd", QDParams)
class QD:
    """Waiting tasks that are estimated to end earlier on the host go there.

    The test is the paper's: service time on the host < queueing + service time on the default
    device, all of the baseline. Tasks that do not wait stay, however fast the host is.
    """

    def __init__(self, params: QDParams | None = None) -> None:
        self._params = params or QDParams()

    def place(self, problem: Problem) -> Placement:
        """Move waiting tasks that end earlier on the host."""
        devices = default_devices(problem)
        host = _HostLanes(problem)
        spans = baseline_spans(problem)
        for span in sorted(spans, key=lambda s: (s.ready_ns, s.index)):
            task = span.index
            if devices[task] == HOST:
                host.take(span)
            elif span.queueing_ns > 0 and can_overflow(problem, task):
                wait_ns = host.wait_ns(span) if self._params.host_queue else 0
                if wait_ns + extra_service_ns(problem, task) < span.queueing_ns:
                    devices[task] = HOST
                    host.take(span)
        return planned(problem, devices, "qd", self._params.order)


class _HostLanes:
    """When the host's lanes become free again, tasks taken in order of the baseline's ready."""

    def __init__(self, problem: Problem) -> None:
        self._tasks = problem.tasks
        self._free_at_ns = [0] * problem.devices[HOST].lanes

    def wait_ns(self, span: Span) -> int:
        """Wait of a task for as many lanes as it is wide."""
        width = self._tasks[span.index].width(HOST)
        return max(0, sorted(self._free_at_ns)[width - 1] - span.ready_ns)

    def take(self, span: Span) -> None:
        """Occupy the lanes that are free first."""
        task = self._tasks[span.index]
        end_ns = span.ready_ns + self.wait_ns(span) + (task.service_ns[HOST] or 0)
        width = task.width(HOST)
        self._free_at_ns = [end_ns] * width + sorted(self._free_at_ns)[width:]
