"""What ``engine optimum`` prints of a plan that idles on purpose."""

from __future__ import annotations

from surplus.engine.cli.optimum import _summary
from surplus.milp import SolveParams, solve
from tests.milp.test_executable import WAITING


def test_it_says_what_a_runtime_makes_of_it_with_holds_and_without() -> None:
    result = solve(WAITING, SolveParams("cpsat", time_limit_s=20, threads=1))
    assert _summary(result)["dispatched"] == "36 ns, without holds 51 ns"
