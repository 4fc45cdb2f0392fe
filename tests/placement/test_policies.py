"""What must hold for every policy, present and future."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surplus.placement import (
    SimulatorParams,
    keeps_devices,
    lower_bounds,
    make_policy,
    policy_names,
    policy_options,
    register,
    simulate,
    validate,
)
from surplus.placement.random_graphs import DetectorParams, detector, inception, small_random
from tests.placement.hand_problems import cpu_gpu

problems = st.builds(
    small_random,
    seed=st.integers(0, 2**32),
    task_count=st.integers(1, 25),
    device_count=st.integers(1, 3),
)
everywhere = pytest.mark.parametrize("name", policy_names())


def test_the_policies_of_the_paper_are_there():
    assert {"single", "qd_all", "qd", "sd", "comm_sd"} <= set(policy_names())


@everywhere
@given(problem=problems, order=st.sampled_from(["fifo", "priority"]))
@settings(max_examples=60)
def test_placements_run_validly_and_not_below_the_bound(name, problem, order):
    placement = make_policy(name).place(problem)
    timeline = simulate(problem, placement, SimulatorParams(order))
    assert validate(problem, placement, timeline) == []
    assert timeline.makespan_ns >= lower_bounds(problem).makespan_ns


@everywhere
@pytest.mark.parametrize(
    "problem",
    [detector(3, DetectorParams(20, 3, 16, 6)), inception(3, 8)],
    ids=["detector", "inception"],
)
def test_realistic_graphs(name, problem):
    placement = make_policy(name).place(problem)
    timeline = simulate(problem, placement)
    assert validate(problem, placement, timeline) == []
    assert timeline.makespan_ns >= lower_bounds(problem).makespan_ns
    assert placement == make_policy(name).place(problem), "a policy is a pure function"
    assert placement.policy == name


@everywhere
def test_the_names_of_tasks_and_tensors_decide_nothing(name):
    problem = small_random(5, 20, 2)
    renamed = replace(
        problem,
        tasks=tuple(replace(t, name=f"z{i * 7919 % 23}.{i}") for i, t in enumerate(problem.tasks)),
    )
    assert make_policy(name).place(renamed) == make_policy(name).place(problem)


@everywhere
def test_one_device_and_no_tasks(name):
    one = small_random(1, 12, 1)
    assert set(make_policy(name).place(one).device_of) == {0}
    assert make_policy(name).place(cpu_gpu([])).device_of == ()


@everywhere
def test_unknown_options_are_refused(name):
    with pytest.raises(ValueError, match=f"policy '{name}'.*colour"):
        make_policy(name, colour="red")


def test_options_are_listed():
    assert policy_options("comm_sd") == ("alpha_ns", "max_iterations", "order", "compare")
    assert policy_options("heft") == ()


def test_only_the_baseline_is_a_choice_of_devices() -> None:
    assert [name for name in policy_names() if keeps_devices(name)] == ["single"]


@pytest.mark.parametrize("ask", [make_policy, policy_options, keeps_devices])
def test_an_unknown_policy_is_refused_with_the_known_ones(ask):
    with pytest.raises(ValueError, match=r"'fastest'; there are: .*single.*comm_sd"):
        ask("fastest")


def test_a_name_is_given_once():
    with pytest.raises(ValueError, match="'single' is registered twice"):
        register("single")(object)


def test_heft_beats_the_baseline_on_a_detector():
    problem = detector(1, DetectorParams(40, 4, 24, 6))
    makespan = {
        name: simulate(problem, make_policy(name).place(problem)).makespan_ns
        for name in ("single", "heft", "comm_sd", "comm_sd_best")
    }
    assert makespan["heft"] < makespan["single"]
    assert makespan["comm_sd_best"] <= makespan["comm_sd"]
