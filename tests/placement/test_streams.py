"""One submitting thread, lanes that slow each other, staged and pageable copies: by hand."""

import random
from dataclasses import replace

import pytest

from surplus.placement.simulator import simulate
from surplus.placement.timeline import Timeline
from surplus.placement.validator import Rule, check, validate
from tests.placement.hand_problems import GPU, copy_times, cpu_gpu, on, task_times


def gpu_only(times, edges=(), *, lanes=1, submit_ns=0, slowdown=(), launch_ns=None, widths=None):
    """Tasks that only the GPU runs; edges without bytes unless given three values."""
    edges = [edge if len(edge) == 3 else (*edge, 0) for edge in edges]
    wide = {task: (1, width) for task, width in (widths or {}).items()}
    problem = cpu_gpu([(None, t) for t in times], edges, gpu_lanes=lanes, widths=wide)
    host, gpu = problem.devices
    gpu = replace(gpu, submit_ns=submit_ns, slowdown=slowdown)
    tasks = [
        replace(task, launch_ns=(0, (launch_ns or {}).get(i, 0)))
        for i, task in enumerate(problem.tasks)
    ]
    return replace(problem, devices=(host, gpu), tasks=tuple(tasks))


def run(problem, priority=None):
    placement = on([GPU] * len(problem.tasks), priority)
    timeline = simulate(problem, placement)
    check(problem, placement, timeline)
    return timeline


def starts(timeline):
    return [start for _, start, _ in task_times(timeline)]


def test_the_first_submission_delays_and_the_others_hide_behind_it():
    # submit  0-3 A, 3-6 B, then the lane has one behind it: C is submitted when A ends.
    # lane    ... AAAAA BBBBB CCCCC
    assert starts(run(gpu_only([5, 5, 5], submit_ns=3))) == [3, 8, 13]


def test_tasks_shorter_than_their_submission_wait_for_the_thread():
    assert starts(run(gpu_only([1, 1, 1, 1], submit_ns=3))) == [3, 6, 9, 12]


def test_a_successor_is_submitted_while_its_predecessor_runs():
    assert starts(run(gpu_only([5, 5, 5], [(0, [1]), (1, [2])], submit_ns=3))) == [3, 8, 13]


def test_one_thread_serves_all_lanes_in_turn():
    assert starts(run(gpu_only([50] * 4, lanes=4, submit_ns=3))) == [3, 6, 9, 12]


def test_a_successor_on_another_lane_waits_for_the_last_of_its_predecessors():
    # A 3-13 on lane 0, B 6-11 on lane 1; C needs both and goes behind A, where no gap is.
    timeline = run(gpu_only([10, 5, 2], [(0, [2]), (1, [2])], lanes=2, submit_ns=3))
    assert task_times(timeline)[2] == (13, 13, 15)
    assert {s.name: s.lanes for s in timeline} == {"t0": (0,), "t1": (1,), "t2": (0,)}


def test_what_waits_for_a_copy_is_not_submitted_ahead():
    # The input of B arrives at 20, long after A ended at 8: submission 20-23.
    timeline = run(gpu_only([5, 5], [(-1, [1], 20)], submit_ns=3))
    assert starts(timeline) == [3, 23]


def test_launching_operators_one_by_one_holds_the_thread():
    # A can start at 1, but its launches hold the thread until 5: B is submitted 5-6.
    assert starts(run(gpu_only([6, 6], lanes=2, submit_ns=1, launch_ns={0: 4}))) == [1, 6]
    assert starts(run(gpu_only([6, 6], lanes=2, submit_ns=1))) == [1, 2]


def test_lanes_that_start_together_slow_each_other_alike():
    timeline = run(gpu_only([10, 10, 10], lanes=2, slowdown=(1.0, 1.5)))
    assert task_times(timeline) == [(0, 0, 15), (0, 0, 15), (0, 15, 25)]


def test_the_factor_is_that_of_the_start_and_the_last_one_holds_on():
    timeline = run(gpu_only([10, 10, 10], lanes=3, submit_ns=1, slowdown=(1.0, 2.0)))
    assert [(s, e) for _, s, e in task_times(timeline)] == [(1, 11), (2, 22), (3, 23)]


def test_the_judge_knows_the_factor():
    problem = gpu_only([10, 10], lanes=2, slowdown=(1.0, 1.5))
    placement = on([GPU, GPU])
    timeline = simulate(problem, placement)
    shorter = [replace(s, end_ns=s.end_ns - 5) for s in timeline]
    found = validate(problem, placement, Timeline.of(shorter, "too fast"))
    assert {violation.rule for violation in found} == {Rule.DURATION}


def test_a_wide_task_waits_for_idle_lanes_and_holds_the_others_back():
    timeline = run(gpu_only([10, 5, 5], lanes=2, submit_ns=1, widths={1: 2}))
    assert starts(timeline) == [1, 12, 17]


def test_urgent_readers_get_their_copies_first():
    problem = gpu_only([1, 1], [(-1, [0], 10), (-1, [1], 10)], lanes=2)
    timeline = run(problem, priority=(1, 0))
    assert [(row[0], row[3]) for row in copy_times(timeline)] == [(1, 0), (0, 10)]


def _linked(problem, **changes):
    links = tuple(replace(link, **changes) for link in problem.links)
    return replace(problem, links=links)


@pytest.mark.parametrize(("pool", "second"), [(None, 10), (20, 10), (19, 14), (5, 14)])
def test_copies_wait_for_the_staging_pool(pool, second):
    problem = gpu_only([1, 1], [(-1, [0], 10), (-1, [1], 10)])
    timeline = run(_linked(problem, staging_bytes=pool, latency_ns=4))
    assert [row[3] for row in copy_times(timeline)] == [0, second]


def test_pageable_copies_keep_the_thread_from_submitting():
    problem = gpu_only([5, 5], [(-1, [1], 20)], lanes=2, submit_ns=3)
    assert starts(run(problem)) == [3, 23]
    assert starts(run(_linked(problem, pageable=True))) == [23, 26]


def test_random_problems_keep_all_rules():
    random_ = random.Random(4)
    for _ in range(60):
        count = random_.randrange(2, 30)
        edges = []
        for task in range(count - 1):
            readers = {random_.randrange(task + 1, count) for _ in range(random_.randrange(3))}
            edges.append((task, sorted(readers), random_.choice([0, 7])))
        times = [random_.randrange(1, 40) for _ in range(count)]
        problem = gpu_only(
            times,
            edges,
            lanes=random_.randrange(1, 5),
            submit_ns=random_.choice([0, 1, 9]),
            slowdown=random_.choice([(), (1.0, 1.5, 1.7)]),
            launch_ns={i: random_.randrange(5) for i in range(count)},
        )
        problem = replace(
            problem,
            tasks=tuple(replace(t, service_ns=(50, t.service_ns[1])) for t in problem.tasks),
        )
        problem = _linked(problem, staging_bytes=random_.choice([None, 10]))
        placement = on([random_.randrange(2) for _ in range(count)])
        timeline = simulate(problem, placement)
        check(problem, placement, timeline)
        assert timeline == simulate(problem, placement)
