"""Moldable tasks in the simulator, against schedules drawn by hand.

Each drawing has a column a nanosecond (or as it says) and a row a lane; a letter is a task, a dot
an idle lane, and the same letter in w rows is one task of width w.
"""

import pytest

from surplus.engine.segmentation.coarse import predict
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.simulator import SimulatorParams, simulate
from surplus.placement.validator import check
from tests.placement.hand_problems import CPU, GPU, copy_times, cpu_gpu, on, task_times


def cpu_only(times, edges=(), *, lanes, widths=None):
    """Tasks that only the CPU runs; ``widths`` by task, 1 where it says nothing."""
    wide = {task: (width, 1) for task, width in (widths or {}).items()}
    return cpu_gpu([(t, None) for t in times], edges, cpu_lanes=lanes, widths=wide)


def starts_and_ends(timeline):
    return [(start, end) for _, start, end in task_times(timeline)]


def lanes_of(timeline):
    return {span.name: span.lanes for span in timeline if span.kind == "task"}


def run(problem, priority=None, order="priority"):
    """Simulate on the CPU, and let the judge look at it."""
    placement = on([CPU] * len(problem.tasks), priority)
    timeline = simulate(problem, placement, SimulatorParams(order))
    check(problem, placement, timeline)
    return timeline


def test_two_of_width_two_fit_on_four_lanes_and_the_third_waits():
    # lane 0  A A A A C C        A: 4 ns, B: 6 ns, C: 2 ns, each two lanes wide.
    # lane 1  A A A A C C        C takes A's lanes at 4, not B's.
    # lane 2  B B B B B B
    # lane 3  B B B B B B
    timeline = run(cpu_only([4, 6, 2], lanes=4, widths={0: 2, 1: 2, 2: 2}))
    assert starts_and_ends(timeline) == [(0, 4), (0, 6), (4, 6)]
    assert lanes_of(timeline) == {"t0": (0, 1), "t1": (2, 3), "t2": (0, 1)}
    assert timeline.busy_ns("cpu") == 2 * (4 + 6 + 2)


def test_a_wide_task_takes_whichever_lanes_are_free():
    # lane 0  A A A . . . D      C ends at 2, A at 3, B at 6. D (width 2) wants two lanes:
    # lane 1  B B B B B B .      at 2 there is only lane 2, at 3 also lane 0, so D holds 0 and 2.
    # lane 2  C C . D ...
    timeline = run(cpu_only([3, 6, 2, 4], lanes=3, widths={3: 2}))
    assert starts_and_ends(timeline) == [(0, 3), (0, 6), (0, 2), (3, 7)]
    assert lanes_of(timeline)["t3"] == (0, 2)


def test_narrow_tasks_that_end_in_time_start_before_a_wide_one():
    # lane 0  A A A A A B B D D D D D D    B (all three lanes) is next in rank and waits until 5. C
    # lane 1  C C C C C B B . . . . . .    ends by then, E too; D, before E in rank, does not.
    # lane 2  E . . . . B B . . . . . .
    timeline = run(cpu_only([5, 2, 5, 6, 1], lanes=3, widths={1: 3}))
    assert starts_and_ends(timeline) == [(0, 5), (5, 7), (0, 5), (7, 13), (0, 1)]


def test_a_more_urgent_narrow_task_goes_before_a_wide_one():
    # The same with C before B in rank.
    # lane 0  A A A A A B B
    # lane 1  C . . . . B B
    # lane 2  . . . . . B B
    timeline = run(cpu_only([5, 2, 1], lanes=3, widths={1: 3}), [0, 2, 1])
    assert starts_and_ends(timeline) == [(0, 5), (5, 7), (0, 1)]


def test_lanes_that_become_free_at_one_instant_are_counted_together():
    # lane 0  A A A C C .        A and B end at 3, and only then anything starts. If A's lane were
    # lane 1  B B B C C .        offered by itself, C (rank 3, two lanes) would close the gate and
    # lane 2  D D D D E E        still start at 3; E (rank 4), behind it, at 4 on D's lane.
    timeline = run(cpu_only([3, 3, 2, 4, 2], lanes=3, widths={2: 2}), [0, 1, 3, 2, 4])
    assert starts_and_ends(timeline) == [(0, 3), (0, 3), (3, 5), (0, 4), (4, 6)]
    assert lanes_of(timeline)["t2"] == (0, 1)


