from itertools import combinations

import pytest

from surplus.placement import Problem, lower_bounds, make_policy, simulate, validate
from surplus.placement.families import FAMILIES, family_problem
from surplus.placement.families.__main__ import main
from surplus.placement.graph_grower import MachineParams
from surplus.placement.widths import narrow

NAMES = (
    "detector",
    "inception",
    "recommender",
    "series-parallel",
    "layered",
    "fork-join",
    "transformer",
    "adversarial",
)


def test_all_families_are_there():
    assert tuple(FAMILIES) == NAMES


@pytest.mark.parametrize("name", FAMILIES)
def test_a_problem_has_exactly_as_many_tasks_as_asked_for(name):
    least = FAMILIES[name].least
    for tasks in (least, least + 1, least + 2, 31, 64, 200):
        for seed in range(3):
            assert len(family_problem(name, tasks, seed).tasks) == tasks


@pytest.mark.parametrize("name", FAMILIES)
def test_one_component_with_one_end(name):
    """Whatever the seed, all that is done is for the answer."""
    for seed in range(5):
        problem = family_problem(name, 60, seed)
        ends = [task for task, behind in enumerate(problem.successors) if not behind]
        assert ends == [59]
        (answer,) = [tensor for tensor in problem.tensors if tensor.is_output]
        assert answer.producer == 59


@pytest.mark.parametrize("name", FAMILIES)
def test_the_same_seed_is_the_same_problem_and_another_is_not(name):
    first, again, other = (family_problem(name, 60, seed) for seed in (4, 4, 5))
    assert first == again
    assert first.tasks != other.tasks


@pytest.mark.parametrize("name", FAMILIES)
def test_policies_place_it(name):
    problem = family_problem(name, 80, 1, MachineParams(cpu_lanes=2, gpu_lanes=2))
    timeline = simulate(problem, placed := make_policy("heft").place(problem))
    assert validate(problem, placed, timeline) == []
    assert timeline.makespan_ns >= lower_bounds(problem).makespan_ns


def test_families_differ():
    problems = [family_problem(name, 60, 0) for name in FAMILIES]
    for one, other in combinations(problems, 2):
        assert one.predecessors != other.predecessors


def test_too_few_tasks_and_unknown_families_are_refused():
    for name, family in FAMILIES.items():
        with pytest.raises(ValueError, match=f"tasks of '{name}' must be {family.least} to"):
            family_problem(name, family.least - 1, 0)
    with pytest.raises(ValueError, match="unknown family 'tree'; there are: detector, "):
        family_problem("tree", 60, 0)


def test_the_command_prints_a_problem(capsys):
    assert main(["layered", "--tasks", "40", "--seed", "7", "--gpu-lanes", "3"]) == 0
    problem = Problem.from_json(capsys.readouterr().out)
    assert problem == family_problem("layered", 40, 7, MachineParams(gpu_lanes=3))
    assert main(["layered", "--tasks", "40", "--seed", "7", "--gpu-lanes", "3", "--widths"]) == 0
    moldable = Problem.from_json(capsys.readouterr().out)
    assert moldable != problem
    assert narrow(moldable) == problem
    assert main(["detector", "--tasks", "4"]) == 2
    assert capsys.readouterr().err.startswith("families: error: tasks of 'detector' must be 17 to")
