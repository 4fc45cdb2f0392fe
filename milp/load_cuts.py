"""Load inequalities: what lies between two instants takes at least its work over the lanes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from surplus.milp.windows import Windows, ancestors, descendants
from surplus.placement.problem import Problem

PAIRWISE_TASKS_MAX = 120
"""Above this, loads between pairs of tasks (quadratically many) are left out."""

GATED_QUANTILES = 4
"""How many heads and tails of one device an integer program tries as gated windows."""


@dataclass(frozen=True)
class LoadCut:
    """All of ``tasks`` run between two instants, so their work on a device fits in there.

    Parameters
    ----------
    device : int
        The device whose load is counted.
    tasks : frozenset of int
        Tasks that lie between, wherever they are placed.
    after, before : int or None
        The instants: end of a task (None: time 0) and start of a task (None: the makespan).
    head_ns, tail_ns : int
        Time at either end in which none of the tasks can run.
    gated : bool
        Whether that holds only if at least one of the tasks runs on the device.
    """

    device: int
    tasks: frozenset[int]
    after: int | None
    before: int | None
    head_ns: int = 0
    tail_ns: int = 0
    gated: bool = False


def load_cuts(
    problem: Problem, windows: Windows, quantiles: int = GATED_QUANTILES
) -> Iterator[LoadCut]:
    """Loads of time windows, before and after each task, and between pairs of tasks.

    Parameters
    ----------
    quantiles : int
        How many heads and tails of one device are tried as gated windows, >= 1.
    """
    for device in range(len(problem.devices)):
        yield from _window_cuts(problem, windows, device)
        yield from _gated_cuts(windows, device, quantiles)
        if len(problem.tasks) <= PAIRWISE_TASKS_MAX:
            yield from _task_cuts(problem, windows, device)


def _window_cuts(problem: Problem, windows: Windows, device: int) -> Iterator[LoadCut]:
    """Loads of tasks with head >= h and tail >= t, for every h and t that matter.

    Heads and tails here are the least over all devices: they hold even if none of the tasks
    comes to this device, so that an empty window counts for no more than a path does.
    """
    tasks = [i for i in range(len(problem.tasks)) if device in windows.devices[i]]
    heads = {i: windows.least_head_ns(i) for i in tasks}
    tails = {i: windows.least_tail_ns(i) for i in tasks}
    seen = set()
    for head in sorted(set(heads.values())):
        for tail in sorted(set(tails.values())):
            inside = frozenset(i for i in tasks if heads[i] >= head and tails[i] >= tail)
            if len(inside) > 1 and inside not in seen:
                seen.add(inside)
                head_ns = min(heads[i] for i in inside)
                tail_ns = min(tails[i] for i in inside)
                yield LoadCut(device, inside, None, None, head_ns, tail_ns)


def _gated_cuts(windows: Windows, device: int, quantiles: int) -> Iterator[LoadCut]:
    """Window loads with the heads and tails of this very device, transfers included.

    Only a few quantiles: each costs a row per task, since it has to be gated.
    """
    tasks = [i for i, choices in enumerate(windows.devices) if device in choices]
    seen = set()
    for head in _quantiles([windows.head_ns[i][device] for i in tasks], quantiles):
        for tail in _quantiles([windows.tail_ns[i][device] for i in tasks], quantiles):
            inside = frozenset(
                i
                for i in tasks
                if windows.head_ns[i][device] >= head and windows.tail_ns[i][device] >= tail
            )
            if len(inside) > 1 and inside not in seen:
                seen.add(inside)
                head_ns = min(windows.head_ns[i][device] for i in inside)
                tail_ns = min(windows.tail_ns[i][device] for i in inside)
                yield LoadCut(device, inside, None, None, head_ns, tail_ns, gated=True)


def _quantiles(values: list[int], count: int) -> list[int]:
    ranked = sorted(set(values))
    return ranked[:: max(1, len(ranked) // count)]


def _task_cuts(problem: Problem, windows: Windows, device: int) -> Iterator[LoadCut]:
    """Loads of what must run before a task, after it, and between two of them."""
    before, after = ancestors(problem), descendants(problem)
    eligible = frozenset(i for i in range(len(problem.tasks)) if device in windows.devices[i])
    for i in range(len(problem.tasks)):
        elders, heirs = before[i] & eligible, after[i] & eligible
        if len(elders) > 1:
            head_ns = min(windows.least_head_ns(j) for j in elders)
            yield LoadCut(device, elders, None, i, head_ns=head_ns)
        if len(heirs) > 1:
            tail_ns = min(windows.least_tail_ns(j) for j in heirs)
            yield LoadCut(device, heirs, i, None, tail_ns=tail_ns)
        for j in after[i]:
            between = heirs & before[j]
            if len(between) > 1:
                yield LoadCut(device, between, i, j)
