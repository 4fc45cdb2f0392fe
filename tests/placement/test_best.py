import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surplus.placement import make_policy, simulate
from surplus.placement.best import Best, BestParams
from surplus.placement.random_graphs import DetectorParams, detector, inception, small_random
from tests.placement.hand_problems import cpu_gpu

ASKED = BestParams().policies


def makespan(problem, name):
    return simulate(problem, make_policy(name).place(problem)).makespan_ns


@given(seed=st.integers(0, 2**32), count=st.integers(1, 20))
@settings(max_examples=60)
def test_it_is_as_short_as_the_shortest(seed, count):
    problem = small_random(seed, count, 2)
    assert makespan(problem, "best") == min(makespan(problem, name) for name in ASKED)


@pytest.mark.parametrize(
    "problem",
    [detector(3, DetectorParams(20, 3, 16, 6)), inception(3, 8)],
    ids=["detector", "inception"],
)
def test_it_is_as_short_as_the_shortest_on_realistic_graphs(problem):
    assert makespan(problem, "best") == min(makespan(problem, name) for name in ASKED)


def test_ties_go_to_the_first():
    problem = cpu_gpu([(10, 5), (10, 5)], [(0, [1], 3)])
    best = Best(BestParams(("heft", "single"))).place(problem)
    heft = make_policy("heft").place(problem)
    assert (best.device_of, best.priority, best.policy) == (heft.device_of, heft.priority, "best")


@pytest.mark.parametrize("policies", [(), "heft", ("best",), ("fastest",)])
def test_wrong_lists_are_refused(policies):
    with pytest.raises(ValueError, match=r"policies must|unknown policy 'fastest'"):
        make_policy("best", policies=policies)
