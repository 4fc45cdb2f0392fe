"""Load inequalities: what lies between two instants takes at least its work over the lanes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt

from surplus.milp.closure import ancestors, descendants, members
from surplus.milp.windows import Windows
from surplus.placement.problem import Problem

PAIRWISE_TASKS_MAX = 120
"""Above this, loads between pairs of tasks (quadratically many) are left out."""

WINDOW_QUANTILES = 12
"""How many heads and tails are tried as windows of all devices, each with each.

All of them would be quadratically many rows of linearly many terms: 90 million at 1,000 tasks. What
lies between two neighbours of the thinned ones says little more than they do."""

GATED_QUANTILES = 4
"""How many heads and tails of one device an integer program tries as gated windows."""

TERMS_MAX = 100_000
"""Of all windows of a device together: of many tasks fewer windows are tried."""

_QUANTILES_MIN = 3


@dataclass(frozen=True)
class LoadCut:
    """All of ``tasks`` run between two instants, so their work on a device fits in there.

    Parameters
    ----------
    device : int
        The device whose load is counted.
    tasks : tuple of int
        Tasks that lie between, wherever they are placed, ascending.
    after, before : int or None
        The instants: end of a task (None: time 0) and start of a task (None: the makespan).
    head_ns, tail_ns : int
        Time at either end in which none of the tasks can run.
    gated : bool
        Whether that holds only if at least one of the tasks runs on the device.
    """

    device: int
    tasks: tuple[int, ...]
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
    most = max(_QUANTILES_MIN, isqrt(TERMS_MAX // max(len(problem.tasks), 1)))
    for device in range(len(problem.devices)):
        yield from _window_cuts(windows, device, min(most, WINDOW_QUANTILES))
        yield from _gated_cuts(windows, device, min(most, quantiles))
        if len(problem.tasks) <= PAIRWISE_TASKS_MAX:
            yield from _task_cuts(problem, windows, device)


def _window_cuts(windows: Windows, device: int, quantiles: int) -> Iterator[LoadCut]:
    """Loads of tasks with head >= h and tail >= t, for some h and t.

    Heads and tails here are the least over all devices: they hold even if none of the tasks
    comes to this device, so that an empty window counts for no more than a path does.
    """
    tasks = [i for i, choices in enumerate(windows.devices) if device in choices]
    heads = {i: windows.least_head_ns(i) for i in tasks}
    tails = {i: windows.least_tail_ns(i) for i in tasks}
    yield from _cuts(device, heads, tails, quantiles, gated=False)


def _gated_cuts(windows: Windows, device: int, quantiles: int) -> Iterator[LoadCut]:
    """Window loads with the heads and tails of this very device, transfers included.

    Only a few quantiles: each costs a row per task, since it has to be gated.
    """
    tasks = [i for i, choices in enumerate(windows.devices) if device in choices]
    heads = {i: windows.head_ns[i][device] for i in tasks}
    tails = {i: windows.tail_ns[i][device] for i in tasks}
    yield from _cuts(device, heads, tails, quantiles, gated=True)


def _cuts(
    device: int, heads: dict[int, int], tails: dict[int, int], quantiles: int, *, gated: bool
) -> Iterator[LoadCut]:
    seen = set()
    for head in _quantiles([*heads.values()], quantiles):
        late = [i for i, head_ns in heads.items() if head_ns >= head]
        for tail in _quantiles([tails[i] for i in late], quantiles):
            inside = tuple(i for i in late if tails[i] >= tail)
            if len(inside) > 1 and inside not in seen:
                seen.add(inside)
                head_ns, tail_ns = min(heads[i] for i in inside), min(tails[i] for i in inside)
                yield LoadCut(device, inside, None, None, head_ns, tail_ns, gated)


def _quantiles(values: list[int], count: int) -> list[int]:
    """At most ``count`` of the distinct values, the least among them."""
    ranked = sorted(set(values))
    return ranked[:: -(-len(ranked) // count)] if ranked else []


def _task_cuts(problem: Problem, windows: Windows, device: int) -> Iterator[LoadCut]:
    """Loads of what must run before a task, after it, and between two of them."""
    before, after = ancestors(problem), descendants(problem)
    eligible = sum(1 << i for i, choices in enumerate(windows.devices) if device in choices)
    for i in range(len(problem.tasks)):
        elders, heirs = tuple(members(before[i] & eligible)), after[i] & eligible
        if len(elders) > 1:
            head_ns = min(windows.least_head_ns(j) for j in elders)
            yield LoadCut(device, elders, None, i, head_ns=head_ns)
        if heirs.bit_count() > 1:
            tail_ns = min(windows.least_tail_ns(j) for j in members(heirs))
            yield LoadCut(device, tuple(members(heirs)), i, None, tail_ns=tail_ns)
        for j in members(after[i]):
            between = heirs & before[j]
            if between.bit_count() > 1:
                yield LoadCut(device, tuple(members(between)), i, j)
