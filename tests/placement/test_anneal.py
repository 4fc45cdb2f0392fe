"""Annealing: never worse, repeatable, honest about what it found, and it ends when told to."""

import os
from contextlib import suppress
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surplus.placement import Placement, lower_bounds, make_policy, memory_use, simulate, validate
from surplus.placement._evaluator import Annealing
from surplus.placement.anneal import AnnealParams, improved
from surplus.placement.evaluator import compiled, makespan_ns
from surplus.placement.fit_memory import InfeasibleError
from surplus.placement.random_graphs import (
    DetectorParams,
    MachineParams,
    detector,
    inception,
    small_random,
)
from surplus.placement.room import fits
from tests.placement.exhaustive import best_dispatch_ns
from tests.placement.featured_problems import crowded, featured, placed
from tests.placement.hand_problems import CPU, GPU, cpu_gpu, on
from tests.placement.limited_problems import with_limits, with_weights

SHORT = AnnealParams(iterations=300)
DETECTOR = detector(3, DetectorParams(20, 3, 16, 6))
INCEPTION = inception(3, 12)
realistic = pytest.mark.parametrize("problem", [DETECTOR, INCEPTION], ids=["detector", "inception"])


@given(seed=st.integers(0, 2**32), tasks=st.integers(0, 40), devices=st.integers(1, 4))
@settings(max_examples=200, deadline=None)
def test_it_is_never_longer_and_says_how_long_it_is(seed, tasks, devices):
    problem = featured(seed, tasks, devices)
    start = placed(problem, seed)
    found = improved(problem, start, SHORT)
    timeline = simulate(problem, found)
    assert validate(problem, found, timeline) == []
    assert timeline.makespan_ns == makespan_ns(problem, found) <= makespan_ns(problem, start)


@pytest.mark.parametrize("part", range(4))
def test_hundreds_of_problems_with_everything_are_played_again_rightly(part):
    # What it believes to be the best makespan it compares with a whole simulation in the end.
    for seed in range(part * 100, part * 100 + 100):
        problem = featured(seed, 10 + seed % 90, 1 + seed % 4)
        improved(problem, placed(problem, seed), AnnealParams(iterations=400, seed=seed))


@pytest.mark.parametrize("seed", range(8))
def test_dozens_of_tasks_and_copies_at_once_are_played_again_rightly(seed):
    problem = crowded(seed, 250)
    improved(problem, placed(problem, seed), AnnealParams(iterations=400, seed=seed))


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("lanes", [1, 3])
@realistic
def test_realistic_graphs_become_shorter(problem, lanes, streams):
    cpu, gpu = (replace(device, lanes=lanes) for device in problem.devices)
    if streams:
        gpu = replace(gpu, submit_ns=4_000, slowdown=(1.0, 1.2))
    problem = replace(problem, devices=(cpu, gpu))
    start = make_policy("single").place(problem)
    found = improved(problem, start, AnnealParams(iterations=4_000))
    assert validate(problem, found, simulate(problem, found)) == []
    assert lower_bounds(problem).makespan_ns <= makespan_ns(problem, found)
    assert makespan_ns(problem, found) < makespan_ns(problem, start)


@pytest.mark.parametrize("seed", range(30))
def test_tiny_problems_are_solved(seed):
    problem = small_random(seed, 1 + seed % 5)
    found = improved(problem, placed(problem, seed), AnnealParams(iterations=3_000))
    assert makespan_ns(problem, found) == best_dispatch_ns(problem)


@realistic
def test_a_seed_repeats_and_another_one_searches_elsewhere(problem):
    start = make_policy("single").place(problem)
    found = {seed: improved(problem, start, AnnealParams(seed=seed)) for seed in range(3)}
    assert all(found[s] == improved(problem, start, AnnealParams(seed=s)) for s in found)
    assert len({placement.priority for placement in found.values()}) > 1


def test_the_policy_goes_on_from_another():
    start = make_policy("heft").place(DETECTOR)
    found = make_policy("anneal", start="heft").place(DETECTOR)
    assert found.policy == "anneal"
    assert makespan_ns(DETECTOR, found) < makespan_ns(DETECTOR, start)
    assert found == improved(DETECTOR, start)


