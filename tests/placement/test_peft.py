import numpy as np

from surplus.placement import make_policy, simulate
from surplus.placement.evaluator import compiled
from surplus.placement.peft import mean_costs
from tests.placement.hand_problems import CPU, GPU, cpu_gpu

# The first task is a little faster on the CPU, where the second would take for ever and from where
# its data takes long.
TRAP = cpu_gpu([(9, 10), (1000, 10)], [(0, [1], 100)])


def test_optimistic_costs_are_those_of_the_best_devices_of_all_that_follows():
    # After t0 on the CPU: 100 to the GPU and 10 there; on the GPU: 10.
    assert compiled(TRAP).optimistic_costs_ns().tolist() == [[110, 10], [0, 0]]


def test_the_way_home_of_an_output_is_part_of_them():
    problem = cpu_gpu([(9, 10), (90, 10)], [(0, [1], 1), (1, [], 20, True)])
    # On the GPU 10 and 20 home; from the CPU a byte more. Or 90 on the CPU.
    assert compiled(problem).optimistic_costs_ns().tolist() == [[31, 30], [0, 20]]


def test_ranks_are_means_over_the_devices_that_can_run_a_task():
    assert mean_costs(np.array([[110, 10], [-1, 8], [0, 0]])).tolist() == [60, 8, 0]


def test_it_sees_what_heft_walks_into():
    assert make_policy("heft").place(TRAP).device_of == (CPU, GPU)
    placement = make_policy("peft").place(TRAP)
    assert placement.device_of == (GPU, GPU)
    assert simulate(TRAP, placement).makespan_ns == 20
