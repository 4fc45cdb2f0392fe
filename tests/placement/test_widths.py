"""Moldable tasks: hand-worked cases, the native twins, bounds against exhaustive search."""

import json
from dataclasses import replace
from itertools import product
from random import Random

import numpy as np
import pytest

from surplus.placement import Rule, lower_bounds, make_policy, policy_names, simulate, validate
from surplus.placement.adversary.exhaustive import best_of_all_ns
from surplus.placement.anneal import AnnealParams, improved
from surplus.placement.evaluator import arrays, compiled, makespan_ns, placement_at
from surplus.placement.noise import NoiseParams, NoisyProblem
from surplus.placement.occupancy import busiest_of
from surplus.placement.path_bounds import bound_tables
from surplus.placement.periodic import periodic_schedule
from surplus.placement.placement import Placement
from surplus.placement.problem import Device, Problem, Task, Tensor
from surplus.placement.random_graphs import DetectorParams, MachineParams, detector, inception
from surplus.placement.random_widths import with_widths
from surplus.placement.stored_schedule import schedule_rows
from surplus.placement.stored_schedule_check import stored_faults
from surplus.placement.widths import is_moldable, least_work, molded, narrow, times_at
from tests.placement.exhaustive_schedule import instance, optimum
from tests.placement.featured_problems import featured, placed
from tests.placement.hand_problems import cpu_gpu
from tests.placement.test_evaluator import agree
from tests.placement.test_list_schedule import agree as lists_agree

MANY_LANES = MachineParams(4, 2)


def moldable(*times, lanes=2):
    """Tasks on a CPU alone; of each its time on 1 lane, on 2, and so on."""
    tasks = tuple(
        Task(f"t{i}", "Op", (row[0],), wider_ns=(tuple(enumerate(row[1:], 2)),))
        for i, row in enumerate(times)
    )
    return Problem("moldable", (Device("cpu", lanes),), (), tasks, ())


def at_widths(*widths):
    """All on the CPU."""
    return Placement((0,) * len(widths), tuple(range(len(widths))), "by hand", widths)


def with_random_widths(problem, placement, seed):
    """The same devices, at any widths."""
    random = Random(f"chosen {seed}")
    rows = zip(problem.tasks, placement.device_of, strict=True)
    widths = tuple(random.choice(times_at(task, device))[0] for task, device in rows)
    return replace(placement, width_of=widths)


def best_of_widths(problem):
    """The optimum over all devices and widths, each combination a problem of its own."""
    devices = range(len(problem.devices))
    choices = [[(d, *at) for d in devices for at in times_at(task, d)] for task in problem.tasks]
    found = []
    for rows in product(*choices):
        tasks = (_fixed(task, *row) for task, row in zip(problem.tasks, rows, strict=True))
        fixed = replace(problem, tasks=tuple(tasks))
        found.append((optimum(fixed), fixed))
    return min(found, key=lambda row: row[0].makespan_ns)


def _fixed(task, device, width, service_ns):
    count = len(task.service_ns)
    times = tuple(service_ns if d == device else None for d in range(count))
    widths = tuple(width if d == device else 1 for d in range(count))
    return replace(task, service_ns=times, widths=widths, wider_ns=(), default_device=device)


@pytest.mark.parametrize(
    ("widths", "makespan"), [((1, 1), 10), ((2, 2), 12), ((2, 1), 16), ((1, 2), 16), ((), 10)]
)
def test_a_placement_says_how_wide_tasks_run(widths, makespan):
    problem = moldable((10, 6), (10, 6))
    placement = Placement((0, 0), (0, 1), "by hand", widths)
    timeline = simulate(problem, placement)
    assert timeline.makespan_ns == makespan_ns(problem, placement) == makespan
    assert validate(problem, placement, timeline) == []
    assert tuple(len(span.lanes) for span in sorted(timeline, key=lambda s: s.index)) == (
        widths or (1, 1)
    )


def test_the_judge_knows_which_width_was_chosen():
    problem = moldable((10, 6), (10, 6))
    timeline = simulate(problem, at_widths(2, 2))
    broken = {violation.rule for violation in validate(problem, at_widths(1, 2), timeline)}
    assert broken == {Rule.LANES, Rule.DURATION}


@pytest.mark.parametrize(
    ("widths", "named"),
    [
        ((2, 3), "'t1' has no width 3 on device 'cpu', only 1, 2"),
        ((0, 1), "'t0' has no width 0"),
        ((1,), "1 widths for 2 tasks"),
    ],
)
def test_a_width_that_a_task_does_not_have_is_refused(widths, named):
    problem = moldable((10, 6), (10, 6))
    placement = replace(at_widths(1, 1), width_of=widths)
    for ask in (simulate, makespan_ns):
        with pytest.raises(ValueError, match=named):
            ask(problem, placement)
    with pytest.raises(ValueError, match="device 1 is unknown"):
        makespan_ns(problem, Placement((0, 1), (0, 1), "by hand"))  # a place, but no device