def test_wide_tasks_follow_each_other():
    # lane 0  A B B C C C D D    B and C take both lanes, in rank order; D comes last although
    # lane 1  . B B C C C . .    lane 1 is free at 0: it would delay B.
    timeline = run(cpu_only([1, 2, 3, 2], lanes=2, widths={1: 2, 2: 2}))
    assert starts_and_ends(timeline) == [(0, 1), (1, 3), (3, 6), (6, 8)]


def test_a_wide_task_that_is_not_ready_closes_no_gate():
    # C (two lanes, rank 2) needs B's tensor: until 4 nobody waits for two lanes.
    # lane 0  A A D D C C E E    D (rank 3) starts at 2. At 4 C is ready and both lanes are free;
    # lane 1  B B B B C C . .    E (rank 4) goes behind it.
    problem = cpu_only([2, 4, 2, 2, 2], [(1, [2], 0)], lanes=2, widths={2: 2})
    timeline = run(problem, [0, 1, 2, 3, 4])
    assert starts_and_ends(timeline) == [(0, 2), (0, 4), (4, 6), (2, 4), (6, 8)]


def test_a_wide_task_without_duration_still_needs_its_lanes():
    # lane 0  A A A C C C C      B takes no time but both lanes: it passes at 3, when A is done,
    # lane 1  . . .              and C, behind it, starts at that same instant on lane 0.
    timeline = run(cpu_only([3, 0, 4], lanes=2, widths={1: 2}))
    assert starts_and_ends(timeline) == [(0, 3), (3, 3), (3, 7)]


def test_fifo_and_priority_differ_where_two_wide_tasks_wait():
    # Both lanes are A's until 5. B (rank 3) is ready at 0; C (rank 2) at 3, when P on the GPU ends.
    # by rank  A A A A A C C B    by time  A A A A A B C C    on both lanes.
    problem = cpu_gpu(
        [(9, 3), (5, 9), (1, 9), (2, 9)],
        [(0, [3], 0)],
        cpu_lanes=2,
        widths={1: (2, 1), 2: (2, 1), 3: (2, 1)},
    )
    placement = on([GPU, CPU, CPU, CPU], [0, 1, 3, 2])
    by_rank = simulate(problem, placement)
    assert task_times(by_rank) == [(0, 0, 3), (0, 0, 5), (0, 7, 8), (3, 5, 7)]
    by_time = simulate(problem, placement, SimulatorParams("fifo"))
    assert task_times(by_time) == [(0, 0, 3), (0, 0, 5), (0, 5, 6), (3, 6, 8)]


def test_one_devices_gate_does_not_close_another():
    # B waits for both CPU lanes until 8; C and D, less urgent, run on the GPU meanwhile, two at
    # a time: D ends at 3, E (width 2 there) waits for C's end at 4.
    problem = cpu_gpu(
        [(8, 9), (1, 9), (9, 4), (9, 3), (9, 2)],
        cpu_lanes=2,
        gpu_lanes=2,
        widths={1: (2, 1), 4: (1, 2)},
    )
    timeline = simulate(problem, on([CPU, CPU, GPU, GPU, GPU]))
    assert starts_and_ends(timeline) == [(0, 8), (8, 9), (0, 4), (0, 3), (4, 6)]
    assert lanes_of(timeline)["t4"] == (0, 1)


def test_a_width_is_that_of_the_device_where_the_task_runs():
    # Two lanes wide on the CPU, one on the GPU: there both run side by side.
    wide = {0: (2, 1), 1: (2, 1)}
    problem = cpu_gpu([(3, 5), (3, 5)], cpu_lanes=2, gpu_lanes=2, widths=wide)
    assert starts_and_ends(simulate(problem, on([CPU, CPU]))) == [(0, 3), (3, 6)]
    assert starts_and_ends(simulate(problem, on([GPU, GPU]))) == [(0, 5), (0, 5)]


def test_a_wide_task_waits_for_its_copy_and_then_for_its_lanes():
    # GPU: A until 10. Its 20 bytes hold the link for 3 + 20 ns and arrive 5 ns later, at 38.
    # CPU lane 0: C 0..30, D 30..60; lane 1: E 0..40. At 38 B (width 2, most urgent) is ready and
    # waits when a lane comes free, at 40; both are free at 60. F, which ends at 45, goes before it.
    problem = cpu_gpu(
        [(99, 10), (7, 99), (30, 99), (30, 99), (40, 99), (5, 99)],
        [(0, [1], 20)],
        cpu_lanes=2,
        latency_ns=5,
        occupancy_ns=3,
        widths={1: (2, 1)},
    )
    timeline = simulate(problem, on([GPU, CPU, CPU, CPU, CPU, CPU], [0, 1, 2, 4, 3, 5]))
    assert copy_times(timeline) == [(0, "gpu->host", 10, 10, 38)]
    assert task_times(timeline) == [
        (0, 0, 10),
        (38, 60, 67),
        (0, 0, 30),
        (0, 30, 60),
        (0, 0, 40),
        (0, 40, 45),
    ]


