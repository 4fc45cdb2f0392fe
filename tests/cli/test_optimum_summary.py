"""What ``engine optimum`` prints of a plan that idles on purpose, and of one with wide tasks."""

from __future__ import annotations

from surplus.engine.cli.optimum import _summary
from surplus.milp import SolveParams, solve
from surplus.placement.problem import Device, Problem, Task
from tests.milp.test_executable import WAITING


def test_it_says_what_a_runtime_makes_of_it_with_holds_and_without() -> None:
    result = solve(WAITING, SolveParams("cpsat", time_limit_s=20, threads=1))
    assert _summary(result)["dispatched"] == "36 ns, without holds 51 ns"


def test_it_counts_wide_tasks_where_tasks_may_be_wide() -> None:
    first = Task("first", "Op", (10,), wider_ns=(((2, 6),),))
    second = Task("second", "Op", (10,), wider_ns=(((2, 9),),))
    for tasks, wide in (((first,), 1), ((first, second), 0)):
        problem = Problem("wide", (Device("cpu", 2),), (), tasks, ())
        result = solve(problem, SolveParams("cpsat", time_limit_s=20, threads=1))
        assert _summary(result).get("wide tasks", 0) == wide
    assert "wide tasks" not in _summary(solve(WAITING, SolveParams(time_limit_s=20, threads=1)))