def test_widths_survive_a_file():
    problem = with_widths(inception(1, 3, machine=MANY_LANES), 1)
    assert is_moldable(problem)
    assert Problem.from_json(problem.to_json()) == problem
    assert not is_moldable(narrow(problem))
    assert "wider_ns" in problem.to_json()


def test_widths_where_a_task_cannot_run_mean_nothing():
    task = Task("t", "Op", (5, None), wider_ns=((), ((2, 1),)))
    problem = replace(cpu_gpu([(5, None)], gpu_lanes=2), tasks=(task,))
    assert not is_moldable(problem)
    assert lower_bounds(problem).makespan_ns == 5


@pytest.mark.parametrize("part", range(4))
def test_the_native_evaluator_finds_the_same(part):
    random = Random(part)
    for _ in range(100):
        seed = random.getrandbits(32)
        problem = featured(seed, random.randint(1, 30), random.randint(1, 4))
        problem = with_widths(problem, seed)
        placement = with_random_widths(problem, placed(problem, seed), seed)
        for order in ("priority", "fifo"):
            agree(problem, placement, order)
        assert placement_at(problem, *map(np.ndarray.tolist, arrays(problem, placement)), "p") in (
            replace(placement, policy="p"),
            replace(placement, policy="p", width_of=()),
        )


@pytest.mark.parametrize("choice", ["least", "fastest", "readers"])
def test_native_list_schedules_find_the_same(choice):
    random = Random(choice)
    for _ in range(30):
        seed = random.getrandbits(32)
        problem = with_widths(featured(seed, random.randint(1, 25), random.randint(1, 3)), seed)
        lists_agree(problem, seed, choice)


@pytest.mark.parametrize("part", range(4))
def test_annealing_plays_widths_again_rightly(part):
    # What it believes to be the best makespan it compares with a whole simulation in the end.
    for seed in range(part * 50, part * 50 + 50):
        problem = with_widths(featured(seed, 10 + seed % 60, 1 + seed % 4), seed)
        start = with_random_widths(problem, placed(problem, seed), seed)
        found = improved(problem, start, AnnealParams(iterations=400, seed=seed))
        assert validate(problem, found, simulate(problem, found)) == []


def test_annealing_chooses_widths():
    # On two lanes: all narrow 20, all wide 18, one wide before two that run side by side 16.
    problem = moldable((10, 6), (10, 6), (10, 6))
    found = make_policy("anneal", start="single").place(problem)
    assert makespan_ns(problem, found) == best_of_all_ns(problem) == 16
    assert sorted(found.width_of) == [1, 1, 2]


def test_heft_takes_the_width_with_the_earliest_end():
    found = make_policy("heft").place(moldable((10, 6), (3, 3)))
    assert found.width_of == (2, 1)
    assert make_policy("heft").place(moldable((10, 10), (3, 3))).width_of == ()


def test_who_says_nothing_of_widths_takes_the_narrowest():
    problem = with_widths(inception(1, 4, machine=MANY_LANES), 1)
    for name in ("single", "qd", "sd", "comm_sd", "comm_sd_best", "getf", "balance"):
        found = make_policy(name).place(problem)
        assert found == make_policy(name).place(narrow(problem)), name
        assert found.width_of == (), name


@pytest.mark.parametrize("name", policy_names())
def test_every_policy_places_moldable_tasks(name):
    for seed in range(10):
        problem = with_widths(featured(seed, 20, 3), seed)
        found = make_policy(name).place(problem)
        assert validate(problem, found, simulate(problem, found)) == []


@pytest.mark.parametrize("seed", range(3))
def test_auto_gains_by_widths(seed):
    sizes = DetectorParams(20, 3, 16, 4)
    problem = with_widths(detector(seed, sizes, MANY_LANES), seed)
    found = make_policy("auto").place(problem)
    fixed = make_policy("auto").place(narrow(problem))
    assert makespan_ns(problem, found) < 0.95 * makespan_ns(problem, fixed)


