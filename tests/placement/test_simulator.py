import pytest

from surplus.placement.placement import Placement
from surplus.placement.problem import Device, Link, Problem, Task, Tensor
from surplus.placement.random_graphs import small_random
from surplus.placement.simulator import SimulatorParams, simulate
from surplus.placement.validator import check
from tests.placement.hand_problems import CPU, GPU, copy_times, cpu_gpu, on, task_times

FIFO = SimulatorParams("fifo")


def test_one_lane_runs_one_task_at_a_time_by_priority():
    problem = cpu_gpu([(5, 1), (7, 1), (2, 1)])
    timeline = simulate(problem, on([CPU] * 3, [2, 0, 1]))
    assert task_times(timeline) == [(0, 9, 14), (0, 0, 7), (0, 7, 9)]
    assert timeline.makespan_ns == 14
    assert timeline.origin == "simulated:by hand"


def test_lanes_are_taken_from_the_lowest_index_up():
    problem = cpu_gpu([(10, 1), (4, 1), (3, 1), (5, 1)], cpu_lanes=2)
    timeline = simulate(problem, on([CPU] * 4))
    # Lane 0: t0 until 10. Lane 1: t1 until 4, t2 until 7, t3 until 12.
    assert task_times(timeline) == [(0, 0, 10), (0, 0, 4), (0, 4, 7), (0, 7, 12)]
    assert {s.name: s.lanes for s in timeline} == {"t0": (0,), "t1": (1,), "t2": (1,), "t3": (1,)}


def test_nothing_that_would_delay_a_waiting_wide_task_starts_before_it():
    # t1 needs both lanes. Lane 1 is free from 0 to 10, yet t2, which ends at 11, must not slip in.
    problem = cpu_gpu([(10, 1), (5, 1), (11, 1)], cpu_lanes=2, widths={1: (2, 1)})
    timeline = simulate(problem, on([CPU] * 3))
    assert task_times(timeline) == [(0, 0, 10), (0, 10, 15), (0, 15, 26)]
    assert {s.name: s.lanes for s in timeline}["t1"] == (0, 1)


def test_a_more_urgent_task_passes_a_wide_one_that_waits():
    # t1 waits for both lanes from 0 on; t3, more urgent, becomes ready at 4 and goes before it.
    problem = cpu_gpu(
        [(10, 1), (5, 1), (9, 4), (3, 1)], [(2, [3], 0)], cpu_lanes=2, widths={1: (2, 1)}
    )
    timeline = simulate(problem, on([CPU, CPU, GPU, CPU], [0, 2, 3, 1]))
    assert task_times(timeline) == [(0, 0, 10), (0, 10, 15), (0, 0, 4), (4, 4, 7)]


def test_the_gate_stays_open_while_no_lane_is_free():
    # All lanes are busy until 4, so nobody looks at t1; t3, more urgent, is ready by then.
    problem = cpu_gpu(
        [(4, 1), (5, 1), (9, 2), (3, 1), (9, 1)],
        [(2, [3], 0)],
        cpu_lanes=2,
        widths={0: (2, 1), 1: (2, 1)},
    )
    timeline = simulate(problem, on([CPU, CPU, GPU, CPU, GPU], [0, 2, 3, 1, 4]))
    assert task_times(timeline)[3] == (2, 4, 7)
    assert task_times(timeline)[1] == (0, 7, 12)


def test_fifo_takes_by_time_of_becoming_ready_and_priority_by_rank():
    # t3 (rank 1) becomes ready at 3, t1 (rank 2) at 0; the CPU is busy with t0 until 10.
    problem = cpu_gpu([(10, 1), (4, 1), (9, 3), (6, 1)], [(2, [3], 0)])
    placement = on([CPU, CPU, GPU, CPU], [0, 2, 3, 1])
    assert task_times(simulate(problem, placement))[1:4:2] == [(0, 16, 20), (3, 10, 16)]
    assert task_times(simulate(problem, placement, FIFO))[1:4:2] == [(0, 10, 14), (3, 14, 20)]


def test_fifo_ties_go_to_the_lower_rank():
    problem = cpu_gpu([(4, 1), (6, 1)])
    assert task_times(simulate(problem, on([CPU] * 2, [1, 0]), FIFO)) == [(0, 6, 10), (0, 0, 6)]


def test_a_tensor_is_copied_once_per_memory_as_soon_as_it_is_there():
    # GPU until 10, copy of 20 bytes: 3 occupancy + 20 + 5 latency, for both consumers.
    problem = cpu_gpu([(99, 10), (4, 99), (6, 99)], [(0, [1, 2], 20)], latency_ns=5, occupancy_ns=3)
    timeline = simulate(problem, on([GPU, CPU, CPU]))
    assert copy_times(timeline) == [(0, "gpu->host", 10, 10, 38)]
    assert task_times(timeline) == [(0, 0, 10), (38, 38, 42), (38, 42, 48)]