def test_tasks_that_can_run_on_one_device_alone_stay_there():
    pinned = [replace(t, service_ns=(None, t.service_ns[GPU])) for t in DETECTOR.tasks[::2]]
    tasks = tuple(pinned[i // 2] if i % 2 == 0 else t for i, t in enumerate(DETECTOR.tasks))
    problem = replace(DETECTOR, tasks=tasks)
    found = make_policy("anneal").place(problem)
    assert set(found.device_of[::2]) == {GPU}
    assert CPU in found.device_of[1::2]


def test_memories_hold_what_it_finds():
    bound = 0
    for seed in range(25):
        problem = with_weights(small_random(seed, 25), seed)
        free = improved(problem, placed(problem, seed), SHORT)
        for memory, use in memory_use(problem, free, simulate(problem, free)).items():
            limited = with_limits(problem, **{memory: use.peak_bytes * 9 // 10})
            with suppress(InfeasibleError):
                found = improved(limited, make_policy("heft").place(limited), SHORT)
                assert fits(limited, found)
                bound += 1
    assert bound > 5, "hardly anything fits into these limits"


def test_a_start_that_does_not_fit_is_made_to_fit():
    problem = cpu_gpu([(9, 1), (9, 1)], [(0, (1,), 3)])
    problem = replace(problem, tasks=tuple(replace(t, weight_bytes=60) for t in problem.tasks))
    limited = with_limits(problem, gpu=100)
    assert not fits(limited, on([GPU, GPU]))
    found = improved(limited, on([GPU, GPU]), SHORT)
    assert sorted(found.device_of) == [CPU, GPU]
    assert fits(limited, found)


def test_the_native_search_refuses_what_does_not_fit():
    problem = cpu_gpu([(9, 1)])
    constants = ([-1, 10], [20], [()], [])
    with pytest.raises(ValueError, match="does not fit into the memories"):
        begun(problem, on([GPU]), constants=constants)
    with pytest.raises(ValueError, match="'t0'"):
        begun(problem, on([7]))
    with pytest.raises(ValueError, match="for each memory"):
        begun(problem, on([GPU]), constants=([-1], [20], [()], []))
    with pytest.raises(ValueError, match="blob 3"):
        begun(problem, on([GPU]), constants=([-1, 10], [20], [(3,)], []))
    with pytest.raises(ValueError, match="a limit"):
        begun(problem, on([GPU]), evaluations=0)


def begun(problem, placement, constants=([], [], [], []), **options):
    numbers = [np.array(row, dtype=np.int64) for row in (placement.device_of, placement.priority)]
    limits = {"seed": 0, "evaluations": 9, "time_ns": 0, "threads": 1, "target_ns": 0}
    return Annealing(compiled(problem), *numbers, constants, **{**limits, **options})


def test_a_time_ends_it():
    found = improved(DETECTOR, make_policy("single").place(DETECTOR), AnnealParams(time_s=1.0))
    assert makespan_ns(DETECTOR, found) < makespan_ns(
        DETECTOR, make_policy("single").place(DETECTOR)
    )


def test_it_is_stopped_and_keeps_the_best():
    start, seen, asked = make_policy("single").place(DETECTOR), [], count()
    found = improved(
        DETECTOR,
        start,
        AnnealParams(time_s=1e6),
        stop=lambda: next(asked) > 1,
        report=lambda elapsed_s, best_ns: seen.append((elapsed_s, best_ns)),
    )
    assert seen == sorted(seen, key=lambda row: (row[0], -row[1]))
    assert makespan_ns(DETECTOR, found) <= seen[-1][1] < makespan_ns(DETECTOR, start)


def test_what_who_watches_raises_ends_it():
    def refuse(elapsed_s, best_ns):
        raise KeyboardInterrupt

    start = make_policy("single").place(DETECTOR)
    with pytest.raises(KeyboardInterrupt):
        improved(DETECTOR, start, AnnealParams(time_s=1e6), report=refuse)


def test_a_target_that_is_met_ends_it():
    start = make_policy("single").place(DETECTOR)
    target_ns = makespan_ns(DETECTOR, start)
    found = improved(DETECTOR, start, AnnealParams(time_s=1e6), target_ns=target_ns)
    assert (found.device_of, found.priority) == (start.device_of, start.priority)


def test_threads_search_side_by_side():
    cores = len(os.sched_getaffinity(0))
    start = make_policy("single").place(INCEPTION)
    alone = begun(INCEPTION, start, evaluations=500)
    together = begun(INCEPTION, start, evaluations=500, threads=3)
    while not (alone.wait(10**9) and together.wait(10**9)):
        continue
    assert (alone.evaluations, together.evaluations) == (500, 1500)
    for threads in (0, 2, cores + 5):
        found = improved(INCEPTION, start, AnnealParams(iterations=500, threads=threads))
        assert validate(INCEPTION, found, simulate(INCEPTION, found)) == []
        assert makespan_ns(INCEPTION, found) < makespan_ns(INCEPTION, start)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"time_s": -1}, "time_s"),
        ({"time_s": float("nan")}, "time_s"),
        ({"iterations": 0}, "iterations"),
        ({"seed": -1}, "seed"),
        ({"threads": -1}, "threads"),
        ({"start": "anneal"}, "start"),
        ({"start": "fastest"}, "unknown policy 'fastest'"),
    ],
)
def test_options_out_of_range_are_refused(options, named):
    with pytest.raises(ValueError, match=named):
        make_policy("anneal", **options)


def test_a_start_of_another_problem_is_refused():
    with pytest.raises(ValueError, match="1 devices"):
        improved(DETECTOR, Placement((0,), (0,), "p"))
    with pytest.raises(ValueError, match="placement: "):
        improved(cpu_gpu([(1, 1)]), Placement((0,), (2**63,), "p"))


def test_several_links_pools_and_a_thread():
    machine = MachineParams(4, 2, occupancy_ns=2_000)
    problem = detector(1, DetectorParams(20, 3, 30, 5), machine)
    links = tuple(replace(k, staging_bytes=20_000, pageable=True) for k in problem.links)
    problem = replace(problem, links=links)
    found = improved(problem, make_policy("heft").place(problem), AnnealParams(iterations=3_000))
    assert validate(problem, found, simulate(problem, found)) == []
