import pytest

from surplus.placement.random_graphs import (
    DetectorParams,
    MachineParams,
    detector,
    inception,
    small_random,
)


def test_equal_seeds_make_equal_problems():
    assert detector(1) == detector(1) != detector(2)
    assert inception(1, 5) == inception(1, 5) != inception(2, 5)
    assert small_random(1, 9) == small_random(1, 9) != small_random(2, 9)


def test_a_detector_has_the_shape_that_its_sizes_say():
    problem = detector(0, DetectorParams(backbone=11, level_tasks=2, branches=80, branch_tasks=3))
    # Backbone, five levels, their join, the branches, the last join.
    assert len(problem.tasks) == 11 + 5 * 2 + 1 + 80 * 3 + 1
    assert max(len(after) for after in problem.successors) == 80
    assert [i for i, after in enumerate(problem.successors) if not after] == [
        len(problem.tasks) - 1
    ]
    assert [t.is_output for t in problem.tensors].count(True) == 1
    tiny = [t.service_ns[1] for t in problem.tasks if t.kind == "Gather"]
    assert 5_000 <= min(tiny) <= max(tiny) <= 14_000


def test_an_inception_is_a_chain_of_wide_blocks():
    problem = inception(0, 6, width=4, depth=3)
    joins = [i for i, task in enumerate(problem.tasks) if task.kind == "Concat"]
    assert len(joins) == 6
    assert all(len(problem.predecessors[join]) == 4 for join in joins)
    ratios = [t.service_ns[0] / t.service_ns[1] for t in problem.tasks if t.kind == "Conv"]
    assert 1.49 <= min(ratios) <= max(ratios) <= 12.01


def test_the_machine_is_an_argument():
    problem = detector(0, machine=MachineParams(4, 2, 7, 5, 1e9))
    assert [device.lanes for device in problem.devices] == [4, 2]
    assert problem.copy_ns(1, 0, 100) == 112


@pytest.mark.parametrize("sizes", [(4, 1, 1, 1), (5, 0, 1, 1), (5, 1, 0, 1), (5, 1, 1, 0)])
def test_sizes_out_of_range_are_refused(sizes):
    with pytest.raises(ValueError, match="needs a backbone of 5"):
        DetectorParams(*sizes)
