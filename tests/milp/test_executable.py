"""What is called optimal is what a runtime does: holds make it keep to plans that idle."""

import json
from dataclasses import replace
from random import Random

import pytest

from surplus.milp import SolveParams, Status, solve
from surplus.milp.copies import copies_of
from surplus.milp.executable import executable
from surplus.milp.incumbent import make_incumbent
from surplus.milp.schedule import schedule_in_order
from surplus.milp.table import result_table
from surplus.placement import Hold, simulate, validate, with_holds
from surplus.placement.evaluator import makespan_ns
from surplus.placement.random_graphs import inception, small_random
from surplus.placement.stored_schedule_check import stored_faults
from tests.milp.problems import edge, two_devices
from tests.milp.test_fold import with_shapes
from tests.placement.held_placements import topological

# The CPU idles until 5 for t1, of which t3 waits; a runtime begins t2 at once.
WAITING = two_devices([(None, 5), (1, None), (20, None), (None, 30)], [edge(0, 1), edge(1, 3)])


def check_each_is_needed(problem, placement, length_ns):
    """Without any one of its holds a placement takes longer."""
    for field in ("holds", "copy_holds"):
        holds = getattr(placement, field)
        for index in range(len(holds)):
            rest = replace(placement, **{field: holds[:index] + holds[index + 1 :]})
            assert makespan_ns(problem, rest) > length_ns


@pytest.mark.parametrize("solver", ["cpsat", "highs"])
def test_an_optimum_that_idles_is_executed(solver):
    result = solve(WAITING, SolveParams(solver, time_limit_s=600, threads=1))
    assert (result.status, result.makespan_ns) == (Status.OPTIMAL, 36)
    assert (result.held_ns, result.dispatched_ns) == (36, 51)
    assert result.placement.holds == (Hold(1, 2),)
    assert result.placement.copy_holds == ()
    document = json.loads(result.to_json(WAITING))
    assert document["holds"] == [["t1", "t2"]]
    assert (document["held_ns"], document["dispatched_ns"]) == (36, 51)
    assert "1 of tasks, 0 of copies" in result_table(WAITING, result)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({}, None),
        ({"held_ns": 37}, "held_ns is 37, simulated 36"),
        ({"dispatched_ns": 36}, "dispatched_ns is 36, simulated 51"),
        ({"holds": []}, "held_ns is 36, simulated 51"),
        ({"holds": [["t1", "t9"]]}, "hold of task 't9', which is unknown"),
        (
            {"holds": [["t1", "t2"], ["t2", "t1"]]},
            "holds form a cycle: 't1' waits for 't2' waits for 't1'",
        ),
        ({"copy_holds": [["x", "y", "gpu"]]}, "hold of copy of tensor 'x', which is unknown"),
        ({"format": "surplus-optimum/2", "held_ns": None, "holds": []}, None),
    ],
)
def test_stored_holds_are_judged(change, fault):
    result = solve(WAITING, SolveParams("cpsat", time_limit_s=600, threads=1))
    document = {**json.loads(result.to_json(WAITING)), **change}
    assert stored_faults(WAITING, json.dumps(document)) == ([] if fault is None else [fault])


def planned(problem, random):
    """Of some placements at random, and schedules in their orders, that which idles best."""
    found = []
    for _ in range(6):
        placement = topological(problem, random.getrandbits(32))
        copies = {copy: random.random() for copy in copies_of(problem, placement.device_of)}
        timeline = schedule_in_order(problem, placement, random.choice([None, copies]))
        found.append((placement, timeline))
    return max(found, key=lambda pair: makespan_ns(problem, pair[0]) - pair[1].makespan_ns)


@pytest.mark.parametrize("part", range(8))
def test_nothing_is_done_later_than_in_the_planned_orders(part):
    random, held = Random(part), 0
    for _ in range(100):
        problem = small_random(random.getrandbits(32), random.randint(2, 30), 3)
        placement, timeline = planned(problem, random)
        found = with_holds(problem, placement, timeline)
        replayed = simulate(problem, found)
        assert validate(problem, found, replayed) == []
        assert replayed.makespan_ns <= timeline.makespan_ns
        assert replayed.makespan_ns == makespan_ns(problem, found)
        check_each_is_needed(problem, found, replayed.makespan_ns)
        held += bool(found.holds or found.copy_holds)
    assert held > 10


@pytest.mark.parametrize("seed", range(12))
def test_optima_of_small_problems_are_executed(seed):
    problem = small_random(seed, 9, 2)
    result = solve(problem, SolveParams("cpsat", time_limit_s=600, threads=1))
    assert result.held_ns == result.makespan_ns <= result.dispatched_ns
    assert simulate(problem, result.placement).makespan_ns == result.makespan_ns
    assert stored_faults(problem, result.to_json(problem)) == []


def test_a_plan_in_blocks_with_what_was_folded_beside_them():
    problem = with_shapes(inception(1, 4), 1)
    result = solve(problem, SolveParams("cpsat", 10))
    assert result.held_ns == result.makespan_ns
    assert stored_faults(problem, result.to_json(problem)) == []


def test_a_warm_start_with_holds_is_as_good_as_it_says():
    good = solve(WAITING, SolveParams("cpsat", time_limit_s=600, threads=1))
    again = solve(WAITING, SolveParams("cpsat", time_limit_s=1e-6, warm_start=good.placement))
    assert (again.makespan_ns, again.held_ns, again.dispatched_ns) == (36, 36, 51)


def test_a_plan_that_does_not_idle_has_no_holds():
    problem = two_devices([(3, None), (4, None), (None, 5)], [edge(0, 2)])
    found = executable(problem, make_incumbent(problem, [0, 0, 1], [0, 3, 3], "by hand"))
    assert found.placement.holds == found.placement.copy_holds == ()
    assert found.held_ns == found.dispatched_ns == found.makespan_ns == 8


def test_holds_help_where_a_thread_submits_although_nothing_plans_for_it():
    # As WAITING, each task of the GPU submitted for 1 first: 7 until t1 ends, 1 and 30 for t3.
    host, gpu = WAITING.devices
    problem = replace(WAITING, devices=(host, replace(gpu, submit_ns=1)))
    result = solve(problem, SolveParams("cpsat", time_limit_s=5, threads=1))
    assert (result.makespan_ns, result.held_ns, result.dispatched_ns) == (38, 38, 52)
    assert result.placement.holds == (Hold(1, 2),)
    assert stored_faults(problem, result.to_json(problem)) == []
