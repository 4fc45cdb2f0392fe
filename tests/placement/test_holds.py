"""Holds: what they do in the simulator, what the validator says, what is refused."""

from dataclasses import replace

import pytest

from surplus.placement import CopyHold, Hold, Placement, Rule, SimulatorParams, simulate, validate
from surplus.placement.problem import Device, Link, Problem, Task, Tensor
from tests.placement.hand_problems import CPU, GPU, copy_times, cpu_gpu, on, task_times

# t0 on the GPU until 5, then t1 on the CPU for 1, then t3 on the GPU for 30. The CPU could start
# t2, of 20, at once.
WAITING = cpu_gpu([(None, 5), (1, None), (20, None), (None, 30)], [(0, [1], 0), (1, [3], 0)])
URGENT = on([GPU, CPU, CPU, GPU])


def with_holds(placement, *holds):
    tasks = tuple(hold for hold in holds if isinstance(hold, Hold))
    copies = tuple(hold for hold in holds if isinstance(hold, CopyHold))
    return replace(placement, holds=tasks, copy_holds=copies)


@pytest.mark.parametrize("order", ["priority", "fifo"])
def test_a_lane_idles_for_what_is_about_to_be_ready(order):
    held = with_holds(URGENT, Hold(1, 2))
    assert simulate(WAITING, URGENT, SimulatorParams(order)).makespan_ns == 20 + 1 + 30
    timeline = simulate(WAITING, held, SimulatorParams(order))
    assert task_times(timeline) == [(0, 0, 5), (5, 5, 6), (5, 6, 26), (6, 6, 36)]
    assert validate(WAITING, held, timeline) == []


def test_the_validator_sees_who_did_not_wait():
    held = with_holds(URGENT, Hold(1, 2))
    (fault,) = validate(WAITING, held, simulate(WAITING, URGENT))
    assert fault.rule is Rule.HOLD
    assert str(fault) == (
        "hold: 't2' is held behind 't1' and starts at 0, whose input 't0' is there at 5"
    )


def test_of_two_lanes_one_idles():
    # Both lanes would take a long task; the second is kept for t3, which t0 makes ready at 5.
    problem = cpu_gpu(
        [(None, 5), (20, None), (20, None), (1, None), (None, 30)],
        [(0, [3], 0), (3, [4], 0)],
        cpu_lanes=2,
    )
    free = on([GPU, CPU, CPU, CPU, GPU], [0, 1, 3, 2, 4])
    held = with_holds(free, Hold(3, 2))
    assert simulate(problem, free).makespan_ns == 20 + 1 + 30
    timeline = simulate(problem, held)
    assert task_times(timeline)[1:4] == [(0, 0, 20), (5, 6, 26), (5, 5, 6)]
    assert timeline.makespan_ns == 36


def test_whoever_is_held_behind_one_that_is_held_waits_for_both():
    # t2 waits for t1, which is ready at 9; t3 waits for t2, which itself is ready at 0.
    problem = cpu_gpu([(None, 9), (1, None), (1, None), (1, None)], [(0, [1], 0)])
    held = with_holds(on([GPU, CPU, CPU, CPU]), Hold(1, 2), Hold(2, 3))
    assert task_times(simulate(problem, held))[1:] == [(9, 9, 10), (9, 10, 11), (9, 11, 12)]


def test_a_task_waits_for_a_copy_that_its_elder_waits_for():
    problem = cpu_gpu([(None, 9), (1, None), (1, None)], [(0, [1], 4)])
    held = with_holds(on([GPU, CPU, CPU]), Hold(1, 2))
    timeline = simulate(problem, held)
    assert task_times(timeline)[1:] == [(13, 13, 14), (13, 14, 15)]
    assert validate(problem, held, timeline) == []


def test_a_wide_elder_goes_first_on_all_lanes():
    wide = Task("wide", "Op", (4, None), (2, 1))
    problem = cpu_gpu([(None, 5), (4, None), (9, None), (9, None)], [(0, [1], 0)], cpu_lanes=2)
    problem = replace(problem, tasks=(problem.tasks[0], wide, *problem.tasks[2:]))
    held = with_holds(on([GPU, CPU, CPU, CPU]), Hold(1, 2), Hold(1, 3))
    assert task_times(simulate(problem, held))[1:] == [(5, 5, 9), (5, 9, 18), (5, 9, 18)]


