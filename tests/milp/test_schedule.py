import pytest

from surplus.milp.incumbent import make_incumbent
from surplus.milp.schedule import placement_of, schedule_in_order
from surplus.placement import Placement, SpanKind, make_policy, policy_names, simulate, validate
from surplus.placement.random_graphs import small_random
from tests.milp.problems import edge, two_devices


@pytest.mark.parametrize("seed", range(40))
def test_planned_timelines_are_valid(seed):
    problem = small_random(seed, 10)
    for name in policy_names():
        placed = make_policy(name).place(problem)
        starts = [0] * len(problem.tasks)
        for span in simulate(problem, placed):
            if span.kind is SpanKind.TASK:
                starts[span.index] = span.start_ns
        ranked = placement_of(problem, placed.device_of, starts, name)
        assert validate(problem, ranked, schedule_in_order(problem, ranked)) == []
        made = make_incumbent(problem, placed.device_of, starts, name)
        assert validate(problem, made.placement, made.timeline) == []


def test_ranks_are_topological_whatever_the_rounding():
    problem = two_devices([(0, 0), (5, 5), (1, 1)], [edge(0, 1), edge(1, 2)])
    placed = placement_of(problem, [0, 0, 0], [1e-7, 0.0, -1e-9], "rounded")
    assert placed.priority == (0, 1, 2)


def test_a_lane_waits_for_the_planned_task():
    problem = two_devices([(None, 5), (1, None), (20, None)], [edge(0, 1)])
    placed = Placement((1, 0, 0), (0, 1, 2), "planned")
    spans = {s.name: s for s in schedule_in_order(problem, placed) if s.kind is SpanKind.TASK}
    assert (spans["t1"].start_ns, spans["t2"].start_ns) == (5, 6)
