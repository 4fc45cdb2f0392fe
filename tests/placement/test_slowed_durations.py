"""Which durations the validator takes for right where lanes slow each other."""

import random
from dataclasses import replace

import pytest

from surplus.placement.random_disturbances import small_disturbed
from surplus.placement.simulator import simulate
from surplus.placement.timeline import Span, SpanKind, Timeline
from surplus.placement.validator import Rule, validate
from tests.placement.exhaustive import able_devices
from tests.placement.hand_problems import GPU, cpu_gpu, on


def rules(rows, services, slowdown=(1.0, 1.5, 2.0)):
    """Rules that GPU tasks (lane, start, end) of these service times break."""
    plain = cpu_gpu([(None, t) for t in services], gpu_lanes=3)
    host, gpu = plain.devices
    problem = replace(plain, devices=(host, replace(gpu, slowdown=slowdown)))
    spans = [
        Span(SpanKind.TASK, i, f"t{i}", "Op", "gpu", (lane,), start, start, end)
        for i, (lane, start, end) in enumerate(rows)
    ]
    found = validate(problem, on([GPU] * len(rows)), Timeline(tuple(spans), "made"))
    return [violation.rule for violation in found]


@pytest.mark.parametrize(
    ("rows", "right"),
    [
        # Together, or one after the other at one instant, in either order; but not both alone.
        ([(0, 0, 15), (1, 0, 15)], True),
        ([(0, 0, 10), (1, 0, 15)], True),
        ([(0, 0, 15), (1, 0, 10)], True),
        ([(0, 0, 10), (1, 0, 10)], False),
        # Nobody else is there, or three are.
        ([(0, 0, 15)], False),
        ([(0, 0, 20), (1, 0, 20), (2, 0, 20)], True),
        ([(0, 0, 10), (1, 0, 20), (2, 0, 20)], True),
        ([(0, 0, 10), (1, 0, 15), (2, 0, 15)], False),
        # Who began before is busy, who ends then is not.
        ([(0, 0, 10), (1, 9, 24)], True),
        ([(0, 0, 10), (1, 9, 19)], False),
        ([(0, 0, 10), (1, 10, 20)], True),
        ([(0, 0, 10), (1, 10, 25)], False),
    ],
)
def test_some_order_has_to_explain_each_duration(rows, right):
    assert (rules(rows, [10] * len(rows)) == []) == right
    assert set(rules(rows, [10] * len(rows))) <= {Rule.DURATION}


@pytest.mark.parametrize("end", [10, 15, 20, 25])
def test_tasks_without_length_may_be_over_or_not_when_another_starts(end):
    # Two of them start with the one of 10: it may have found one to three lanes busy.
    assert (rules([(0, 0, 0), (1, 0, 0), (2, 0, end)], [0, 0, 10]) == []) == (end < 25)


def test_tasks_without_length_do_not_keep_each_others_lane():
    assert rules([(0, 0, 0), (0, 0, 0), (0, 0, 10)], [0, 0, 10]) == []


def timelines(seed):
    """A random problem, a placement, and what the simulator makes of it."""
    choice = random.Random(seed)
    problem = small_disturbed(seed, 8)
    devices = [choice.choice(able) for able in able_devices(problem)]
    placement = on(devices, choice.sample(range(8), 8))
    return problem, placement, simulate(problem, placement)


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_whatever_the_simulator_makes_is_valid(first):
    for seed in range(first, first + 50):
        problem, placement, timeline = timelines(seed)
        assert validate(problem, placement, timeline) == [], seed


def test_a_duration_that_no_number_of_lanes_explains_is_found():
    found = 0
    for seed in range(200):
        problem, placement, timeline = timelines(seed)
        last = max((s for s in timeline if s.kind == "task"), key=lambda s: (s.end_ns, s.index))
        device = problem.devices[placement.device_of[last.index]]
        service_ns = problem.tasks[last.index].service_ns[placement.device_of[last.index]]
        longer = last.duration_ns + 1
        if longer in {device.slowed_ns(service_ns, n) for n in range(1, device.lanes + 1)}:
            continue
        spans = [replace(s, end_ns=s.end_ns + 1) if s == last else s for s in timeline]
        wrong = validate(problem, placement, Timeline(tuple(spans), "edited"))
        assert Rule.DURATION in {violation.rule for violation in wrong}, seed
        found += 1
    assert found > 100
