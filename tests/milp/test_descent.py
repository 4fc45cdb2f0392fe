import pytest

from surplus.milp.deadline import Deadline
from surplus.milp.descent import descended
from surplus.milp.windows import eligible_devices
from surplus.placement import Placement, make_policy
from surplus.placement.evaluator import makespan_ns
from surplus.placement.random_graphs import inception
from tests.milp.clock import Clock
from tests.milp.problems import two_devices


class Ticking(Clock):
    """A second passes each time that somebody looks."""

    def __call__(self) -> float:
        self.now_s += 1
        return self.now_s


def steps(count):
    return Deadline.after(count, Ticking())


@pytest.mark.parametrize("seed", range(5))
def test_a_plan_never_gets_longer(seed):
    problem = inception(seed, 2)
    start = make_policy("heft").place(problem)
    found = descended(problem, start, eligible_devices(problem), steps(20), seed)
    found.check(problem)
    assert makespan_ns(problem, found) <= makespan_ns(problem, start)


def test_a_bad_plan_gets_better_and_the_same_seed_goes_the_same_way():
    problem = inception(1, 3)
    start = Placement((0,) * len(problem.tasks), tuple(range(len(problem.tasks))), "all on cpu")
    devices = eligible_devices(problem)
    found = descended(problem, start, devices, steps(100), 3)
    assert makespan_ns(problem, found) < 0.9 * makespan_ns(problem, start)
    assert found == descended(problem, start, devices, steps(100), 3)


def test_tasks_keep_to_their_devices():
    problem = two_devices([(10, 10), (10, 10), (10, None)])
    start = Placement((0, 0, 0), (0, 1, 2), "start")
    found = descended(problem, start, [(0,), (0, 1), (0,)], steps(20))
    assert found.device_of == (0, 1, 0)


def test_no_time_leaves_the_plan():
    problem = two_devices([(10, 10), (10, 10)])
    start = Placement((0, 0), (0, 1), "start")
    found = descended(problem, start, [(0, 1), (0, 1)], Deadline.after(0, Clock()))
    assert (found.device_of, found.priority) == (start.device_of, start.priority)
