import pytest

from surplus.milp.deadline import Deadline
from surplus.milp.incumbent import make_incumbent
from surplus.milp.standing import Standing
from surplus.placement import ContradictionError
from tests.milp.clock import Clock
from tests.milp.problems import two_devices

PROBLEM = two_devices([(10, 10), (10, 10)])
ALONE = make_incumbent(PROBLEM, [0, 0], [0, 0], "alone")
SIDE_BY_SIDE = make_incumbent(PROBLEM, [0, 1], [0, 0], "side by side")


def standing(clock=None, gap=0.0):
    seen = []
    return Standing("hand, cpsat", gap, Deadline.after(9, clock or Clock()), seen.append), seen


def test_the_best_plan_and_bound_stay():
    found, _ = standing()
    found.offer(SIDE_BY_SIDE)
    found.offer(ALONE)
    found.offer(None)
    found.raise_bound(7)
    found.raise_bound(5)
    assert (found.best, found.bound_ns, found.gap()) == (SIDE_BY_SIDE, 7, 0.3)


def test_each_change_is_told_and_kept_with_its_time():
    clock = Clock()
    found, seen = standing(clock)
    found.raise_bound(5)
    clock.now_s += 2
    found.offer(ALONE)
    found.raise_bound(5)
    clock.now_s += 1
    found.offer(SIDE_BY_SIDE)
    assert seen == found.history
    assert [(s.elapsed_s, s.makespan_ns, s.bound_ns, s.gap) for s in seen] == [
        (0, None, 5, None),
        (2, 20, 5, 0.75),
        (3, 10, 5, 0.5),
    ]


def test_a_bound_above_a_plan_is_told_at_once():
    found, seen = standing()
    found.offer(SIDE_BY_SIDE)
    with pytest.raises(ContradictionError, match=r"hand, cpsat: .* 11 ns is above a plan of 10 ns"):
        found.raise_bound(11)
    assert len(seen) == 1


def test_the_gap_that_was_asked_for_is_enough():
    found, _ = standing(gap=0.5)
    found.offer(ALONE)
    found.raise_bound(9)
    assert not found.proven()
    found.raise_bound(10)
    assert found.proven()
