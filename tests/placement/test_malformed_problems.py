"""Everything that is no problem is refused by one line that names whose field is wrong."""

import json
from dataclasses import replace

import pytest

from surplus.placement import make_policy, simulate, validate
from surplus.placement.field_checks import ProblemError
from surplus.placement.problem import Blob, Device, Link, Problem, Task, Tensor
from tests.placement.hand_problems import cpu_gpu

GOOD = {
    "format": "surplus-problem/2",
    "name": "three",
    "devices": [
        {"name": "cpu", "lanes": 2, "memory": "host"},
        {"name": "gpu", "memory": "gpu", "memory_bytes": 1000, "slowdown": [1.0, 1.5]},
    ],
    "links": [
        {"source": "host", "target": "gpu", "bytes_per_s": 1e9, "staging_bytes": 4},
        {"source": "gpu", "target": "host", "latency_ns": 5},
    ],
    "tasks": [
        {"name": "a", "kind": "Op", "service_ns": [5, None], "widths": [2, 1]},
        {"name": "b", "kind": "Op", "service_ns": [5, 3], "default_device": 1, "weight_bytes": 9,
         "blobs": [0], "launch_ns": [0, 1]},
        {"name": "c", "kind": "Op", "service_ns": [5, 3]},
    ],
    "tensors": [
        {"name": "x", "producer": 0, "consumers": [1, 2], "size_bytes": 8},
        {"name": "y", "producer": 1, "consumers": [], "size_bytes": 8, "is_output": True},
    ],
    "blobs": [{"name": "w", "size_bytes": 9}],
}  # fmt: skip

HUGE = 10**30
A, B, X, Y = "task 'a'", "task 'b'", "tensor 'x'", "tensor 'y'"
CPU, GPU, THERE, BACK = "device 'cpu'", "device 'gpu'", "link host->gpu", "link gpu->host"

