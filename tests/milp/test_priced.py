from surplus.milp.bounds import combinatorial_bound_ns
from surplus.milp.deadline import Deadline
from surplus.milp.priced import priced_placement
from surplus.milp.windows import eligible_devices
from surplus.placement import make_policy
from surplus.placement.evaluator import makespan_ns
from surplus.placement.random_graphs import DetectorParams, detector
from tests.milp.clock import Clock
from tests.milp.problems import two_devices


def test_many_small_branches_are_shared_out_better_than_by_heft():
    problem = detector(0, DetectorParams(5, 1, 40, 4))
    placed = priced_placement(problem, eligible_devices(problem), Deadline.after(60))
    placed.check(problem)
    heft = make_policy("heft").place(problem)
    assert makespan_ns(problem, placed) < makespan_ns(problem, heft)


def test_independent_tasks_reach_the_bound():
    problem = two_devices([(100 + i, 150 - i) for i in range(60)])
    placed = priced_placement(problem, eligible_devices(problem), Deadline.after(60))
    assert makespan_ns(problem, placed) <= 1.03 * combinatorial_bound_ns(problem)


def test_devices_that_are_ruled_out_are_not_used():
    problem = two_devices([(10, 10)] * 4)
    devices = [(0,), (0, 1), (1,), (0, 1)]
    placed = priced_placement(problem, devices, Deadline.after(60))
    assert all(d in choices for d, choices in zip(placed.device_of, devices, strict=True))


def test_nothing_to_choose_or_no_time():
    problem = two_devices([(10, None), (None, 10)])
    assert priced_placement(problem, eligible_devices(problem), Deadline.after(60)) is None
    free = two_devices([(10, 10)] * 3)
    assert priced_placement(free, eligible_devices(free), Deadline.after(0, Clock())) is None
