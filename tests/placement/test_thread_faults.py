"""What the validator knows of submitting threads and pinned pools."""

from dataclasses import replace

import pytest

from surplus.placement.simulator import simulate
from surplus.placement.timeline import Span, SpanKind, Timeline
from surplus.placement.validator import Rule, validate
from tests.placement.hand_problems import GPU, cpu_gpu, on


def rules(problem, spans, durations="exact"):
    placement = on([GPU] * len(problem.tasks))
    found = validate(problem, placement, Timeline(tuple(spans), "made"), durations)
    return {violation.rule for violation in found}


def gpu_tasks(starts, **gpu_changes):
    """GPU tasks of 10 on lanes of their own that start so, the first of which launches 4 more."""
    plain = cpu_gpu([(None, 10)] * len(starts), gpu_lanes=len(starts))
    host, gpu = plain.devices
    tasks = tuple(replace(t, launch_ns=(0, 0 if i else 4)) for i, t in enumerate(plain.tasks))
    problem = replace(plain, devices=(host, replace(gpu, **gpu_changes)), tasks=tasks)
    spans = [
        Span(SpanKind.TASK, i, f"t{i}", "Op", "gpu", (i,), start, start, start + 10)
        for i, start in enumerate(starts)
    ]
    return problem, spans


@pytest.mark.parametrize(
    ("starts", "right"),
    [
        # Submission 0-3, launches 3-7, submission 7-10; the other way round 0-3, 3-6.
        ([3, 10], True),
        ([2, 10], False),
        ([3, 9], False),
        ([6, 3], True),
        ([5, 3], False),
        ([3, 10, 13], True),
        ([3, 10, 12], False),
        ([99, 99, 99], True),
    ],
)
def test_one_thread_submits_one_task_after_another(starts, right):
    problem, spans = gpu_tasks(starts, submit_ns=3)
    assert rules(problem, spans) == (set() if right else {Rule.THREAD})
    assert rules(problem, spans, "any") == set()


@pytest.mark.parametrize(("pool", "right"), [(None, True), (20, True), (19, False), (5, False)])
def test_copies_share_a_pinned_pool_until_their_data_is_there(pool, right):
    # 0 to 10 and there 4 later; 10 to 20 and there 4 later.
    problem = cpu_gpu([(None, 1)], [(-1, [0], 10), (-1, [0], 10)], latency_ns=4)
    links = tuple(replace(link, staging_bytes=pool) for link in problem.links)
    limited = replace(problem, links=links)
    assert rules(limited, simulate(problem, on([GPU]))) == (set() if right else {Rule.STAGING})
    assert rules(limited, simulate(limited, on([GPU]))) == set()


def pageable(problem):
    return replace(problem, links=tuple(replace(link, pageable=True) for link in problem.links))


def test_a_thread_that_copies_does_not_submit():
    # The copy takes the thread from 0 to 20: what is submitted after it starts at 23.
    plain = cpu_gpu([(None, 5), (None, 5)], [(-1, [1], 20)], gpu_lanes=2)
    host, gpu = plain.devices
    pinned = replace(plain, devices=(host, replace(gpu, submit_ns=3)))
    early = simulate(pinned, on([GPU, GPU]))
    assert min(s.start_ns for s in early if s.kind == "task") == 3
    assert rules(pinned, early) == set()
    assert rules(pageable(pinned), early) == {Rule.THREAD}
    assert rules(pageable(pinned), simulate(pageable(pinned), on([GPU, GPU]))) == set()


def test_a_copy_without_length_may_follow_at_the_end_of_another():
    # Two outputs of t0: the first takes the link from 5 to 25, the other, of no time, at 25.
    problem = pageable(cpu_gpu([(None, 5)], [(0, [], 20, True), (0, [], 1, True)]))
    timeline = simulate(problem, on([GPU]))
    spans = [replace(s, end_ns=s.start_ns) if s.name == "x1" else s for s in timeline]
    assert rules(problem, spans) == {Rule.DURATION}


def test_a_thread_copies_one_way_at_a_time():
    # The output of t0 leaves while the input of t1 arrives.
    problem = cpu_gpu([(None, 5), (None, 5)], [(0, [], 20, True), (-1, [1], 20)], gpu_lanes=2)
    both = simulate(problem, on([GPU, GPU]))
    assert rules(problem, both) == set()
    assert rules(pageable(problem), both) == {Rule.THREAD}