# Where in GOOD, what stands there instead (... for nothing), whose field is named, and the field.
ROWS = [
    # The document.
    (["format"], "surplus-problem/9", "problem", "'format'"),
    (["format"], ..., "problem", "'format'"),
    (["name"], ..., "problem", "`name`"),
    (["name"], 5, "problem", "name"),
    (["colour"], 1, "problem", "'colour' is unknown"),
    (["notes"], [1], "problem", "notes"),
    (["notes"], {"a": 1}, "problem", "notes"),
    (["devices"], ..., "problem", "`devices`"),
    (["devices"], [], "problem", "devices: at least one"),
    (["devices"], "cpu", "problem", "devices"),
    (["links"], {}, "problem", "links"),
    (["links"], [], "problem", "links: no link from memory 'gpu'"),
    (["tasks"], None, "problem", "tasks"),
    (["tensors"], ..., "problem", "`tensors`"),
    (["blobs"], 3, "problem", "blobs"),
    # Devices.
    (["devices", 0], "cpu", "problem", "devices[0]"),
    (["devices", 0, "name"], ..., "devices[0]", "`name`"),
    (["devices", 0, "name"], None, "devices[0]", "name"),
    (["devices", 0, "cores"], 2, "devices[0]", "'cores' is unknown"),
    (["devices", 1, "name"], "cpu", CPU, "name appears twice"),
    (["devices", 0, "lanes"], "two", "devices[0]", "lanes: expected `int`, got `str`"),
    (["devices", 0, "lanes"], True, "devices[0]", "lanes: expected `int`, got `bool`"),
    (["devices", 0, "lanes"], 2.5, "devices[0]", "lanes"),
    (["devices", 0, "lanes"], 0, CPU, "lanes must be >= 1, got 0"),
    (["devices", 0, "lanes"], 10**9, CPU, "lanes must be below 4097, got 1000000000"),
    (["devices", 0, "lanes"], HUGE, CPU, "lanes"),
    (["devices", 1, "memory"], "moon", "links", "memory 'moon'"),
    (["devices", 1, "memory"], 7, "devices[1]", "memory"),
    (["devices", 1, "memory_bytes"], 1.5, "devices[1]", "memory_bytes"),
    (["devices", 1, "memory_bytes"], -1, GPU, "memory_bytes must be >= 0"),
    (["devices", 1, "memory_bytes"], 2**62, GPU, "memory_bytes must be below 2^53"),
    (["devices", 1, "submit_ns"], -1, GPU, "submit_ns must be >= 0, got -1"),
    (["devices", 1, "submit_ns"], 2**62, GPU, "submit_ns must be below 2^53"),
    (["devices", 1, "submit_ns"], 1.0, "devices[1]", "submit_ns"),
    (["devices", 1, "slowdown"], [1.0, 0.0], GPU, "slowdown[1] must be > 0"),
    (["devices", 1, "slowdown"], [-1.0], GPU, "slowdown[0] must be > 0"),
    (["devices", 1, "slowdown"], [1e300], GPU, "slowdown[0] must be <= 1e+06"),
    (["devices", 1, "slowdown"], [HUGE], GPU, "slowdown[0] must be <= 1e+06"),
    (["devices", 1, "slowdown"], [10**400], "devices[1]", "slowdown[0]"),
    (["devices", 1, "slowdown"], 1.5, "devices[1]", "slowdown"),
    (["devices", 1, "slowdown"], ["x"], "devices[1]", "slowdown[0]"),
    # Links.
    (["links", 0, "source"], ..., "links[0]", "`source`"),
    (["links", 1, "target"], None, "links[1]", "target"),
    (["links", 1, "source"], "moon", "links", "no link from memory 'gpu' to memory 'host'"),
    (["links", 0, "target"], "host", "link host->host", "source and target are the same memory"),
    (["links", 2], {"source": "moon", "target": "host"}, "link moon->host", "source: no device"),
    (["links", 2], {"source": "gpu", "target": "sun"}, "link gpu->sun", "target: no device"),
    (["links", 2], {"source": "host", "target": "gpu"}, "link 'host->gpu'", "name appears twice"),
    (["links", 0, "bytes_per_s"], 0, THERE, "bytes_per_s must be > 0"),
    (["links", 0, "bytes_per_s"], -1e9, THERE, "bytes_per_s must be > 0"),
    (["links", 0, "bytes_per_s"], 1e-300, THERE, "bytes_per_s 1e-300: a copy of tensor 'x'"),
    (["links", 0, "bytes_per_s"], 10**31, THERE, "bytes_per_s must be <= 1e+30"),
    (["links", 0, "bytes_per_s"], 10**400, "links[0]", "bytes_per_s"),
    (["links", 0, "bytes_per_s"], "fast", "links[0]", "bytes_per_s"),
    (["links", 1, "latency_ns"], -1, BACK, "latency_ns must be >= 0"),
    (["links", 1, "latency_ns"], 2**63, BACK, "latency_ns must be below 2^53"),
    (["links", 1, "occupancy_ns"], -1, BACK, "occupancy_ns must be >= 0"),
    (["links", 1, "occupancy_ns"], HUGE, BACK, "occupancy_ns must be below 2^53"),
    (["links", 0, "staging_bytes"], 0, THERE, "staging_bytes must be >= 1"),
    (["links", 0, "pageable"], 1, "links[0]", "pageable"),
    # Tasks.
    (["tasks", 0, "name"], ..., "tasks[0]", "`name`"),
    (["tasks", 1, "name"], "a", A, "name appears twice"),
    (["tasks", 0, "kind"], 3, "tasks[0]", "kind"),
    (["tasks", 0, "service_ns"], 5, "tasks[0]", "service_ns"),
    (["tasks", 0, "service_ns"], [5, "x"], "tasks[0]", "service_ns[1]"),
    (["tasks", 0, "service_ns"], [5.0, None], "tasks[0]", "service_ns[0]"),
    (["tasks", 0, "service_ns"], [5], A, "service_ns has 1 values for 2 devices"),
    (["tasks", 0, "service_ns"], [5, 1, 1], A, "service_ns has 3 values for 2 devices"),
    (["tasks", 0, "service_ns"], [None, None], A, "service_ns: it can run on no device"),
    (["tasks", 0, "service_ns"], [-5, 1], A, "service_ns[0] must be >= 0, got -5"),
    (["tasks", 0, "service_ns"], [5, 2**62], A, "service_ns[1] must be below 2^53"),
    (["tasks", 0, "service_ns"], [5, HUGE], A, "service_ns[1] must be below 2^53"),
    (["tasks", 0, "service_ns"], [2**52, 0], A, "service_ns: all tasks and copies one after"),
    (["tasks", 0, "widths"], [1], A, "widths has 1 values for 2 devices"),
    (["tasks", 0, "widths"], [3, 1], A, "widths[0] 3 exceeds the 2 lanes of 'cpu'"),
    (["tasks", 0, "widths"], [0, 1], A, "widths[0] must be >= 1"),
    (["tasks", 0, "widths"], [1, None], "tasks[0]", "widths[1]"),
    (["tasks", 0, "wider_ns"], [[]], A, "wider_ns has 1 values for 2 devices"),
    (["tasks", 1, "wider_ns"], [[[1, 4]], []], B, "wider_ns[0][0][0] must be >= 2, got 1"),
    (["tasks", 1, "wider_ns"], [[[2, 4], [2, 3]], []], B, "wider_ns[0][1][0] must be >= 3, got 2"),
    (["tasks", 1, "wider_ns"], [[[3, 4]], []], B, "wider_ns[0][0][0] 3 exceeds the 2 lanes of 'c"),
    (["tasks", 1, "wider_ns"], [[[2, -4]], []], B, "wider_ns[0][0][1] must be >= 0, got -4"),
    (["tasks", 1, "wider_ns"], [[[2, 2**60]], []], B, "wider_ns[0][0][1] must be below 2^53"),
    (["tasks", 1, "wider_ns"], [[[2, 2**52]], []], B, "service_ns: all tasks and copies one after"),
    (["tasks", 1, "wider_ns"], [[[2]], []], "tasks[1]", "wider_ns[0][0]"),
    (["tasks", 1, "wider_ns"], [[[2, None]], []], "tasks[1]", "wider_ns[0][0][1]"),
    (["tasks", 1, "wider_ns"], {"2": 4}, "tasks[1]", "wider_ns"),
    (["tasks", 0, "default_device"], 7, A, "default_device must be below 2, got 7"),
    (["tasks", 0, "default_device"], -1, A, "default_device must be >= 0"),
    (["tasks", 0, "default_device"], 1, A, "default_device 1 cannot run it"),
    (["tasks", 0, "weight_bytes"], -1, A, "weight_bytes must be >= 0"),
    (["tasks", 0, "weight_bytes"], 1e30, "tasks[0]", "weight_bytes"),
    (["tasks", 0, "weight_bytes"], HUGE, A, "weight_bytes must be below 2^53"),
    (["tasks", 2, "weight_bytes"], 2**53 - 9, "task 'c'", "weight_bytes: all sizes together"),
    (["tasks", 1, "weight_bytes"], 8, B, "weight_bytes: its blobs exceed them"),
    (["tasks", 1, "launch_ns"], [1], B, "launch_ns has 1 values for 2 devices"),
    (["tasks", 1, "launch_ns"], [0, -1], B, "launch_ns[1] must be >= 0"),
    (["tasks", 1, "launch_ns"], [0, 2**60], B, "launch_ns[1] must be below 2^53"),
    (["tasks", 1, "blobs"], [1], B, "blobs[0] must be below 1"),
    (["tasks", 1, "blobs"], [-1], B, "blobs[0] must be >= 0"),
    (["tasks", 1, "blobs"], [0, 0], B, "blobs must be distinct and ascending"),
    # Tensors and blobs.
    (["tensors", 0, "name"], "y", Y, "name appears twice"),
    (["tensors", 0, "producer"], ..., "tensors[0]", "`producer`"),
    (["tensors", 0, "producer"], 3, X, "producer must be below 3"),
    (["tensors", 0, "producer"], -2, X, "producer must be >= -1"),
    (["tensors", 0, "producer"], 1, X, "consumers[0]: task 1 does not come after the producer"),
    (["tensors", 1, "consumers"], [0], Y, "consumers[0]: task 0 does not come after the producer"),
    (["tensors", 0, "consumers"], [3], X, "consumers[0] must be below 3"),
    (["tensors", 0, "consumers"], [-1], X, "consumers[0] must be >= 0"),
    (["tensors", 0, "consumers"], [1, 1], X, "consumers must be distinct and ascending"),
    (["tensors", 0, "consumers"], [2, 1], X, "consumers must be distinct and ascending"),
    (["tensors", 0, "consumers"], [1.0], "tensors[0]", "consumers[0]"),
    (["tensors", 0, "consumers"], 1, "tensors[0]", "consumers"),
    (["tensors", 0, "size_bytes"], -8, X, "size_bytes must be >= 0"),
    (["tensors", 0, "size_bytes"], 1e30, "tensors[0]", "size_bytes"),
    (["tensors", 0, "size_bytes"], HUGE, X, "size_bytes must be below 2^53"),
    (["tensors", 0, "is_output"], 1, "tensors[0]", "is_output"),
    (["blobs", 0, "size_bytes"], -1, "blob 'w'", "size_bytes must be >= 0"),
    (["blobs", 0, "name"], 1, "blobs[0]", "name"),
]


