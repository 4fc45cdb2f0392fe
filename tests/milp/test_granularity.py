"""Bounds are rounded up to what shortest makespans are multiples of."""

from dataclasses import replace

import pytest

from surplus.milp import SolveParams, Status, solve
from surplus.milp.bounds import combinatorial_bound_ns
from surplus.milp.granularity import granularity_ns, rounded_up
from surplus.placement.problem import Device, Link, Problem, Task, Tensor
from tests.milp.problems import two_devices
from tests.placement.exhaustive_schedule import instance, optimum

SEVEN = 7


def in_sevens(seed):
    """A random problem whose times are multiples of 7 ns; 7 ns a byte."""
    problem = instance(seed)
    tasks = tuple(
        replace(
            task,
            service_ns=tuple(None if ns is None else SEVEN * ns for ns in task.service_ns),
            spread_ns=(),
        )
        for task in problem.tasks
    )
    links = tuple(
        replace(link, latency_ns=SEVEN * link.latency_ns, occupancy_ns=0, bytes_per_s=1e9 / SEVEN)
        for link in problem.links
    )
    return replace(problem, tasks=tasks, links=links)


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_the_shortest_makespan_is_a_multiple(first):
    for seed in range(first, first + 100):
        problem = in_sevens(seed)
        found, best_ns = granularity_ns(problem), optimum(problem).makespan_ns
        assert found % SEVEN == 0 or best_ns == 0, seed  # 1 where nothing takes time
        assert best_ns % found == 0, seed
        assert rounded_up(combinatorial_bound_ns(problem), found) <= best_ns, seed


def test_every_time_counts():
    def of(**device):
        devices = (Device("cpu"), Device("gpu", 2, "gpu", **device))
        links = (Link("host", "gpu", 40, 1e9, 20), Link("gpu", "host", 40, 1e9, 20))
        tasks = tuple(Task(str(i), "", (30, 60)) for i in range(2))
        return Problem("p", devices, links, tasks, (Tensor("t", 0, (1,), 100),))

    assert granularity_ns(of()) == 10
    assert granularity_ns(of(submit_ns=5)) == 5
    assert granularity_ns(of(slowdown=(1.0, 1.1))) == 2  # 66 on the GPU
    one = of()
    assert granularity_ns(replace(one, tensors=(Tensor("t", 0, (1,), 102),))) == 2
    assert granularity_ns(replace(one, tensors=(Tensor("t", 0, (1,), 0),))) == 30
    launched = replace(one.tasks[0], launch_ns=(0, 4))
    assert granularity_ns(replace(one, tasks=(launched, one.tasks[1]))) == 2
    wider = replace(one.tasks[0], wider_ns=((), ((2, 25),)))
    assert granularity_ns(replace(one, tasks=(wider, one.tasks[1]))) == 5


def test_rounding_is_the_proof_where_work_does_not_divide():
    problem = two_devices([(10, 10)] * 3)  # 15 a device, and no task is half done
    result = solve(problem, SolveParams(time_limit_s=600, threads=1))
    assert (result.status, result.makespan_ns, result.bound_ns) == (Status.OPTIMAL, 20, 20)
    assert "meets the lower bound" in result.message
