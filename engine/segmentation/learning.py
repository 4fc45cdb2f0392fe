"""Learns task times and boundary costs from segments that were measured in place.

A segment of tasks T at width w took m: that is one linear equation, the sum of its tasks' times
and one boundary. Segments of several plans overlap, so there are many such equations, far fewer
than tasks, and the profile is a good first guess. The multiplicative algebraic reconstruction
technique (MART) solves them: every unknown of an equation is scaled by what is measured over
what is predicted, equation after equation, several times. It keeps times positive, changes
nothing that no measurement speaks of, and among the solutions comes to the one closest to the
guess in relative entropy.

Where equations contradict each other the later one wins, hence coarse segments come first: a
task in a small segment was seen more closely than in the whole model.

References
----------
Gordon, Bender and Herman, "Algebraic Reconstruction Techniques (ART)", J. Theoretical Biology
29 (1970), the multiplicative variant; Lent (1977) for the entropy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from surplus.engine.segmentation.groups import TaskGroup
from surplus.engine.segmentation.service import ServiceTimes

_SWEEPS = 20
_MOST_PER_STEP = 8.0
"""One equation scales its unknowns at most so much at a time: a spike in one measurement of a
tiny segment must not destroy what others said of its tasks."""

_Row = npt.NDArray[np.float64]


def learn(service: ServiceTimes, observed: Mapping[TaskGroup, int]) -> ServiceTimes:
    """Service times that agree with what was observed, and predict other groupings better.

    Parameters
    ----------
    service : ServiceTimes
        The first guess, from a profile.
    observed : mapping of Group to int
        Nanoseconds that groups took as segments, the hand-over to them included.

    Returns
    -------
    ServiceTimes
        With fusion already in the tasks' times, and exact times for the groups observed.
    """
    rows = {key: _row(service, key) for key in service.task_ns}
    boundary = {False: float(service.boundary_ns), True: float(service.wide_boundary_ns)}
    equations = sorted(observed.items(), key=lambda item: (-len(item[0].tasks), item[0].tasks))
    for _ in range(_SWEEPS):
        for group, time_ns in equations:
            row, tasks = rows[group.device, group.width], list(group.tasks)
            fixed_ns = service.in_plan_ns(tasks, group.device)
            predicted = float(row[tasks].sum()) + boundary[group.width > 1] + fixed_ns
            step = _step(time_ns, predicted)
            row[tasks] *= step
            # A boundary is in every equation: only those in which it is a good part may move it.
            start_ns = boundary[group.width > 1]
            boundary[group.width > 1] *= step ** (start_ns / max(1.0, predicted))
    return replace(
        service,
        fusion={},
        task_ns={key: _times(service.task_ns[key], row) for key, row in rows.items()},
        boundary_ns=round(boundary[False]),
        wide_boundary_ns=round(boundary[True]),
        measured={**service.measured, **observed},
    )


def _row(service: ServiceTimes, key: tuple[int, int]) -> _Row:
    fusion = service.fusion.get(key, 1.0)
    return np.array([0.0 if ns is None else ns * fusion for ns in service.task_ns[key]])


def _step(time_ns: int, predicted_ns: float) -> float:
    ratio = max(1, time_ns) / max(1.0, predicted_ns)
    return min(_MOST_PER_STEP, max(1 / _MOST_PER_STEP, ratio))


def _times(known: Sequence[int | None], row: _Row) -> list[int | None]:
    """Whole nanoseconds; what a device cannot run stays unknown."""
    return [None if ns is None else round(x) for ns, x in zip(known, row.tolist(), strict=True)]


def carried_over(
    learned: ServiceTimes, guess: ServiceTimes, kinds: Sequence[str], device: int
) -> ServiceTimes:
    """What was learned of some tasks on a device, for all tasks of the same kind.

    Else tasks that no segment showed there would look cheap beside those that it did, and a
    placement would only exchange them.

    Parameters
    ----------
    learned : ServiceTimes
        From ``learn`` with ``guess``.
    kinds : sequence of str
        Of each task.
    """
    changed = {
        key: _carried_over(_row(guess, key), list(row), kinds, _shown(learned, key))
        for key, row in learned.task_ns.items()
        if key[0] == device
    }
    return replace(learned, task_ns={**learned.task_ns, **changed})


def _shown(learned: ServiceTimes, key: tuple[int, int]) -> set[int]:
    groups = (group for group in learned.measured if (group.device, group.width) == key)
    return {task for group in groups for task in group.tasks}


def _carried_over(
    before: _Row, after: list[int | None], kinds: Sequence[str], shown: set[int]
) -> list[int | None]:
    sums: dict[str, tuple[float, int]] = {}
    for task in shown:
        was_ns, is_ns = sums.get(kinds[task], (0.0, 0))
        sums[kinds[task]] = was_ns + float(before[task]), is_ns + (after[task] or 0)
    factor = {kind: is_ns / was_ns for kind, (was_ns, is_ns) in sums.items() if was_ns}
    return [
        ns if ns is None or task in shown else round(before[task] * factor.get(kinds[task], 1.0))
        for task, ns in enumerate(after)
    ]
