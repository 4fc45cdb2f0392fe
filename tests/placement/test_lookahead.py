from surplus.placement import make_policy, simulate
from tests.placement.hand_problems import CPU, GPU, cpu_gpu
from tests.placement.test_peft import TRAP


def test_the_readers_decide():
    placement = make_policy("lookahead").place(TRAP)
    assert placement.device_of == (GPU, GPU)
    assert simulate(TRAP, placement).makespan_ns == 20


def test_all_readers_count_and_crowd_each_other():
    # From the GPU one reader ends there at 10 + 20, the other on the CPU at 10 + 5 + 30. From the
    # CPU one ends there at 9 + 30, the other on the GPU at 9 + 5 + 20.
    problem = cpu_gpu([(9, 10), (30, 20), (30, 20)], [(0, [1, 2], 5)])
    placement = make_policy("lookahead").place(problem)
    assert placement.device_of[0] == CPU
    assert simulate(problem, placement).makespan_ns == 39


def test_what_a_reader_is_tried_with_leaves_no_trace():
    # Ten tasks that all look ahead: lanes would be full of trials if they stayed booked.
    problem = cpu_gpu([(9, 3)] * 20, [(i, [i + 10], 0) for i in range(10)])
    assert simulate(problem, make_policy("lookahead").place(problem)).makespan_ns <= 9 + 14 * 3