def test_wide_tasks_push_their_copies_one_after_another():
    # CPU: A (2 lanes) 0..4, then B (2 lanes) 4..6. Link of 1 byte/ns and 2 ns latency: A's 10
    # bytes 4..14, there at 16; B's 10 bytes wait for the link until 14, hold it until 24, are
    # there at 26. GPU (one lane): C 16..21, D 26..31.
    problem = cpu_gpu(
        [(4, 99), (2, 99), (99, 5), (99, 5)],
        [(0, [2], 10), (1, [3], 10)],
        cpu_lanes=2,
        latency_ns=2,
        widths={0: (2, 1), 1: (2, 1)},
    )
    timeline = simulate(problem, on([CPU, CPU, GPU, GPU]))
    assert copy_times(timeline) == [
        (0, "host->gpu", 4, 4, 16),
        (1, "host->gpu", 6, 14, 26),
    ]
    assert task_times(timeline)[2:] == [(16, 16, 21), (26, 26, 31)]


# --- moldable groups: the same work at another width, with what a start costs ---

BOUNDARY_NS, WIDE_BOUNDARY_NS = 10, 30


def moldable(narrow, wide, edges, groups, fusion=None):
    """Predicted (start, end) of groups (tasks, width) on two CPU lanes."""
    problem = cpu_gpu([(t, None) for t in narrow], [(a, b, 0) for a, b in edges], cpu_lanes=2)
    times = {(CPU, 1): list(narrow), (CPU, 2): list(wide), (GPU, 1): [None] * len(narrow)}
    service = ServiceTimes(
        times, fusion or {}, boundary_ns=BOUNDARY_NS, wide_boundary_ns=WIDE_BOUNDARY_NS
    )
    graph = GroupGraph(problem, [TaskGroup(tuple(tasks), CPU, width) for tasks, width in groups])
    return starts_and_ends(predict(graph, service))


FORK = [(0, [1, 2]), (1, [3]), (2, [3])]
"""A feeds B and C, which feed D."""


def test_a_fork_side_by_side():
    # lane 0  A B D              A: 100 + 10. B and C: 60 + 10 each, at once. D: 20 + 10.
    # lane 1  . C .              110 + 70 + 30 = 210.
    groups = [([task], 1) for task in range(4)]
    found = moldable([100, 60, 60, 20], [50, 60, 60, 20], FORK, groups)
    assert found == [(0, 110), (110, 180), (110, 180), (180, 210)]


def test_a_fork_with_a_wide_head():
    # A on both lanes: 50 + 30 instead of 100 + 10, the rest as before: 210 - 30 = 180.
    groups = [([0], 2), ([1], 1), ([2], 1), ([3], 1)]
    found = moldable([100, 60, 60, 20], [50, 60, 60, 20], FORK, groups)
    assert found == [(0, 80), (80, 150), (80, 150), (150, 180)]


def test_a_fork_all_wide():
    # B and C take both lanes one after the other: 80 + (60 + 30) * 2 + (20 + 30) = 310.
    groups = [([task], 2) for task in range(4)]
    found = moldable([100, 60, 60, 20], [50, 60, 60, 20], FORK, groups)
    assert found == [(0, 80), (80, 170), (170, 260), (260, 310)]


def test_a_fork_as_one_wide_group():
    # One start and fusion at half the work: (50 + 60 + 60 + 20) / 2 + 30 = 125.
    found = moldable(
        [100, 60, 60, 20], [50, 60, 60, 20], FORK, [([0, 1, 2, 3], 2)], {(CPU, 2): 0.5}
    )
    assert found == [(0, 125)]


@pytest.mark.parametrize(
    ("wide_ns", "expected"),
    [
        # Two independent tasks of 60: side by side 70 each. Wide: twice (wide + 30) in a row.
        (5, [(0, 35), (35, 70)]),  # twelve times faster on two lanes: a draw
        (30, [(0, 60), (60, 120)]),  # twice as fast: what the wide start costs is lost
    ],
)
def test_two_tasks_wide_in_a_row(wide_ns, expected):
    assert moldable([60, 60], [wide_ns] * 2, [], [([0], 2), ([1], 2)]) == expected
    assert moldable([60, 60], [wide_ns] * 2, [], [([0], 1), ([1], 1)]) == [(0, 70), (0, 70)]
