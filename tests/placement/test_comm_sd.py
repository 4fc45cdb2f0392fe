"""Algorithm 1 by hand. A byte takes a nanosecond, the threshold is 100 us unless said."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surplus.placement import make_policy, simulate
from surplus.placement.comm_sd import CommSD, CommSDBest, CommSDBestParams, CommSDParams
from surplus.placement.communication import communication_ns
from surplus.placement.evaluator import compiled
from tests.placement.featured_problems import featured
from tests.placement.hand_problems import CPU, GPU, cpu_gpu

US = 1_000
HEAVY = (900 * US, 10 * US)  # never leaves the GPU
LIGHT = (20 * US, 10 * US)  # SD moves it: 10 us longer on the CPU
# A light task stays on the CPU while its copies take at most 10 + 100 - 20 = 90 us.


def place(problem, **options):
    return CommSD(CommSDParams(**options)).place(problem).device_of


def test_a_copy_takes_bytes_over_rate():
    # 50 us of copies: 20 + 50 <= 110. Multiplied by the rate of 10^9, as printed, it would go back.
    problem = cpu_gpu([HEAVY, LIGHT], [(0, [1], 50 * US)])
    assert place(problem) == (GPU, CPU)


@pytest.mark.parametrize(("size", "device"), [(90 * US, CPU), (90 * US + 1, GPU)])
def test_the_threshold_is_met_or_passed(size, device):
    assert place(cpu_gpu([HEAVY, LIGHT], [(0, [1], size)])) == (GPU, device)


def test_latency_and_occupancy_count_for_each_copy():
    # 50 + 50 us at 0 latency is too much, 30 + 30 is not; with 16 us for each copy it is.
    def two(size, **link):
        return cpu_gpu([HEAVY, HEAVY, LIGHT], [(0, [2], size), (1, [2], size)], **link)

    assert place(two(50 * US)) == (GPU, GPU, GPU)
    assert place(two(30 * US)) == (GPU, GPU, CPU)
    assert place(two(30 * US, latency_ns=10 * US, occupancy_ns=6 * US)) == (GPU, GPU, GPU)


def test_a_tensor_counts_once_per_memory():
    # t1's output has three readers on the GPU: one copy of 40 us, 20 + 40 <= 110.
    # Once per reader, as printed, 20 + 120 > 110 would send it back.
    problem = cpu_gpu([HEAVY, LIGHT, HEAVY, HEAVY, HEAVY], [(0, [1], 0), (1, [2, 3, 4], 40 * US)])
    assert communication_ns(problem, (GPU, CPU, GPU, GPU, GPU), 1) == 40 * US
    assert place(problem)[1] == CPU


# t1 -> t2 are both light. t2 also reads 100 us of data from the GPU and goes back in the first
# pass; only then t1's output of 95 us has to cross, and t1 follows in the second pass.
CASCADE = cpu_gpu([HEAVY, LIGHT, LIGHT], [(0, [2], 100 * US), (1, [2], 95 * US)])


def test_passes_repeat_until_nothing_changes():
    # Stopping once something changed, as printed, would leave t1 on the CPU.
    assert place(CASCADE, max_iterations=1) == (GPU, CPU, GPU)
    assert place(CASCADE, max_iterations=2) == (GPU, GPU, GPU)
    assert place(CASCADE) == (GPU, GPU, GPU)


def test_it_starts_from_sd_not_from_the_default_devices():
    # Nothing would ever leave the GPU: Algorithm 1 only moves to the fastest device.
    assert place(cpu_gpu([LIGHT, LIGHT])) == (CPU, CPU)
    assert place(cpu_gpu([HEAVY, LIGHT])) == (GPU, CPU)


def test_graph_inputs_and_outputs_live_on_the_host():
    # On the CPU the task has no copies at all: 500 us of input and output stay on the host.
    problem = cpu_gpu([LIGHT], [(-1, [0], 500 * US), (0, [], 500 * US, True)])
    assert communication_ns(problem, (CPU,), 0) == 0
    assert communication_ns(problem, (GPU,), 0) == 1_000 * US
    assert place(problem) == (CPU,)


def test_a_task_that_is_fastest_on_the_host_goes_back_if_its_data_is_dear():
    # 5 us on the CPU and 1 s of copy against 10 us on the GPU. As printed, F_i is the host.
    problem = cpu_gpu([HEAVY, (5 * US, 10 * US)], [(0, [1], 10**9)])
    assert place(problem) == (GPU, GPU)
    assert place(problem, compare="fastest") == (GPU, CPU)


def test_a_host_task_by_default_may_go_to_the_faster_device():
    # Its input of 95 us crosses and it is 10 us slower: 20 + 95 > 10 + 100.
    problem = cpu_gpu([HEAVY, LIGHT], [(0, [1], 95 * US)], defaults=[GPU, CPU])
    assert place(problem) == (GPU, GPU)


def test_the_best_threshold_is_the_one_of_the_shortest_makespan():
    # Four light tasks with one lane each side: at 100 us all go to the CPU, 80 us; at 0 none, 40.
    problem = cpu_gpu([LIGHT] * 4)
    assert simulate(problem, CommSD().place(problem)).makespan_ns == 80 * US
    best = CommSDBest(CommSDBestParams((100 * US, 0))).place(problem)
    assert (best.device_of, best.policy) == ((GPU,) * 4, "comm_sd_best")


@pytest.mark.parametrize(
    ("name", "options", "named"),
    [
        ("comm_sd", {"alpha_ns": -1}, "alpha_ns must be >= 0, got -1"),
        ("comm_sd", {"max_iterations": 0}, "max_iterations must be >= 1, got 0"),
        ("comm_sd", {"beta": 1}, "beta"),
        ("comm_sd_best", {"alphas_ns": ()}, "at least one"),
        ("comm_sd_best", {"alphas_ns": (1, -2)}, "got -2"),
    ],
)
def test_wrong_options_are_named(name, options, named):
    with pytest.raises(ValueError, match=named):
        make_policy(name, **options)


@given(seed=st.integers(0, 2**32), count=st.integers(0, 30), devices=st.integers(1, 4))
@settings(max_examples=200, deadline=None)
def test_the_native_choice_of_devices_is_the_same(seed, count, devices):
    problem = featured(seed, count, devices)
    default = np.array([task.default_device for task in problem.tasks], np.int64)
    for alpha_ns in (0, 5, 20, 60):
        expected = make_policy("comm_sd", alpha_ns=alpha_ns).place(problem).device_of
        assert tuple(compiled(problem).comm_sd(default, alpha_ns).tolist()) == expected


def test_the_native_choice_needs_a_default_device_for_each_task():
    asked = compiled(cpu_gpu([LIGHT, (None, 3)]))
    with pytest.raises(ValueError, match="a default device is needed for each task"):
        asked.comm_sd(np.array([GPU]), 5)
    with pytest.raises(ValueError, match="'t1' cannot run on its default device"):
        asked.comm_sd(np.array([GPU, CPU]), 5)
