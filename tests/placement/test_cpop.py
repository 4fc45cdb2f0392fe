from surplus.placement import make_policy, simulate
from surplus.placement.cpop import critical_path, mean_downward_ranks, path_device
from surplus.placement.evaluator import compiled
from tests.placement.hand_problems import CPU, GPU, cpu_gpu
from tests.placement.test_heft import DIAMOND


def lengths(problem):
    return compiled(problem).mean_upward_ranks() + mean_downward_ranks(problem)


def test_downward_ranks_are_means():
    # t1 and t2: 8 + 2. t3: max(10 + 8, 10 + 7) + 2.
    assert mean_downward_ranks(DIAMOND).tolist() == [0, 10, 10, 20]


def test_the_critical_path_is_the_longest():
    assert lengths(DIAMOND).tolist() == [28, 28, 27, 28]
    assert critical_path(DIAMOND, lengths(DIAMOND)) == [0, 1, 3]
    assert critical_path(cpu_gpu([]), lengths(cpu_gpu([]))) == []


def test_its_device_is_the_fastest_of_those_that_can_run_most_of_it():
    assert path_device(DIAMOND, [0, 1, 3]) == GPU
    assert path_device(cpu_gpu([(3, 4), (5, None), (20, 4)]), [0, 1, 2]) == CPU
    assert path_device(cpu_gpu([(None, 4), (5, None), (9, 4)]), [0, 1, 2]) == GPU


def test_the_path_runs_on_one_device_and_the_rest_where_it_ends_first():
    placement = make_policy("cpop").place(DIAMOND)
    assert placement.device_of == (GPU, GPU, CPU, GPU)
    assert simulate(DIAMOND, placement).makespan_ns == 22
    chain = cpu_gpu([(3, 4), (20, 4)], [(0, [1], 4)])
    assert make_policy("heft").place(chain).device_of == (CPU, GPU)
    assert make_policy("cpop").place(chain).device_of == (GPU, GPU)


def test_what_the_device_cannot_run_goes_elsewhere():
    problem = cpu_gpu([(None, 4), (5, None), (9, 4)], [(0, [1], 1), (1, [2], 1)])
    assert make_policy("cpop").place(problem).device_of == (GPU, CPU, GPU)