# x0, of 20 bytes, could take the link at once; x1, of 2, is made at 4, and t2 needs it for 40.
LINKED = cpu_gpu(
    [(1, None), (3, None), (None, 40), (None, 1)],
    [(0, [3], 20), (1, [2], 2), (0, [1], 0)],
    cpu_lanes=2,
)
LINKED_ON = on([CPU, CPU, GPU, GPU])


def test_a_link_idles_for_a_copy_that_is_about_to_be_asked_for():
    held = with_holds(LINKED_ON, CopyHold(1, 0, "gpu"))
    assert simulate(LINKED, LINKED_ON).makespan_ns == 1 + 20 + 2 + 40
    timeline = simulate(LINKED, held)
    assert copy_times(timeline) == [(1, "host->gpu", 4, 4, 6), (0, "host->gpu", 4, 6, 26)]
    assert timeline.makespan_ns == 47
    assert validate(LINKED, held, timeline) == []
    (fault,) = validate(LINKED, held, simulate(LINKED, LINKED_ON))
    assert "copy 'x0' is held behind that of 'x1'" in str(fault)


@pytest.mark.parametrize(
    ("problem", "placement", "named"),
    [
        (WAITING, with_holds(URGENT, Hold(1, 9)), "hold of task 9, which is unknown"),
        (WAITING, with_holds(URGENT, Hold(-1, 2)), "hold of task -1, which is unknown"),
        (WAITING, with_holds(URGENT, Hold(0, 2)), "'t2' behind 't0': they are on different"),
        (WAITING, with_holds(URGENT, Hold(2, 1)), "'t1' behind 't2', which is less urgent"),
        (
            WAITING,
            with_holds(URGENT, Hold(1, 2), Hold(2, 1)),
            "holds form a cycle: 't1' waits for 't2' waits for 't1'",
        ),
        (WAITING, with_holds(URGENT, Hold(1, 1)), "cycle: 't1' waits for 't1'"),
        # t0 may not start before t3, which comes of it by way of t1.
        (
            WAITING,
            with_holds(on([GPU, CPU, CPU, GPU], [3, 1, 2, 0]), Hold(3, 0)),
            "cycle: 't0' waits for 't3' waits for 't1' waits for 't0'",
        ),
        (LINKED, with_holds(LINKED_ON, CopyHold(7, 0, "gpu")), "copy of tensor 7, which is unk"),
        (LINKED, with_holds(LINKED_ON, CopyHold(1, 2, "gpu")), "'x2' is not copied to 'gpu'"),
        (LINKED, with_holds(LINKED_ON, CopyHold(1, 0, "host")), "'x1' is not copied to 'host'"),
        (LINKED, with_holds(LINKED_ON, CopyHold(0, 1, "gpu")), "'x0', which is less urgent"),
    ],
)
def test_holds_that_cannot_be_kept_are_refused(problem, placement, named):
    with pytest.raises(ValueError, match=named):
        simulate(problem, placement)


def test_a_copy_that_would_wait_for_what_comes_of_it():
    # t2 makes x1 of what t1 makes of x0.
    problem = cpu_gpu(
        [(1, None), (None, 1), (1, None), (None, 1)],
        [(0, [1], 4), (1, [2], 4), (2, [3], 4)],
    )
    placement = with_holds(on([CPU, GPU, CPU, GPU], [1, 3, 2, 0]), CopyHold(2, 0, "gpu"))
    with pytest.raises(ValueError, match="cycle: 't1' waits for 't2' waits for 't1'"):
        placement.check(problem)


def test_copies_over_different_links_are_not_held():
    links = [(a, b) for a in ("host", "m1", "m2") for b in ("host", "m1", "m2") if a != b]
    problem = Problem(
        "three",
        tuple(Device(f"d{i}", memory=memory) for i, memory in enumerate(("host", "m1", "m2"))),
        tuple(Link(a, b) for a, b in links),
        tuple(Task(f"t{i}", "Op", (1, 1, 1)) for i in range(3)),
        (Tensor("x0", 0, (2,), 4), Tensor("x1", 1, (2,), 4)),
    )
    placement = Placement((0, 1, 2), (0, 1, 2), "by hand", copy_holds=(CopyHold(0, 1, "m2"),))
    with pytest.raises(
        ValueError, match="'x1' to 'm2' behind that of 'x0': they go over different"
    ):
        placement.check(problem)
