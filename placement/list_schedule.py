"""List scheduling, natively: tasks by rank, each where a policy's rule puts it.

Rules that all its policies share: a device has several lanes; a task of width 1 may fill a gap
(insertion), a wider one starts when enough lanes have run out of work; where a task has several
widths each is a choice like a device; a tensor counts as copied once per memory, at no contention;
graph inputs come from the host. Where a device's submitting thread costs time
(``Device.submit_ns``, ``Task.launch_ns``), a task starts once its submission is done, which may be
while its lanes and inputs are still busy elsewhere.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from surplus.placement.evaluator import Numbers, compiled, placement_at
from surplus.placement.ordering import order_of
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem

Reals = NDArray[np.float64]

Choice = Literal["least", "fastest", "readers"]


def list_scheduled(
    problem: Problem, ranks: Reals, ahead_ns: Numbers, policy: str, choice: Choice = "least"
) -> Placement:
    """Schedule all tasks; the planned starts become the order.

    Parameters
    ----------
    ranks : array of float64, shape (tasks,)
        Of tasks whose predecessors are scheduled the highest is next, ties by index.
    ahead_ns : array of int64, shape (tasks, devices)
        What comes after a task on each device, ns; below 0 where it must not go.
    choice : {"least", "fastest", "readers"}
        Which device gets a task, and how wide: that with the least end plus what lies ahead; the
        better of that where it ends first and the one that is fastest, by the same; that after
        which its readers, each placed where it ends first, have all ended first.
    """
    places, starts = compiled(problem).list_schedule(ranks, ahead_ns, choice)
    return placement_at(problem, places.tolist(), order_of(starts).tolist(), policy)
