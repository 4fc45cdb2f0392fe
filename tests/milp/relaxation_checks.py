"""What test_throughput_relaxation asks of OR-Tools, which crashes beside highspy in one process.

Run as ``python -m tests.milp.relaxation_checks NAME``.
"""

import sys
from itertools import product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from ortools.sat.python import cp_model

from surplus.milp.deadline import Deadline
from surplus.milp.solvers import cpsat_load
from surplus.milp.solvers.job import SolverJob, SolverReport, SolverStatus
from surplus.milp.throughput.answers import devices_of, values_of
from surplus.milp.throughput.exchange import exchanged
from surplus.milp.throughput.model import LoadModel
from surplus.milp.throughput.relaxation import relaxation
from surplus.milp.throughput.rows import LinearRow, proven_bound, rows_of
from surplus.placement.load_bounds import load_bound_ns
from surplus.placement.occupancy import Occupancy
from surplus.placement.random_graphs import inception, small_random
from tests.milp.problems import edge, two_devices
from tests.placement.exhaustive import able_devices
from tests.placement.featured_problems import featured

LIMIT_S = 600.0
SEEDS = range(60)

UNPROVEN = inception(3, 6)
"""Its relaxation, rounded, does not meet its bound."""


def load_ns(problem, devices):
    """Of the busiest resource."""
    return Occupancy(problem, devices).busiest()[1]


def least_load_ns(problem):
    """Over every placement."""
    return min(load_ns(problem, devices) for devices in product(*able_devices(problem)))


def problems():
    """Small ones with everything that there is."""
    for seed in SEEDS:
        yield small_random(seed, 6, 3)
        yield featured(seed, 6)


def no_prices_prove_more_than_the_optimum():
    random = Random(0)
    for problem in problems():
        model, best_ns = LoadModel(problem), least_load_ns(problem)
        rows = rows_of(model.program)
        for _ in range(50):
            prices = [random.uniform(-1, 1) * 10 ** random.uniform(-3, 3) for _ in rows]
            assert proven_bound(rows, prices, model.load.index) <= best_ns, problem.name


def the_relaxation_bounds_every_placement_and_its_rounding_is_one():
    for problem in problems():
        found, best_ns = relaxation(LoadModel(problem), LIMIT_S), least_load_ns(problem)
        assert found.bound_ns <= best_ns, problem.name
        devices = exchanged(problem, found.device_of(), found.prices, Deadline.after(LIMIT_S))
        assert all(d in able for d, able in zip(devices, able_devices(problem), strict=True))
        assert best_ns <= load_ns(problem, devices) <= load_ns(problem, found.device_of())


def links_have_prices_too():
    # On the GPU the readers take 20 ns, but what they read holds the link for 300.
    tasks = [(10, None), (1_000, 10), (1_000, 10)]
    problem = two_devices(tasks, [edge(0, 1, 2, size=300)])
    found = relaxation(LoadModel(problem), LIMIT_S)
    assert load_bound_ns(problem) < found.bound_ns <= least_load_ns(problem)
    assert found.prices["host->gpu"] > 0
    assert sum(found.prices.values()) == pytest.approx(1)


def what_is_not_linear_is_left_out():
    program = cp_model.CpModel()
    a, b, c = (program.new_bool_var(name) for name in "abc")
    program.add_exactly_one(a, b)
    program.add_implication(a, c)
    program.add_max_equality(a, [b, c])
    program.add(a + 2 * b + a <= 2)
    program.add(b >= 1).only_enforce_if(c)
    assert rows_of(program) == [
        LinearRow(((0, 1), (1, 1)), 1, 1),
        LinearRow(((2, 1), (0, -1)), least=0),
        LinearRow(((0, 2), (1, 2)), most=2),
    ]


def a_chain_of_blocks_is_shared_out_within_a_thousandth_without_a_solver():
    problem = inception(1, 60)
    found = relaxation(LoadModel(problem), LIMIT_S)
    devices = exchanged(problem, found.device_of(), found.prices, Deadline.after(LIMIT_S))
    assert load_ns(problem, devices) <= 1.001 * found.bound_ns


def what_the_relaxation_gave_stays_where_the_solver_finds_nothing():
    silent = SolverReport(SolverStatus.UNSOLVED, 5.0, message="UNKNOWN")
    told = []
    with patch.object(cpsat_load, "solved", return_value=silent):
        found = _ask(UNPROVEN, told.append)
    assert (found.status, found.message) == (SolverStatus.FEASIBLE, "UNKNOWN")
    assert found.objective == load_ns(UNPROVEN, devices_of(UNPROVEN, found.values))
    assert told[0].bound <= found.objective < 1.02 * told[0].bound


def without_a_relaxation_the_solver_begins_with_what_is_known():
    with patch.object(cpsat_load, "relaxation", return_value=None):
        found = _ask(UNPROVEN)
    assert found.status is SolverStatus.OPTIMAL


def a_rounding_that_meets_the_bound_needs_no_solver():
    with patch.object(cpsat_load, "solved", side_effect=AssertionError("asked")):
        found = _ask(two_devices([(6, 6)] * 4))
    assert (found.objective, found.bound) == (12, 12)


def _ask(problem, report=lambda state: None):
    """What the solver's process does, with everything on its default device as the start."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "problem.json"
        path.write_text(problem.to_json())
        start = values_of([task.default_device for task in problem.tasks])
        return cpsat_load.run(SolverJob("cpsat_load", str(path), start, 30.0, 0.0, 1), report)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
