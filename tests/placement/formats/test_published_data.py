"""All files of the published sets, where ``SURPLUS_TEST_DATA`` names a folder that has them."""

import csv
import os
from pathlib import Path

import pytest

from surplus.placement import lower_bounds, make_policy, simulate
from surplus.placement.formats import ReadParams, read_problem

VARIABLE = "SURPLUS_TEST_DATA"
FOLDER = Path(os.environ.get(VARIABLE, ""))
PROCESSORS = (2, 4, 8, 16)

pytestmark = pytest.mark.skipif(VARIABLE not in os.environ, reason=f"{VARIABLE} names no folder")


def test_standard_task_graphs_and_their_published_optima():
    """No bound of ours is above a makespan that others reached, and no plan of ours below it."""
    with (FOLDER / "stg" / "optima.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 180
    for row in rows:
        for processors in PROCESSORS:
            params = ReadParams(processors=processors)
            problem = read_problem(FOLDER / "stg" / row["graph"], params=params)
            assert len(problem.tasks) == int(Path(row["graph"]).parts[0]) + 2
            if published := row[f"makespan_{processors}"]:
                bound_ns = lower_bounds(problem).makespan_ns
                assert bound_ns <= int(published) * 1_000, (row, processors)


def test_networks_and_plans_for_them():
    paths = sorted((FOLDER / "dnn_partitioning").glob("*.json"))
    assert len(paths) == 24
    for path in paths:
        problem = read_problem(path)
        placed = simulate(problem, make_policy("heft").place(problem))
        assert placed.makespan_ns >= lower_bounds(problem).makespan_ns, path
