"""Stored results are judged from their own JSON and their problem's."""

import json
from dataclasses import replace

import pytest

from surplus.placement.problem import Problem
from surplus.placement.random_disturbances import small_disturbed
from surplus.placement.random_graphs import small_random
from surplus.placement.simulator import simulate
from surplus.placement.stored_schedule import StoredSchedule, schedule_rows, timeline_of
from surplus.placement.stored_schedule_check import stored_faults
from tests.placement.hand_problems import CPU, GPU, cpu_gpu, on

# t0 on the GPU (0 to 10), its tensors cross to the CPU one after the other: 10 to 30, 30 to 60,
# each there 4 later; t1 (34 to 40) and t2 (64 to 68) read them; t2's 8 bytes end on the host.
PROBLEM = cpu_gpu(
    [(9, 10), (6, 9), (4, 9)],
    [(0, [1], 20), (0, [2], 30), (2, [], 8, True)],
    cpu_lanes=2,
    latency_ns=4,
)
PLACEMENT = on([GPU, CPU, CPU])


def stored(problem=PROBLEM, placement=PLACEMENT):
    timeline = simulate(problem, placement)
    return {
        "format": "surplus-placed/1",
        "problem": problem.name,
        "makespan_ns": timeline.makespan_ns,
        "bound_ns": 0,
        **schedule_rows(problem, placement, timeline),
    }


def faults(document, problem=PROBLEM):
    return stored_faults(problem, json.dumps(document))


def test_copies_are_stored_with_their_memories_link_and_times():
    document = stored()
    assert faults(document) == []
    assert document["copies"] == [
        {"tensor": "x0", "source": "gpu", "target": "host", "link": "gpu->host", "start_ns": 10,
         "end_ns": 34},
        {"tensor": "x1", "source": "gpu", "target": "host", "link": "gpu->host", "start_ns": 30,
         "end_ns": 64},
    ]  # fmt: skip
    assert document["tasks"][1] == {
        "name": "t1", "device": "cpu", "lanes": [0], "priority": 1, "start_ns": 34, "end_ns": 40
    }  # fmt: skip


@pytest.mark.parametrize("make", [small_random, small_disturbed])
@pytest.mark.parametrize("seed", range(20))
def test_every_simulated_schedule_goes_round(make, seed):
    problem = Problem.from_json(make(seed, 12, 3).to_json())
    placement = on([task.default_device for task in problem.tasks])
    document = stored(problem, placement)
    assert faults(document, problem) == []
    timeline = timeline_of(problem, StoredSchedule.from_json(json.dumps(document)))
    rows = {(s.kind, s.name, s.resource, s.start_ns, s.end_ns) for s in timeline}
    simulated = simulate(problem, placement)
    assert rows == {(s.kind, s.name, s.resource, s.start_ns, s.end_ns) for s in simulated}


def changed(*path, to):
    """The stored schedule with the value at a path replaced."""
    document = stored()
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return document


def without(rows, index):
    document = stored()
    del document[rows][index]
    return document


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        (changed("problem", to="other"), "a result of problem 'other', not 'by hand'"),
        (changed("makespan_ns", to=67), "makespan_ns is 67, its last task or copy ends at 68"),
        (changed("bound_ns", to=69), "bound_ns, 69, is above makespan_ns, 68"),
        (changed("makespan_ns", to=1), "the bound of its problem, 15, is above makespan_ns, 1"),
        (changed("makespan_ns", to=None), "a schedule without makespan_ns"),
        (changed("gap", to=0.5), "gap is 0.5, not 1.0"),
        (changed("dispatched_ns", to=67), "dispatched_ns is 67, simulated 68"),
        (changed("copies", 1, "start_ns", to=29), "link: copies 'x0' and 'x1' both hold gpu->host"),
        (changed("copies", 0, "end_ns", to=33), "duration: 'x0' lasts 23 ns, not 24 ns"),
        (changed("copies", 0, "start_ns", to=9), "precedence: 'x0' starts at 9"),
        (changed("copies", 0, "link", to="host->gpu"), "tensor 'x0' is not copied over gpu->host"),
        (changed("copies", 0, "source", to="moon"), "tensor 'x0' is not copied over gpu->host"),
        (changed("copies", 0, "tensor", to="x9"), "unknown: copy 'x9'"),
        (without("copies", 1), "missing: tensor 'x1' is not copied over gpu->host"),
        (without("tasks", 0), "task 't0' does not occur"),
        (changed("tasks", 0, "name", to="t1"), "task 't1' occurs twice"),
        (changed("tasks", 0, "name", to="t9"), "task 't9' is unknown"),
        (changed("tasks", 0, "device", to="npu"), "task 't0' on an unknown device 'npu'"),
        (changed("tasks", 0, "device", to="cpu"), "unknown: copy 'x0' over"),
        (changed("tasks", 0, "priority", to=1), "two tasks have the same priority"),
        (changed("tasks", 1, "lanes", to=[2]), "lanes: task 't1' on lanes (2,)"),
        (changed("tasks", 1, "start_ns", to=33), "precedence: 't1' starts at 33"),
        (changed("tasks", 1, "end_ns", to=41), "duration: 't1' lasts 7 ns, not 6 ns"),
    ],
)
def test_each_fault_is_told(document, fault):
    assert any(fault in text for text in faults(document)), faults(document)


@pytest.mark.parametrize(
    ("document", "named"),
    [
        ({}, "result: field 'format'"),
        (changed("format", to="surplus-optimum/1"), "result: field 'format'"),
        (changed("tasks", 0, "lanes", to=0), r"result.tasks\[0\].lanes: expected `array`"),
        (changed("copies", 1, "start_ns", to="x"), r"result.copies\[1\].start_ns: expected `int`"),
        (changed("copies", 1, "start_ns", to=2**70), r"copies\[1\].start_ns must be below 2\^62"),
        (changed("makespan_ns", to=1e400), "result.makespan_ns must be finite"),
        (changed("copies", to=None), "result.copies: expected `array`"),
    ],
)
def test_what_is_no_result_is_refused_by_field(document, named):
    with pytest.raises(ValueError, match=named):
        faults(document)


@pytest.mark.parametrize("text", ["", "[", "[" * 100_000, "5"])
def test_what_is_no_json_is_refused(text):
    with pytest.raises(ValueError, match="result: "):
        stored_faults(PROBLEM, text)


def test_copies_over_unknown_links_are_judged_where_memory_is_limited():
    host, gpu = PROBLEM.devices
    limited = replace(PROBLEM, devices=(host, replace(gpu, memory_bytes=55)))
    document = changed("copies", 0, "source", to="moon")
    assert "missing: tensor 'x0' is not copied over gpu->host" in faults(document, limited)


def test_a_result_without_a_plan_has_nothing_to_judge():
    empty = {**stored(), "makespan_ns": None, "tasks": [], "copies": []}
    assert faults(empty) == []