def changed(path, value):
    """GOOD as JSON with the value at a path replaced, added, or removed if it is ``...``."""
    raw = json.loads(json.dumps(GOOD))
    place = raw
    for step in path[:-1]:
        place = place[step]
    if value is ...:
        del place[path[-1]]
    elif isinstance(place, list) and path[-1] == len(place):
        place.append(value)
    else:
        place[path[-1]] = value
    return json.dumps(raw)


def test_what_the_rows_change_is_a_problem():
    problem = Problem.from_json(json.dumps(GOOD))
    placement = make_policy("heft").place(problem)
    assert validate(problem, placement, simulate(problem, placement)) == []


@pytest.mark.parametrize(("path", "value", "owner", "field"), ROWS)
def test_a_malformed_document_names_whose_field_is_wrong(path, value, owner, field):
    with pytest.raises(ProblemError) as caught:
        Problem.from_json(changed(path, value))
    text = str(caught.value)
    assert text.startswith("problem")
    assert owner in text
    assert field in text
    assert "\n" not in text


@pytest.mark.parametrize("word", ["NaN", "Infinity", "1e999", "01", "tru"])
def test_numbers_that_are_none_in_json_are_refused(word):
    with pytest.raises(ProblemError, match="problem"):
        Problem.from_json(changed(["links", 0, "bytes_per_s"], 4321.5).replace("4321.5", word))


