from random import Random

import pytest

from surplus.placement import Problem, policy_names
from surplus.placement.adversary import SearchParams, worst_case
from surplus.placement.adversary import __main__ as command
from surplus.placement.adversary.__main__ import main
from surplus.placement.adversary.genome import problem_of_genome, random_genome
from surplus.placement.adversary.mutation import mutated
from surplus.placement.adversary.search import OPTIMUM, measure_of

SHORT = SearchParams(seed=1, starts=2, steps=25, least_tasks=3, most_tasks=5)


def test_whatever_is_changed_is_a_problem_within_the_bounds():
    random = Random(0)
    genome = random_genome(random, 6)
    sizes = set()
    for _ in range(500):
        genome = mutated(random, genome, 4, 7)
        sizes.add(len(problem_of_genome(genome, "changed").tasks))
    assert sizes == {4, 5, 6, 7}


@pytest.mark.parametrize("against", ["heft", OPTIMUM])
def test_a_search_finds_the_same_again_and_it_is_as_bad_as_it_says(against):
    worst = worst_case("single", against, SHORT)
    assert worst == worst_case("single", against, SHORT)
    assert worst.target_ns == measure_of("single")(worst.problem)
    assert worst.against_ns == measure_of(against)(worst.problem)
    assert worst.ratio > 1.05
    assert 3 <= len(worst.problem.tasks) <= 5
    assert worst.problem.notes["found"].endswith(f"times as long as {against}")


def test_more_steps_find_no_less():
    """A start climbs as before, and then on; further starts are further problems."""
    one = SearchParams(seed=1, starts=1, steps=10, least_tasks=3, most_tasks=4)
    more = SearchParams(seed=1, starts=1, steps=60, least_tasks=3, most_tasks=4)
    assert worst_case("single", "heft", more).ratio >= worst_case("single", "heft", one).ratio


@pytest.mark.parametrize("name", policy_names())
def test_every_policy_can_be_searched(name):
    tiny = SearchParams(starts=1, steps=2, least_tasks=3, most_tasks=3)
    assert worst_case(name, OPTIMUM, tiny).ratio >= 1


def test_the_command_writes_what_it_found(tmp_path, capsys):
    path = tmp_path / "found.json"
    words = ["--target", "single", "--against", "heft", "--tasks", "4", "--starts", "1"]
    assert main([*words, "--steps", "10", "-o", str(path)]) == 0
    problem = Problem.from_json(path.read_text())
    ratio = measure_of("single")(problem) / measure_of("heft")(problem)
    assert capsys.readouterr().out.startswith(f"{ratio:.3f}: single ")
    assert main(["--tasks", "9"]) == 2
    assert "tasks must be 1 to 8, got 5 to 9" in capsys.readouterr().err


def test_the_default_policy_is_searched_by_default(monkeypatch):
    asked = []

    def noted(target, against, params):
        asked.append((target, against))
        return worst_case("single", "heft", SHORT)

    monkeypatch.setattr(command, "worst_case", noted)
    assert main([]) == 0
    assert asked == [("auto", OPTIMUM)]


@pytest.mark.parametrize(
    "wrong", [{"starts": 0}, {"steps": 0}, {"least_tasks": 0}, {"least_tasks": 6, "most_tasks": 5}]
)
def test_what_is_out_of_range_is_refused(wrong):
    with pytest.raises(ValueError, match="must be"):
        SearchParams(**wrong)
