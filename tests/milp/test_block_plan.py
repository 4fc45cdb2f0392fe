import pytest

from surplus.milp.block_plan import cut_up, incumbent_of, join, plan_of_block
from surplus.milp.series import block_problem, series_blocks
from surplus.milp.starts import known_incumbents
from surplus.placement import validate
from surplus.placement.random_graphs import DetectorParams, detector, inception

PROBLEMS = [inception(0, 3), inception(1, 2, 3, 2), detector(2, DetectorParams(10, 2, 6, 2))]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_plans_are_cut_up_and_joined_again(problem):
    blocks = series_blocks(problem)
    for known in known_incumbents(problem):
        plans = cut_up(problem, blocks, known)
        assert sum(plan.makespan_ns for plan in plans) == known.makespan_ns
        joined = join(problem, plans, "joined")
        assert joined.makespan_ns <= known.makespan_ns
        assert joined.placement.device_of == known.placement.device_of
        assert validate(problem, joined.placement, joined.timeline) == []


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_a_blocks_plan_is_one_of_its_own_problem(problem):
    blocks = series_blocks(problem)
    tensor_of = {tensor.name: index for index, tensor in enumerate(problem.tensors)}
    known = next(known_incumbents(problem))
    for block, plan in zip(blocks, cut_up(problem, blocks, known), strict=True):
        ends = [[0, 1] if t is None else [plan.device_of[t]] for t in (block.first, block.last)]
        part = block_problem(problem, block, *ends)
        found = incumbent_of(part, block, plan, tensor_of)
        assert found.makespan_ns <= plan.makespan_ns
        back = plan_of_block(part, block, found, tensor_of)
        assert back.device_of == plan.device_of
        assert back.makespan_ns == found.makespan_ns
