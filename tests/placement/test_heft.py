from dataclasses import replace

from surplus.placement import make_policy, simulate
from surplus.placement.evaluator import compiled
from tests.placement.hand_problems import CPU, GPU, cpu_gpu, task_times

# t0 -> t1 -> t3 and t0 -> t2 -> t3; each tensor takes 4 from memory to memory, 2 on average over
# the four pairs of devices (two of them need no copy).
DIAMOND = cpu_gpu(
    [(12, 4), (9, 7), (6, 8), (12, 4)],
    [(0, [1, 2], 4), (1, [3], 4), (2, [3], 4)],
)


def test_upward_ranks_are_means():
    # t3: 8. t1: 8 + 2 + 8 = 18. t2: 7 + 2 + 8 = 17. t0: 8 + 2 + 18 = 28.
    assert compiled(DIAMOND).mean_upward_ranks().tolist() == [28, 18, 17, 8]


def test_each_task_goes_where_it_ends_earliest():
    # t0: GPU 4 against CPU 12. t1: GPU 4+7 = 11 against CPU 4+4+9 = 17.
    # t2: CPU 4+4+6 = 14 against GPU 11+8 = 19. t3: GPU max(11, 14+4)+4 = 22 against CPU 15+12.
    placement = make_policy("heft").place(DIAMOND)
    assert placement.device_of == (GPU, GPU, CPU, GPU)
    assert placement.priority == (0, 1, 2, 3)
    assert simulate(DIAMOND, placement).makespan_ns == 22


def test_a_later_task_fills_a_gap():
    # By rank: t0 (30), t2 (22), then t1 (9). t2 waits for its data until 30 on its only device,
    # t1 starts at 0 in the gap before it although it comes later.
    problem = cpu_gpu([(None, 10), (9, None), (12, None)], [(0, [2], 20)])
    placement = make_policy("heft").place(problem)
    assert task_times(simulate(problem, placement)) == [(0, 0, 10), (0, 0, 9), (30, 30, 42)]
    assert placement.priority == (0, 1, 2)


def test_lanes_are_machines():
    problem = cpu_gpu([(10, 99)] * 4, cpu_lanes=2)
    placement = make_policy("heft").place(problem)
    assert placement.device_of == (CPU,) * 4
    assert simulate(problem, placement).makespan_ns == 20


def test_a_wide_task_waits_for_all_of_its_lanes():
    # On the CPU it would end at 10 + 5, on the GPU at 14.
    problem = cpu_gpu([(10, None), (5, 14)], [], cpu_lanes=2, widths={1: (2, 1)})
    ranks = compiled(problem).mean_upward_ranks()
    assert ranks[0] > ranks[1]
    assert make_policy("heft").place(problem).device_of == (CPU, GPU)


def test_the_way_home_of_an_output_counts():
    # GPU 5 + 20 home against CPU 10.
    problem = cpu_gpu([(10, 5)], [(0, [], 20, True)])
    assert make_policy("heft").place(problem).device_of == (CPU,)


def submitting(problem, submit_ns, launch_ns=0):
    """The problem with a GPU whose thread each task holds."""
    host, gpu = problem.devices
    tasks = tuple(replace(t, launch_ns=(0, launch_ns)) for t in problem.tasks)
    return replace(problem, devices=(host, replace(gpu, submit_ns=submit_ns)), tasks=tasks)


def test_the_submitting_thread_is_one_machine():
    # GPU 6 + 2 against CPU 10; then GPU 6 + 6 + 2 against CPU 10; then that against CPU 20.
    problem = submitting(cpu_gpu([(10, 2)] * 3), 6)
    placement = make_policy("heft").place(problem)
    assert placement.device_of == (GPU, CPU, GPU)
    assert simulate(problem, placement).makespan_ns == 14
    assert make_policy("heft").place(cpu_gpu([(10, 2)] * 3)).device_of == (GPU,) * 3


def test_launches_hold_the_thread_after_the_start():
    # The second task's submission waits until 1 + 8, so the CPU ends earlier.
    problem = submitting(cpu_gpu([(10, 2)] * 2), 1, launch_ns=8)
    placement = make_policy("heft").place(problem)
    assert placement.device_of == (GPU, CPU)


def test_a_task_is_submitted_while_its_inputs_are_made():
    # t0 3 to 13; t1 is submitted from 10 on and starts at 13: 15 against CPU 13 + 3 + 9.
    problem = submitting(cpu_gpu([(90, 10), (9, 2)], [(0, [1], 3)]), 3)
    placement = make_policy("heft").place(problem)
    assert placement.device_of == (GPU, GPU)
    assert simulate(problem, placement).makespan_ns == 15
