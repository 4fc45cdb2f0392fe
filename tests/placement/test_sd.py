import pytest

from surplus.placement import make_policy
from surplus.placement.sd import SD, SDParams
from tests.placement.hand_problems import CPU, GPU, cpu_gpu

# Extra time on the CPU: -2, 0, 99 and 100 us; t4 lives on the CPU, t5 cannot run there.
US = 1_000
SERVICES = [
    (3 * US, 5 * US),
    (5 * US, 5 * US),
    (109 * US, 10 * US),
    (110 * US, 10 * US),
    (900 * US, 10 * US),
    (None, 10 * US),
]
DEFAULTS = [GPU, GPU, GPU, GPU, CPU, GPU]


def test_marginal_slowdowns_go_to_the_host():
    # The threshold is strict; whether the GPU would be faster for t4 is not asked.
    placement = SD().place(cpu_gpu(SERVICES, defaults=DEFAULTS))
    assert placement.device_of == (CPU, CPU, CPU, GPU, CPU, GPU)


def test_the_threshold_is_an_option():
    problem = cpu_gpu(SERVICES, defaults=DEFAULTS)
    assert SD(SDParams(0)).place(problem).device_of == (CPU, GPU, GPU, GPU, CPU, GPU)
    wide_open = make_policy("sd", alpha_ns=100_001).place(problem)
    assert wide_open.device_of == (CPU, CPU, CPU, CPU, CPU, GPU)


def test_data_does_not_matter():
    problem = cpu_gpu([(9, 5), (9, None)], [(0, [1], 0)])
    assert SD().place(problem).device_of == (CPU, CPU)
    huge = cpu_gpu([(900_000, 5), (9, 5)], [(0, [1], 10**9)])
    assert SD().place(huge).device_of == (GPU, CPU)


def test_a_negative_threshold_is_refused():
    with pytest.raises(ValueError, match="alpha_ns must be >= 0, got -1"):
        SDParams(-1)
