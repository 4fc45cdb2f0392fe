import pytest

from surplus.placement import make_policy, simulate
from surplus.placement.baseline import Single, SingleParams
from tests.placement.hand_problems import CPU, GPU, cpu_gpu, task_times

# t0 -> t3 -> t4 is the long way; t1 and t2 are short. t2 has no GPU kernel.
PROBLEM = cpu_gpu([(90, 10), (90, 10), (5, None), (90, 30), (90, 30)], [(0, [3], 0), (3, [4], 0)])


def test_everything_stays_where_todays_runtime_puts_it_in_topological_order():
    placement = Single().place(PROBLEM)
    assert placement.device_of == (GPU, GPU, CPU, GPU, GPU)
    assert placement.priority == (0, 1, 2, 3, 4)
    assert placement.policy == "single"
    assert task_times(simulate(PROBLEM, placement)) == [
        (0, 0, 10),
        (0, 10, 20),
        (0, 0, 5),
        (10, 20, 50),
        (50, 50, 80),
    ]


def test_by_upward_rank_the_long_way_goes_first():
    # Ranks: t0 10+30+30 = 70, t3 60, t4 30, t1 10, t2 5; starts: t0 and t2 at 0, t3 at 10,
    # t4 at 40, t1 at 70. At 0 the higher rank counts as earlier.
    placement = Single(SingleParams("rank")).place(PROBLEM)
    assert placement.priority == (0, 4, 1, 2, 3)
    assert simulate(PROBLEM, placement).makespan_ns == 80


@pytest.mark.parametrize("name", ["single", "qd_all", "qd", "sd", "comm_sd", "comm_sd_best"])
def test_an_unknown_order_is_refused_by_every_policy_that_has_one(name):
    with pytest.raises(ValueError, match=f"'{name}'.*'alphabetical'"):
        make_policy(name, order="alphabetical")
