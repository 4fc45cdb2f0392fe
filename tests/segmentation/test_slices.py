from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.service import ServiceTimes
from surplus.engine.segmentation.slices import sliced
from surplus.placement.problem import Device, Problem, Task, Tensor

US = 1_000


def problem(times_us: list[int], edges: list[tuple[int, int]], sizes: list[int]) -> Problem:
    """Tasks of one CPU of two lanes; one tensor of the given bytes a task."""
    tasks = tuple(Task(f"t{i}", "Op", (us * US,)) for i, us in enumerate(times_us))
    tensors = tuple(
        Tensor(f"v{i}", i, tuple(sorted({b for a, b in edges if a == i})), size)
        for i, size in enumerate(sizes)
    )
    return Problem("p", (Device("cpu", 2),), (), tasks, tensors)


def chain(times_us: list[int], sizes: list[int]) -> Problem:
    return problem(times_us, [(i, i + 1) for i in range(len(times_us) - 1)], sizes)


def test_a_chain_is_cut_where_the_least_crosses() -> None:
    # Two slices of about 400 µs; 300 to 500 µs is near enough, and v2 is the smallest there.
    made = chain([100] * 8, [9, 9, 1, 9, 9, 2, 9, 9])
    whole = GroupGraph(made, [TaskGroup(tuple(range(8)), 0)])
    service = ServiceTimes.of(made)
    found = sliced(whole, service, 500 * US)
    assert [group.tasks for group in found.groups] == [(0, 1, 2), (3, 4, 5, 6, 7)]


def test_long_operators_are_slices_of_their_own() -> None:
    # Places are 500 µs apart and slices 100: every place is the nearest one of some cut.
    made = chain([500, 500, 20, 500], [1] * 4)
    found = sliced(GroupGraph(made, [TaskGroup((0, 1, 2, 3), 0)]), ServiceTimes.of(made), 100 * US)
    assert [group.tasks for group in found.groups] == [(0,), (1,), (2,), (3,)]


def test_short_groups_and_single_tasks_stay() -> None:
    made = chain([100, 5_000], [1, 1])
    groups = GroupGraph(made, [TaskGroup((0,), 0), TaskGroup((1,), 0)])
    assert sliced(groups, ServiceTimes.of(made), 200 * US).groups == groups.groups


def test_slices_keep_device_and_width() -> None:
    made = chain([100] * 4, [1] * 4)
    service = ServiceTimes({(0, 1): [100 * US] * 4, (0, 2): [60 * US] * 4})
    found = sliced(GroupGraph(made, [TaskGroup((0, 1, 2, 3), 0, 2)]), service, 140 * US)
    assert [(g.tasks, g.width) for g in found.groups] == [((0, 1), 2), ((2, 3), 2)]


def test_a_slice_takes_time() -> None:
    made = chain([100], [1])
    with pytest.raises(ValueError, match="slice_ns must be > 0"):
        sliced(GroupGraph(made, [TaskGroup((0,), 0)]), ServiceTimes.of(made), 0)


@given(st.data())
def test_slices_of_any_groups_are_acyclic_and_whole(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 14))
    edges = [(a, b) for b in range(count) for a in range(b) if data.draw(st.booleans())]
    times = [data.draw(st.integers(1, 900)) for _ in range(count)]
    made = problem(times, edges, [data.draw(st.integers(0, 50)) for _ in range(count)])
    cut = data.draw(st.integers(0, count))
    parts = [part for part in (range(cut), range(cut, count)) if part]
    graph = GroupGraph(made, [TaskGroup(tuple(part), 0) for part in parts])
    found = sliced(graph, ServiceTimes.of(made), data.draw(st.integers(1, 1_000)) * US)
    assert sorted(task for group in found.groups for task in group.tasks) == list(range(count))
    assert len(found.groups) >= len(graph.groups)
