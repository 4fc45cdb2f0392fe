import importlib.util

import pytest

from surplus.milp import SolveParams, SolverUnavailableError, Status, solve, solvers
from surplus.milp.solvers import choose_solver, require_solver
from surplus.milp.solvers.cbc import logged_bound
from surplus.milp.solvers.licence import NO_LICENCE, SIZE_LIMIT, explain_gurobi_error
from surplus.placement import validate
from surplus.placement.random_graphs import DetectorParams, detector, inception
from tests.milp.problems import two_devices

HAS_GUROBI = importlib.util.find_spec("gurobipy") is not None


@pytest.mark.parametrize(
    ("solver", "module", "command"),
    [
        ("highs", "highspy", r"surplus-engine\[solvers\]"),
        ("cbc", "pulp", r"surplus-engine\[solvers\]"),
        ("gurobi", "gurobipy", "pip install gurobipy"),
        ("cpsat", "ortools", r"surplus-engine\[solvers\]"),
    ],
)
def test_a_missing_package_is_named(monkeypatch, solver, module, command):
    monkeypatch.setattr(solvers, "find_spec", lambda name: None if name == module else object())
    with pytest.raises(SolverUnavailableError, match=f"{module}.*{command}"):
        require_solver(solver)


def test_the_default_is_cpsat_where_it_is_installed_else_highs(monkeypatch):
    monkeypatch.setattr(solvers, "find_spec", lambda name: object())
    assert choose_solver("auto") == "cpsat"
    monkeypatch.setattr(solvers, "find_spec", lambda name: None if name == "ortools" else object())
    assert choose_solver("auto") == "highs"


def test_solve_checks_the_solver_first(monkeypatch):
    monkeypatch.setattr(solvers, "find_spec", lambda name: None)
    with pytest.raises(SolverUnavailableError, match="'pulp'"):
        solve(two_devices([(1, 1)]))


def test_gurobis_size_limit_in_plain_words():
    text = explain_gurobi_error(SIZE_LIMIT, "Model too large for size-limited license")
    assert "2000 variables" in text
    assert "'highs'" in text


def test_gurobis_missing_licence_in_plain_words():
    assert "no valid licence here (expired)" in explain_gurobi_error(NO_LICENCE, "expired")


def test_other_gurobi_errors_keep_their_text():
    assert explain_gurobi_error(10001, "Out of memory").endswith("10001: Out of memory")


@pytest.mark.skipif(not HAS_GUROBI, reason="gurobipy is not installed")
def test_gurobi_tells_its_limit_and_leaves_the_plan():
    problem = detector(0, DetectorParams(5, 1, 38, 1))
    result = solve(problem, SolveParams("gurobi", 60))
    assert result.placement is not None
    assert "licence" in result.message
    assert "2000 variables" in result.message


@pytest.mark.skipif(not HAS_GUROBI, reason="gurobipy is not installed")
def test_gurobi_agrees_with_highs():
    problem = inception(1, 1, 3, 2)
    gurobi, highs = (solve(problem, SolveParams(s, 20, threads=1)) for s in ("gurobi", "highs"))
    assert gurobi.status is highs.status is Status.OPTIMAL
    assert gurobi.makespan_ns == highs.makespan_ns
    assert validate(problem, gurobi.placement, gurobi.timeline) == []


@pytest.mark.parametrize(
    ("log", "bound"),
    [
        ("Lower bound:                    97.500\nGap: 0.02\n", 97.5),
        ("Cbc0010I After 0 nodes, best possible 17.25 (0.1 seconds)\n", 17.25),
        ("best possible 1\nLower bound: 1e+2\n", 100.0),
        ("nothing", None),
    ],
)
def test_cbcs_bound_is_read_from_its_log(log, bound):
    assert logged_bound(log) == bound
