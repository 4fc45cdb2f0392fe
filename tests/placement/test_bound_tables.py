"""The evaluator's tables of what every schedule keeps to, against Python's."""

from dataclasses import replace
from math import inf

import pytest

from surplus.placement.path_bounds import NEVER_NS, bound_tables
from surplus.placement.random_disturbances import small_disturbed
from surplus.placement.random_widths import with_widths
from surplus.placement.widths import least_service_ns, least_work_ns
from tests.placement.featured_problems import featured
from tests.placement.hand_problems import cpu_gpu
from tests.placement.path_twin import least_afters_ns, least_starts_ns


def agree(problem):
    """Whether both find the same; a task that cannot run somewhere is never there."""
    tables = bound_tables(problem)
    twins = (
        (tables.services_ns, least_service_ns(problem)),
        (tables.works_ns, least_work_ns(problem)),
        (tables.starts_ns, least_starts_ns(problem)),
        (tables.afters_ns, least_afters_ns(problem)),
    )
    for native, twin in twins:
        rows = [[NEVER_NS if ns is None or ns == inf else ns for ns in row] for row in twin]
        assert native.tolist() == rows


@pytest.mark.parametrize("part", range(4))
def test_the_evaluator_finds_the_same(part):
    for seed in range(part * 100, part * 100 + 100):
        agree(featured(seed, 1 + seed % 30, 1 + seed % 4))
        agree(with_widths(featured(seed, 1 + seed % 30, 1 + seed % 4), seed))
        agree(small_disturbed(seed, 8))


def test_lanes_that_help_each_other_count_as_they_are_at_best():
    # Two busy lanes of three halve the time, three make it longer; a wide task has two of its own.
    problem = cpu_gpu([(10, 8), (10, 8)], gpu_lanes=3, widths={1: (1, 2)})
    cpu, gpu = problem.devices
    problem = replace(problem, devices=(cpu, replace(gpu, slowdown=(1.0, 0.5, 3.0))))
    tables = bound_tables(problem)
    assert tables.services_ns.tolist() == [[10, 4], [10, 4]]
    assert tables.works_ns.tolist() == [[10, 4], [10, 8]]
    agree(problem)
