import json
from dataclasses import replace

from surplus.placement.problem import Device, Link, Problem, Task, Tensor
from surplus.placement.random_graphs import detector, small_random
from tests.placement.hand_problems import cpu_gpu

GOOD = {
    "format": "surplus-problem/1",
    "name": "two",
    "devices": [
        {"name": "cpu", "lanes": 2, "memory": "host", "memory_bytes": None},
        {"name": "gpu", "memory": "gpu", "memory_bytes": 1000},
    ],
    "links": [
        {"source": "host", "target": "gpu", "bytes_per_s": 1},
        {"source": "gpu", "target": "host", "latency_ns": 5},
    ],
    "tasks": [
        {"name": "a", "kind": "Op", "service_ns": [5, None], "widths": [2, 1]},
        {"name": "b", "kind": "Op", "service_ns": [5, 3], "default_device": 1},
    ],
    "tensors": [{"name": "x", "producer": 0, "consumers": [1], "size_bytes": 8, "is_output": True}],
}


def test_json_goes_round():
    for problem in (detector(1), *(small_random(seed, 10, 3) for seed in range(20))):
        assert Problem.from_json(problem.to_json()) == problem
    noted = replace(cpu_gpu([(1, 2)]), notes={"profile": "derived"})
    assert Problem.from_json(noted.to_json()).notes == {"profile": "derived"}


def test_defaults_may_be_left_out():
    problem = Problem.from_json(json.dumps(GOOD))
    assert problem.devices[1] == Device("gpu", 1, "gpu", 1000)
    assert problem.links[0] == Link("host", "gpu", 0, 1.0)
    assert problem.tasks[0] == Task("a", "Op", (5, None), (2, 1))
    assert problem.tensors == (Tensor("x", 0, (1,), 8, True),)


def test_neighbours_and_copies():
    problem = cpu_gpu(
        [(1, 2), (3, 4), (5, 6)],
        [(0, [1, 2], 10), (0, [2], 0), (1, [2], 10), (-1, [0], 1)],
        latency_ns=7,
        occupancy_ns=2,
    )
    assert problem.predecessors == ((), (0,), (0, 1))
    assert problem.successors == ((1, 2), (2,), ())
    assert problem.inputs_of == ((3,), (0,), (0, 1, 2))
    assert problem.outputs_of == ((0, 1), (2,), ())
    assert problem.link(0, 1).hold_ns(10) == 12
    assert problem.copy_ns(0, 1, 10) == 19
    assert problem.copy_ns(0, 1, 0) == problem.copy_ns(1, 1, 10) == 0
    assert problem.fastest_ns(2) == 5