@pytest.mark.parametrize("text", ["", "{", "[]", "5", "null", "[" * 100_000, '{"a": "\\ud800"}'])
def test_what_is_no_problem_at_all_is_refused(text):
    with pytest.raises(ProblemError, match="problem"):
        Problem.from_json(text)


PLAIN = cpu_gpu([(1, 2), (3, 4)], [(0, [1], 8)])
NAN, INF = float("nan"), float("inf")


def with_task(**changes):
    return lambda: replace(PLAIN, tasks=(replace(PLAIN.tasks[0], **changes), PLAIN.tasks[1]))


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Link("host", "gpu", bytes_per_s=NAN), "link host->gpu: bytes_per_s .* got nan"),
        (lambda: Link("host", "gpu", bytes_per_s=INF), "link host->gpu: bytes_per_s .* got inf"),
        (lambda: Link("host", "gpu", bytes_per_s="9"), "link host->gpu: bytes_per_s must be a num"),
        (lambda: Link("host", "gpu", bytes_per_s=10**400), "link host->gpu: bytes_per_s must be"),
        (lambda: Link("host", "gpu", latency_ns=NAN), "link host->gpu: latency_ns must be a whole"),
        (lambda: Link("a\nb", "gpu", latency_ns=-1), r"link 'a\\nb->gpu': latency_ns must be >= 0"),
        (lambda: Link("host", "host"), "link host->host: source and target"),
        (lambda: Device("gpu", slowdown=(1.0, INF)), r"device 'gpu': slowdown\[1\] .* got inf"),
        (lambda: Device("gpu", slowdown=(NAN,)), r"device 'gpu': slowdown\[0\] .* got nan"),
        (lambda: Device("gpu", lanes=1.0), "device 'gpu': lanes must be a whole number"),
        (lambda: Device("gpu", lanes=True), "device 'gpu': lanes must be a whole number"),
        (lambda: Blob("w", INF), "blob 'w': size_bytes must be a whole number, got inf"),
        (with_task(service_ns=(NAN, 1)), r"task 't0': service_ns\[0\] must be a whole .* got nan"),
        (with_task(service_ns=("1", 1)), r"task 't0': service_ns\[0\] must be a whole .* got '1'"),
        (with_task(weight_bytes="x" * 99), r"task 't0': weight_bytes .* got 'x{39}\.\.\.$"),
        (
            lambda: replace(PLAIN, tensors=(Tensor("z", 0, (1,), 2.5),)),
            "tensor 'z': size_bytes must be a whole number, got 2.5",
        ),
        (
            lambda: replace(PLAIN, tasks=(*PLAIN.tasks, Task("t0", "Op", (1, 1)))),
            "task 't0': name appears twice",
        ),
    ],
)
def test_what_python_makes_is_checked_as_well(make, named):
    with pytest.raises(ProblemError, match=named):
        make()
