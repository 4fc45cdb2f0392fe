"""The native evaluator and the simulator agree on who is held, on every kind of device."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surplus.placement import CopyHold, Hold, simulate, validate
from surplus.placement.evaluator import arrays, compiled, makespan_ns
from surplus.placement.noise import NoiseParams, NoisyProblem
from tests.placement.featured_problems import featured
from tests.placement.hand_problems import CPU, GPU, cpu_gpu, on
from tests.placement.held_placements import held
from tests.placement.test_evaluator import ORDERS, agree
from tests.placement.test_holds import URGENT, WAITING, with_holds


@given(
    seed=st.integers(0, 2**32),
    task_count=st.integers(0, 40),
    device_count=st.integers(1, 4),
    order=st.sampled_from(ORDERS),
    share=st.sampled_from([0.1, 0.5, 1.0]),
)
@settings(max_examples=300, deadline=None)
def test_small_problems_with_everything(seed, task_count, device_count, order, share):
    problem = featured(seed, task_count, device_count)
    agree(problem, held(problem, seed, share), order)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(3))
def test_large_problems_with_everything(seed, order):
    problem = featured(seed, 400, 4)
    agree(problem, held(problem, seed, 0.05), order)


def test_what_is_held_keeps_the_rules():
    random = Random(0)
    for _ in range(300):
        problem = featured(random.getrandbits(32), random.randint(1, 30), random.randint(1, 4))
        placement = held(problem, random.getrandbits(32))
        assert validate(problem, placement, simulate(problem, placement)) == []


def test_holds_of_one_evaluation_are_forgotten_in_the_next():
    placement = with_holds(URGENT, Hold(1, 2))
    for _ in range(3):
        assert makespan_ns(WAITING, placement) == 36
        assert makespan_ns(WAITING, URGENT) == 51


def test_a_promise_under_noise_counts_holds():
    noisy = NoisyProblem(WAITING, NoiseParams(deviation=0.0, samples=2))
    assert noisy.promise(with_holds(URGENT, Hold(1, 2))).p50_ns == 36
    assert noisy.promise(URGENT).p50_ns == 51


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ([(9, 1, -1)], "hold: tensor 9 is unknown"),
        ([(0, 9, -1)], "hold: task 9 is unknown"),
        ([(0, 9, 1)], "hold: tensor 9 is unknown"),
        ([(0, 1, 5)], "hold: memory 5 is unknown"),
        ([(1, 0, -1)], "cycle: task 't0' is never ready"),
        ([(0, 1)], "three columns"),
    ],
)
def test_rows_that_are_wrong_are_refused(rows, named):
    problem = cpu_gpu([(1, 1), (1, 1)], [(0, [1], 4), (1, [], 4, True)])
    plan = arrays(problem, on([CPU, GPU]))
    with pytest.raises(ValueError, match=named):
        compiled(problem).makespan_ns(*plan, False, np.array(rows, np.int64))


def test_the_evaluator_refuses_by_name_as_the_simulator_does():
    with pytest.raises(ValueError, match="'t1' waits for 't2' waits for 't1'"):
        makespan_ns(WAITING, with_holds(URGENT, Hold(1, 2), Hold(2, 1)))
    with pytest.raises(ValueError, match="'x0' is not copied to 'gpu'"):
        makespan_ns(WAITING, with_holds(URGENT, CopyHold(0, 1, "gpu")))
