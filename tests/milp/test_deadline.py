from surplus.milp.deadline import Deadline
from tests.milp.clock import Clock


def test_time_runs_out():
    clock = Clock()
    deadline = Deadline.after(10, clock)
    clock.now_s += 4
    assert (deadline.left_s, deadline.is_over) == (6, False)
    clock.now_s += 7
    assert (deadline.left_s, deadline.is_over) == (0, True)


def test_a_part_ends_earlier_and_never_later():
    clock = Clock()
    deadline = Deadline.after(10, clock)
    clock.now_s += 2
    assert deadline.part(0.25).left_s == 2
    assert deadline.within(3).left_s == 3
    assert deadline.within(30).left_s == 8
    clock.now_s += 20
    assert deadline.part(0.5).is_over


def test_it_can_be_cancelled():
    cancelled = []
    deadline = Deadline.after(10, Clock()).unless(lambda: bool(cancelled))
    assert not deadline.is_over
    cancelled.append(True)
    assert (deadline.is_over, deadline.left_s, deadline.part(0.5).is_over) == (True, 0, True)