def test_copies_of_a_link_queue_for_its_bandwidth_but_not_for_its_latency():
    problem = cpu_gpu([(99, 10), (4, 99)], [(0, [1], 20), (0, [1], 30)], latency_ns=50)
    timeline = simulate(problem, on([GPU, CPU]))
    assert copy_times(timeline) == [
        (0, "gpu->host", 10, 10, 80),
        (1, "gpu->host", 10, 30, 110),  # the link is free from 30, the first copy arrives at 80
    ]
    assert [s.lanes for s in timeline if s.kind == "copy"] == [(0,), (1,)]
    assert task_times(timeline)[1] == (110, 110, 114)


def test_the_two_directions_of_a_link_do_not_wait_for_each_other():
    problem = cpu_gpu([(10, 99), (99, 10), (5, 5), (5, 5)], [(0, [2], 20), (1, [3], 20)])
    timeline = simulate(problem, on([CPU, GPU, GPU, CPU]))
    assert [row[3:] for row in copy_times(timeline)] == [(10, 30), (10, 30)]


def test_metadata_orders_without_a_copy():
    problem = cpu_gpu([(99, 10), (4, 99)], [(0, [1], 0)], latency_ns=1_000)
    timeline = simulate(problem, on([GPU, CPU]))
    assert task_times(timeline) == [(0, 0, 10), (10, 10, 14)]
    assert copy_times(timeline) == []


def test_graph_inputs_come_from_the_host_and_outputs_return_to_it():
    problem = cpu_gpu([(99, 10), (4, 99)], [(-1, [0, 1], 7), (0, [], 9, True), (1, [], 9, True)])
    timeline = simulate(problem, on([GPU, CPU]))
    assert copy_times(timeline) == [(0, "host->gpu", 0, 0, 7), (1, "gpu->host", 17, 17, 26)]
    assert task_times(timeline) == [(7, 7, 17), (0, 0, 4)]
    assert timeline.makespan_ns == 26


def test_an_output_with_consumers_on_the_host_is_copied_once():
    problem = cpu_gpu([(99, 10), (4, 99)], [(0, [1], 9, True)])
    assert len(copy_times(simulate(problem, on([GPU, CPU])))) == 1


def test_devices_that_share_a_memory_need_no_copies():
    problem = Problem(
        "shared",
        (Device("big"), Device("little")),
        (),
        (Task("a", "Op", (3, 9)), Task("b", "Op", (9, 4))),
        (Tensor("x", 0, (1,), 1_000, True),),
    )
    timeline = simulate(problem, on([0, 1]))
    assert task_times(timeline) == [(0, 0, 3), (3, 3, 7)]
    assert copy_times(timeline) == []


def test_each_memory_gets_its_own_copy_over_its_own_link():
    spaces = ("host", "a", "b")
    problem = Problem(
        "three",
        tuple(Device(f"d{space}", 1, space) for space in spaces),
        tuple(Link(s, t, 0, 1e9) for s in spaces for t in spaces if s != t),
        tuple(Task(f"t{i}", "Op", (5, 5, 5)) for i in range(3)),
        (Tensor("x", 0, (1, 2), 20),),
    )
    timeline = simulate(problem, on([0, 1, 2]))
    assert copy_times(timeline) == [(0, "host->a", 5, 5, 25), (0, "host->b", 5, 5, 25)]


def test_tasks_without_duration_pass_in_order():
    problem = cpu_gpu([(0, 0), (0, 0), (5, 5)], [(0, [1], 0), (1, [2], 0)])
    timeline = simulate(problem, on([CPU, GPU, CPU]))
    assert task_times(timeline) == [(0, 0, 0), (0, 0, 0), (0, 0, 5)]


def test_a_problem_without_tasks_takes_no_time():
    assert simulate(cpu_gpu([]), on([])).makespan_ns == 0


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("order", ["fifo", "priority"])
def test_equal_runs_are_equal_and_random_placements_are_valid(seed, order):
    problem = small_random(seed, 30, 3)
    devices = [
        [d for d, t in enumerate(task.service_ns) if t is not None][-1] for task in problem.tasks
    ]
    placement = on(devices, list(reversed(range(30))))
    timeline = simulate(problem, placement, SimulatorParams(order))
    assert timeline == simulate(problem, placement, SimulatorParams(order))
    check(problem, placement, timeline)


@pytest.mark.parametrize(
    ("placement", "named"),
    [
        (Placement((0,), (0,), "p"), "1 devices and 1 priorities for 2 tasks"),
        (Placement((0, 2), (0, 1), "p"), "'t1': device 2"),
        (Placement((0, 1), (0, 1), "p"), "'t1' cannot run on device 'gpu'"),
        (Placement((0, 0), (1, 1), "p"), "same priority"),
    ],
)
def test_a_placement_that_does_not_fit_is_refused(placement, named):
    with pytest.raises(ValueError, match=named):
        simulate(cpu_gpu([(1, 1), (1, None)]), placement)


def test_an_unknown_order_is_refused():
    with pytest.raises(ValueError, match="'lifo'"):
        SimulatorParams("lifo")
