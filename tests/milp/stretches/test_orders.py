import pytest

from surplus.milp.incumbent import make_incumbent
from surplus.milp.stretches.orders import PlannedOrders
from tests.milp.problems import edge, two_devices
from tests.milp.stretches.plans import orders

# t0 on the CPU, 5 and 7 to bring 7 bytes to the GPU, where t1 ran before t2.
PROBLEM = two_devices([(10, None), (None, 30), (None, 4)], [edge(0, 2, size=7)])
PLAN = make_incumbent(PROBLEM, [0, 1, 1], [0, 0, 30], "by hand")


def test_what_is_left_of_a_plan_after_each_start() -> None:
    planned = PlannedOrders(PROBLEM, PLAN)
    (copy,) = planned.copies[0]
    assert planned.order == (0, 1, 2)
    assert planned.rest_ns == {0: 10 + 12 + 4, copy: 12 + 4, 1: 30 + 4, 2: 4}
    assert planned.on_lanes == {("cpu", 0): [0], ("gpu", 0): [1, 2]}
    assert planned.on_links == {"host->gpu": [copy]}


@pytest.mark.parametrize("first", range(0, 600, 100))
def test_no_way_through_a_plan_is_longer_than_the_plan(first: int) -> None:
    for seed in range(first, first + 100):
        planned = orders(seed)
        spans, rest = planned.spans, planned.rest_ns
        for step in planned.steps:
            assert spans[step.first].start_ns + step.lag_ns <= spans[step.then].start_ns, seed
        longest = max((spans[node].start_ns + rest[node] for node in spans), default=0)
        assert longest == planned.found.makespan_ns, seed
