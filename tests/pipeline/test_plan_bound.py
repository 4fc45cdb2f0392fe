"""The bound that a plan shows must hold for fused and wide segments, and for times in place."""

import pytest

from surplus.engine.segmentation.best_case import best_case, bound_in_place_ns
from surplus.engine.segmentation.coarse import predict
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement import Device, Problem, Task, Tensor

PROBLEM = Problem(
    "chain",
    (Device("cpu", 2),),
    (),
    (Task("a", "Conv", (1000,)), Task("b", "Relu", (400,))),
    (Tensor("x", 0, (1,), 0), Tensor("y", 1, (), 0, is_output=True)),
)
SERVICE = ServiceTimes({(0, 1): [1000, 400], (0, 2): [600, 500]}, {(0, 1): 0.5, (0, 2): 1.5})


def test_the_bound_counts_widths_and_fusion():
    # a: half of 1000 beats 600; b: half of 400; a factor above 1 is not counted.
    assert [t.service_ns for t in best_case(PROBLEM, SERVICE).tasks] == [(500,), (200,)]


@pytest.mark.parametrize(
    ("measured_ns", "bound_ns"),
    [
        ({0: 500, 1: 200}, 700),  # as profiled
        ({0: 900, 1: 300}, 700),  # another plan may be as fast as the profile says
        ({0: 250, 1: 200}, 450),  # a takes half of what it was profiled at
        ({0: 250, 1: 900}, 450),
        ({0: 0, 1: 0}, 0),
    ],
)
def test_the_bound_follows_times_measured_in_place(measured_ns, bound_ns):
    groups = GroupGraph(PROBLEM, [TaskGroup((0,), 0), TaskGroup((1,), 0)])
    found_ns = bound_in_place_ns(groups, SERVICE, measured_ns)
    assert found_ns == bound_ns
    assert found_ns <= predict(groups, SERVICE, measured_ns).makespan_ns


def test_tasks_of_one_segment_share_its_gain():
    groups = GroupGraph(PROBLEM, [TaskGroup((0, 1), 0, 2)])
    assert bound_in_place_ns(groups, SERVICE, {0: 350}) == 350


def test_shares_do_not_add_up_what_was_rounded():
    count = 10
    problem = Problem(
        "chain",
        (Device("cpu"),),
        (),
        tuple(Task(f"t{i}", "Op", (199,)) for i in range(count)),
        tuple(Tensor(f"x{i}", i, (i + 1,), 0) for i in range(count - 1)),
    )
    service = ServiceTimes({(0, 1): [199] * count}, {(0, 1): 0.01})  # 1.99 ns each
    groups = GroupGraph(problem, [TaskGroup(tuple(range(count)), 0)])
    assert bound_in_place_ns(groups, service, {0: 9}) <= 9
