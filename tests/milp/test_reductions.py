import pytest

from surplus.milp.incumbent import best_of
from surplus.milp.load_cuts import load_cuts
from surplus.milp.reductions import fix_devices, reduce_problem
from surplus.milp.starts import known_incumbents
from surplus.milp.windows import eligible_devices, time_windows
from surplus.placement import SpanKind
from surplus.placement.random_graphs import (
    DetectorParams,
    MachineParams,
    detector,
    inception,
    small_random,
)

PROBLEMS = [
    *(small_random(seed, 9) for seed in range(10)),
    *(
        detector(seed, DetectorParams(5, 1, 8, 2), MachineParams(lanes))
        for seed, lanes in [(0, 1), (1, 3)]
    ),
    *(inception(seed, 3, 4, 3, MachineParams(2)) for seed in range(2)),
]


def schedules(problem):
    """Known schedules of several policies, as (placement, task spans)."""
    for incumbent in known_incumbents(problem, None):
        spans = {s.index: s for s in incumbent.timeline if s.kind is SpanKind.TASK}
        yield incumbent, spans


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_heads_and_tails_hold_in_every_known_schedule(problem):
    windows = time_windows(problem, eligible_devices(problem))
    for incumbent, spans in schedules(problem):
        for task, span in spans.items():
            device = incumbent.placement.device_of[task]
            assert windows.head_ns[task][device] <= span.start_ns
            assert windows.tail_ns[task][device] <= incumbent.makespan_ns - span.end_ns


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_fixings_keep_every_schedule_within_the_bound(problem):
    for incumbent, _ in schedules(problem):
        windows = fix_devices(problem, incumbent.makespan_ns)
        for task, device in enumerate(incumbent.placement.device_of):
            assert device in windows.devices[task]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_dropped_pairs_do_not_meet_and_forced_orders_hold(problem):
    for incumbent, spans in schedules(problem):
        reduced = reduce_problem(problem, incumbent.makespan_ns)
        kept = {(p.first, p.second): p for p in reduced.pairs}
        for (i, a), (j, b) in ((x, y) for x in spans.items() for y in spans.items()):
            if i >= j or a.resource != b.resource or not {*a.lanes} & {*b.lanes}:
                continue
            pair = kept.get((i, j))
            if pair is None:
                assert a.end_ns <= b.start_ns or b.end_ns <= a.start_ns
            else:
                assert pair.forward or b.end_ns <= a.start_ns
                assert pair.backward or a.end_ns <= b.start_ns


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_load_cuts_hold_in_every_known_schedule(problem):
    for incumbent, spans in schedules(problem):
        windows = fix_devices(problem, incumbent.makespan_ns)
        for cut in load_cuts(problem, windows):
            begin = 0 if cut.after is None else spans[cut.after].end_ns
            end = incumbent.makespan_ns if cut.before is None else spans[cut.before].start_ns
            device = problem.devices[cut.device]
            work = sum(
                spans[i].duration_ns * len(spans[i].lanes)
                for i in cut.tasks
                if spans[i].resource == device.name
            )
            if cut.gated and not any(spans[i].resource == device.name for i in cut.tasks):
                continue
            assert (end - begin - cut.head_ns - cut.tail_ns) * device.lanes >= work


def test_a_bound_that_no_schedule_meets_is_refused():
    problem = detector(0, DetectorParams(5, 1, 8, 2))
    with pytest.raises(ValueError, match="no schedule of 10 ns"):
        fix_devices(problem, 10)


def test_reductions_pay():
    problem = detector(0, DetectorParams(20, 2, 10, 3))
    best = best_of(known_incumbents(problem, None))
    reduced = reduce_problem(problem, best.makespan_ns)
    free = sum(len(choices) > 1 for choices in reduced.windows.devices)
    assert free < len(problem.tasks)
    assert len(reduced.pairs) < len(problem.tasks) * (len(problem.tasks) - 1) // 2
