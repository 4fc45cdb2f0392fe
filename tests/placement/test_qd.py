import pytest

from surplus.placement.qd import QD, QDAll, QDParams
from tests.placement.hand_problems import CPU, GPU, cpu_gpu

# All ready at 0. Baseline on the GPU: t0 0-10, t1 10-20, t2 20-30, t3 30-40; they wait 0, 10, 20,
# 30. Ends on the GPU, and service on the CPU:
#   t1: 20 > 15 goes;  t2: 30 < 100 stays;  t3: 40 = 40 stays ("earlier" is strict).
# t0 does not wait: it stays although the CPU is faster.
SERVICES = [(1, 10), (15, 10), (100, 10), (40, 10)]


def test_qd_all_moves_every_task_that_waits():
    assert QDAll().place(cpu_gpu(SERVICES)).device_of == (GPU, CPU, CPU, CPU)


def test_qd_moves_those_that_end_earlier_on_the_host():
    assert QD().place(cpu_gpu(SERVICES)).device_of == (GPU, CPU, GPU, GPU)


def test_queueing_is_that_of_all_lanes_of_the_default_device():
    # On two streams t0 and t1 start at once, t2 and t3 wait 10: both end at 20 there.
    problem = cpu_gpu(SERVICES, gpu_lanes=2)
    assert QDAll().place(problem).device_of == (GPU, GPU, CPU, CPU)
    assert QD().place(problem).device_of == (GPU,) * 4


def test_waiting_for_data_is_not_queueing():
    # t1 is ready at 10 and starts then.
    problem = cpu_gpu([(1, 10), (1, 10)], [(0, [1], 100)])
    assert QDAll().place(problem).device_of == (GPU, GPU)


def test_tasks_that_the_host_cannot_run_stay_and_those_of_the_host_stay_there():
    problem = cpu_gpu([(5, 10), (None, 10), (5, 1), (5, 1)], defaults=[GPU, GPU, CPU, CPU])
    assert QDAll().place(problem).device_of == (GPU, GPU, CPU, CPU)


@pytest.mark.parametrize(
    ("cpu_lanes", "expected"),
    [
        # One lane: t1 takes it until 15. t2 would end at 30 there as on the GPU and stays; t3
        # would end at 30 instead of 40 and goes.
        (1, (GPU, CPU, GPU, CPU)),
        # Two lanes: t2 takes the second one. t3 then waits 15 and ends at 30 instead of 40.
        (2, (GPU, CPU, CPU, CPU)),
    ],
)
def test_with_the_hosts_queue_in_the_estimate_lanes_count(cpu_lanes, expected):
    problem = cpu_gpu([(15, 10)] * 4, cpu_lanes=cpu_lanes)
    assert QD(QDParams(host_queue=True)).place(problem).device_of == expected
    assert QD().place(problem).device_of == (GPU, CPU, CPU, CPU)


def test_a_wide_task_waits_for_all_of_its_lanes_in_that_estimate():
    # t1 takes one of two lanes until 15. t2 needs both and would end at 15 + 16 > 30.
    problem = cpu_gpu([(15, 10), (15, 10), (16, 10)], cpu_lanes=2, widths={2: (2, 1)})
    assert QD(QDParams(host_queue=True)).place(problem).device_of == (GPU, CPU, GPU)
    assert QD().place(problem).device_of == (GPU, CPU, CPU)