@pytest.mark.parametrize("part", range(5))
def test_no_bound_exceeds_the_optimum_over_all_widths(part):
    met = 0
    for seed in range(part * 40, part * 40 + 40):
        problem = with_widths(instance(5 * (seed // 2) + seed % 2), seed)  # two or three tasks
        best, fixed = best_of_widths(problem)
        bounds = lower_bounds(problem)
        for bound in (bounds.path_ns, bounds.load_ns, bounds.window_ns, bounds.width_ns):
            assert bound <= best.makespan_ns, seed
        tables = bound_tables(problem)
        heads, tails = tables.starts_ns, tables.afters_ns
        for task, (device, start) in enumerate(zip(best.devices, best.starts_ns, strict=True)):
            end = start + fixed.tasks[task].service_ns[device]
            assert heads[task][device] <= start, seed
            assert end + tails[task][device] <= best.makespan_ns, seed
        met += bounds.makespan_ns == best.makespan_ns
    assert met > 15  # bounds of nothing would pass, too


def test_no_task_is_wide_for_its_path_and_narrow_for_the_load():
    # t0 before t1, 10 on one lane or 6 on two, beside t2 of 8: the path is 12 and the load 14.
    problem = replace(moldable((10, 6), (10, 6), (8,)), tensors=(Tensor("x", 0, (1,), 0),))
    bounds = lower_bounds(problem)
    assert (bounds.path_ns, bounds.load_ns, bounds.window_ns) == (12, 14, 14)
    # At a share of 0.8 for the load: 6 for t0 and for t1 at either width, and 0.8 * 8 / 2 for t2.
    best, _ = best_of_widths(problem)
    assert bounds.width_ns == best.makespan_ns == 16


@pytest.mark.parametrize(("seed", "lanes", "width"), [(0, 4, 6), (2, 4, 6), (0, 8, 12)])
def test_of_many_lanes_the_bound_is_below_plans_and_above_each_of_its_parts(seed, lanes, width):
    machine = MachineParams(lanes, 2)
    problem = with_widths(inception(seed, 4, width=width, machine=machine), seed)
    bounds = lower_bounds(problem)
    assert max(bounds.path_ns, bounds.load_ns, bounds.window_ns) < bounds.width_ns
    assert bounds.width_ns <= makespan_ns(problem, make_policy("anneal").place(problem))


def test_the_load_counts_the_width_of_least_lane_time_and_the_path_that_of_least_time():
    # 10 on one lane, 6 on two: lane-time 10 a task, 30 on two lanes; the path of each is 6.
    bounds = lower_bounds(moldable((10, 6), (10, 6), (10, 6)))
    assert (bounds.load_ns, bounds.path_ns) == (15, 6)
    # Faster than twice as fast on two lanes: 4 each, one after the other.
    assert lower_bounds(moldable((10, 4), (10, 4), (10, 4))).load_ns == 12


def test_a_stored_schedule_has_its_widths():
    problem = moldable((10, 6), (3, 3))
    placement = at_widths(2, 1)
    timeline = simulate(problem, placement)
    document = {
        "format": "surplus-placed/1",
        "problem": problem.name,
        "makespan_ns": 9,
        "bound_ns": 0,
        **schedule_rows(problem, placement, timeline),
    }
    assert stored_faults(problem, json.dumps(document)) == []
    document["tasks"][0]["lanes"] = [0]
    faults = stored_faults(problem, json.dumps(document))
    assert any("lasts 6 ns, not 10 ns" in fault for fault in faults)


def test_noise_and_throughput_look_at_the_width_that_was_chosen():
    problem, wide = moldable((10, 6), (10, 6)), at_widths(2, 2)
    assert NoisyProblem(problem, NoiseParams(0.0, samples=2)).promise(wide).p50_ns == 12
    assert busiest_of(problem, wide) == ("cpu", 12)
    assert busiest_of(problem, at_widths(1, 1)) == ("cpu", 10)
    schedule = periodic_schedule(problem, wide)
    assert schedule.interval_ns == 12
    assert validate(problem, wide, schedule.unrolled(3)) == []


@pytest.mark.parametrize("seed", range(20))
def test_a_molded_problem_has_no_choice_left(seed):
    problem = with_widths(featured(seed, 15, 3), seed)
    placement = with_random_widths(problem, placed(problem, seed), seed)
    fixed = molded(problem, placement)
    assert not is_moldable(fixed)
    assert makespan_ns(fixed, placement) == makespan_ns(problem, placement)
    thin = least_work(problem)
    assert not is_moldable(thin)
    assert lower_bounds(thin).load_ns == lower_bounds(problem).load_ns


def test_a_wide_place_is_one_of_its_devices_lanes_in_native_lists():
    asked = compiled(moldable((10, 6), (10, 6)))
    ranks, home_ns = asked.mean_upward_ranks(), asked.ways_home_ns()
    assert home_ns.shape == (2, 1)
    places, starts = asked.list_schedule(ranks, home_ns)
    assert (places.tolist(), starts.tolist()) == ([1, 1], [0, 6])
    places, starts = asked.list_schedule(ranks, home_ns, is_narrow=True)
    assert (places.tolist(), starts.tolist()) == ([0, 0], [0, 0])
