import json
from dataclasses import replace

import pytest

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


def read_changed(path, value):
    """Read GOOD with the value at a path replaced, or removed if it is ``...``."""
    raw = json.loads(json.dumps(GOOD))
    place = raw
    for step in path[:-1]:
        place = place[step]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return Problem.from_json(json.dumps(raw))


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


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (["format"], "surplus-problem/9", "field 'format' must be 'surplus-problem/2'"),
        (["format"], ..., "field 'format'"),
        (["name"], ..., "missing required field `name`"),
        (["name"], 5, "problem.name: expected `str`, got `int`"),
        (["devices"], ..., "missing required field `devices`"),
        (["links"], {}, "problem.links: expected `array`"),
        (["colour"], 1, "field 'colour' is unknown"),
        (["notes"], [1], "problem.notes: expected `object`"),
        (["notes"], {"a": 1}, r"problem.notes\[...\]: expected `str`, got `int`"),
        (["devices"], [], "at least one device"),
        (["devices", 0], "cpu", r"problem.devices\[0\]: expected `object`"),
        (["devices", 0, "name"], ..., r"devices\[0\]: object missing required field `name`"),
        (["devices", 0, "cores"], 2, r"devices\[0\]: field 'cores' is unknown"),
        (["devices", 0, "lanes"], "two", r"devices\[0\].lanes: expected `int`, got `str`"),
        (["devices", 0, "lanes"], True, r"devices\[0\].lanes: expected `int`, got `bool`"),
        (["devices", 0, "lanes"], 0, r"devices\[0\]: device 'cpu': lanes must be >= 1, got 0"),
        (["devices", 1, "memory_bytes"], 1.5, r"memory_bytes: expected `int \| null`, got `float`"),
        (["devices", 1, "name"], "cpu", "device 'cpu' appears twice"),
        (["devices", 1, "memory"], "moon", "no link from memory 'host' to memory 'moon'|'moon'"),
        (["links"], [], "no link from memory"),
        (["links", 0, "bytes_per_s"], 0, r"links\[0\]: link host->gpu: bytes_per_s must be > 0"),
        (["links", 1, "latency_ns"], -1, r"links\[1\]: link gpu->host: latency_ns"),
        (["links", 1, "target"], None, r"links\[1\].target: expected `str`, got `null`"),
        (["tasks", 0, "service_ns"], 5, r"tasks\[0\].service_ns: expected `array`, got `int`"),
        (
            ["tasks", 0, "service_ns"],
            [5, "x"],
            r"tasks\[0\].service_ns\[1\]: expected `int \| null`",
        ),
        (["tasks", 0, "service_ns"], [5], "task 'a': 1 service times for 2 devices"),
        (["tasks", 0, "service_ns"], [None, None], "task 'a' can run on no device"),
        (["tasks", 0, "service_ns"], [-5, 1], "task 'a': a service time is negative"),
        (["tasks", 0, "weight_bytes"], -1, "task 'a': weight_bytes is negative"),
        (["tasks", 0, "default_device"], 7, "task 'a': default_device 7 is unknown"),
        (["tasks", 0, "default_device"], 1, "task 'a' cannot run on its default device"),
        (["tasks", 0, "widths"], [1], "task 'a': 1 widths for 2 devices"),
        (["tasks", 0, "widths"], [3, 1], "task 'a': width 3 exceeds the 2 lanes of 'cpu'"),
        (["tasks", 0, "widths"], [0, 1], "task 'a': width 0"),
        (["tasks", 1, "name"], "a", "task 'a' appears twice"),
        (["tensors", 0, "producer"], 2, "tensor 'x': producer 2 is unknown"),
        (["tensors", 0, "producer"], 1, "tensor 'x': consumer 1 is unknown or not after"),
        (["tensors", 0, "consumers"], [2], "tensor 'x': consumer 2 is unknown"),
        (["tensors", 0, "consumers"], [1, 1], "tensor 'x': consumers must be distinct"),
        (["tensors", 0, "consumers"], [1.0], r"tensors\[0\].consumers\[0\]: expected `int`"),
        (["tensors", 0, "size_bytes"], -8, "tensor 'x': size_bytes is negative"),
        (["tensors", 0, "is_output"], 1, r"tensors\[0\].is_output: expected `bool`, got `int`"),
    ],
)
def test_what_is_wrong_is_named(path, value, named):
    with pytest.raises(ValueError, match=named):
        read_changed(path, value)


@pytest.mark.parametrize("text", ["", "{", "[]", "5", "null", "[" * 100_000])
def test_what_is_no_problem_at_all_is_refused(text):
    with pytest.raises(ValueError, match="problem"):
        Problem.from_json(text)


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
