import pytest

from surplus.placement import make_policy, simulate
from surplus.placement.evaluator import compiled
from tests.placement.hand_problems import CPU, GPU, cpu_gpu

# Two tasks a little faster on the GPU, each with a reader that the CPU takes for ever for.
PAIRS = cpu_gpu([(12, 10), (12, 10), (1000, 10), (1000, 10)], [(0, [2], 100), (1, [3], 100)])


def tables(problem):
    return [numbers.tolist() for numbers in compiled(problem).hoft_tables()]


def test_optimistic_finishes():
    # A reader on the CPU: min(12, 10 + 100) + 1000; on the GPU: min(12 + 100, 10) + 10.
    assert tables(PAIRS)[0] == [[12, 10], [12, 10], [1012, 20], [1012, 20]]


def test_graph_inputs_come_from_the_host():
    assert tables(cpu_gpu([(12, 10)], [(-1, [0], 7)]))[0] == [[12, 17]]


def test_ranks_are_ratios_to_the_end():
    assert tables(PAIRS)[1] == pytest.approx([51.8, 51.8, 50.6, 50.6])
    assert tables(cpu_gpu([(0, 0)]))[1] == [1]


def test_what_readers_need_from_each_device():
    assert tables(PAIRS)[2] == [[110, 10], [110, 10], [0, 0], [0, 0]]
    assert tables(cpu_gpu([(None, 10)], [(0, [], 30, True)]))[2] == [[-1, 30]]


def test_a_task_stays_where_it_is_fast_if_its_readers_want_it_there():
    # The second task would end at 12 on the CPU and at 20 on the GPU: 8 are less than the 100 that
    # its reader then has to wait.
    assert make_policy("heft").place(PAIRS).device_of == (GPU, CPU, GPU, GPU)
    placement = make_policy("hoft").place(PAIRS)
    assert placement.device_of == (GPU,) * 4
    assert simulate(PAIRS, placement).makespan_ns == 40
    free = cpu_gpu([(12, 10), (12, 10)])
    assert make_policy("hoft").place(free).device_of == (GPU, CPU)
