"""What a solver's process imports, and what it leaves to others."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("ortools")

_SOLVED = """
import sys
import surplus.milp.solvers.cpsat
from surplus.milp.cpsat.or_tools import cp_model

program = cp_model.CpModel()
number, is_odd = program.new_int_var(0, 5, "number"), program.new_bool_var("is_odd")
program.add(number <= 3).only_enforce_if(is_odd)
program.maximize(number + 3 * is_odd)
solver = cp_model.CpSolver()
assert solver.solve(program) == cp_model.OPTIMAL
assert (solver.value(number), solver.value(is_odd)) == (3, 1)
"""


def _run(words: str) -> None:
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_programs_are_solved_without_pandas() -> None:
    _run(_SOLVED + "assert 'pandas' not in sys.modules")


def test_pandas_is_there_for_who_wants_it() -> None:
    pytest.importorskip("pandas")
    _run(_SOLVED + "import pandas; assert pandas.Series([1, 2]).sum() == 3")


def test_pandas_stays_where_it_is() -> None:
    pytest.importorskip("pandas")
    _run("import pandas\n" + _SOLVED + "assert cp_model.pd is sys.modules['pandas'] is pandas")
