import itertools
import json

import pytest

from surplus.milp.cli import main
from surplus.milp.errors import SolverUnavailableError
from surplus.milp.params import SolveParams
from surplus.milp.result import Status
from surplus.milp.solvers.job import SolverReport, SolverStatus
from surplus.milp.throughput import search
from surplus.milp.throughput.search import solve_throughput
from surplus.placement import ContradictionError, Problem, Task
from surplus.placement.occupancy import Occupancy
from surplus.placement.random_graphs import inception, small_random
from tests.milp.problems import edge, two_devices
from tests.placement.featured_problems import featured

UNPROVEN = inception(3, 6)
"""No known placement meets the bound that is known without a solver."""

LIMITS = SolveParams(time_limit_s=600, threads=1)


def _least_load_ns(problem: Problem) -> int:
    """Over every placement."""
    choices = [
        [d for d, service_ns in enumerate(task.service_ns) if service_ns is not None]
        for task in problem.tasks
    ]
    return min(Occupancy(problem, devices).busiest()[1] for devices in itertools.product(*choices))


@pytest.mark.parametrize("seed", range(25))
def test_the_least_load_of_all_placements_is_found_and_proven(seed: int) -> None:
    problem = small_random(seed, 7)
    found = solve_throughput(problem, LIMITS)
    assert found.status is Status.OPTIMAL
    assert found.load_ns == _least_load_ns(problem)


@pytest.mark.parametrize("seed", range(25))
def test_whatever_a_machine_has_the_bound_holds(seed: int) -> None:
    problem = featured(seed, 6)
    found = solve_throughput(problem, LIMITS)
    assert found.bound_ns <= _least_load_ns(problem) <= found.load_ns
    assert found.schedule.interval_ns >= found.bound_ns


def test_constants_that_a_memory_does_not_hold_stay_out_of_it() -> None:
    tasks = [Task(f"t{i}", "Op", (10, 1), default_device=1, weight_bytes=100) for i in range(4)]
    free = solve_throughput(two_devices(tasks), LIMITS)
    short = solve_throughput(two_devices(tasks, memory_bytes=(None, 250)), LIMITS)
    assert (free.load_ns, short.load_ns) == (4, 20)
    assert short.status is Status.OPTIMAL


def test_an_optimum_that_a_known_placement_beats_fails_and_names_both(monkeypatch) -> None:
    # As OR-Tools' presolve once said: optimal, thirty times what the start has.
    known = solve_throughput(UNPROVEN, LIMITS)
    wrong = SolverReport(SolverStatus.OPTIMAL, 30.0 * known.load_ns, 30.0 * known.load_ns)
    monkeypatch.setattr(search, "run_job", lambda job, progress: wrong)
    with pytest.raises(ContradictionError, match=rf"bound of {30 * known.load_ns} ns is above a"):
        solve_throughput(UNPROVEN, LIMITS)


def test_a_solvers_optimum_is_no_proof_of_a_placement_that_is_not_as_good(monkeypatch) -> None:
    claim = SolverReport(SolverStatus.OPTIMAL, 1.0, 1.0, message="OPTIMAL")
    monkeypatch.setattr(search, "run_job", lambda job, progress: claim)
    found = solve_throughput(UNPROVEN, LIMITS)
    assert found.status is Status.FEASIBLE
    assert found.gap > 0
    assert found.message == "cpsat solved its model, but no placement of that load is known"


def test_other_solvers_are_refused() -> None:
    with pytest.raises(SolverUnavailableError, match="cpsat's, not highs's"):
        solve_throughput(two_devices([(1, 2)]), SolveParams(solver="highs"))


def test_a_command_tells_load_interval_and_latency(tmp_path, capsys) -> None:
    path = tmp_path / "problem.json"
    path.write_text(two_devices([(10, 4), (10, 4), (3, 9)], [edge(0, 2, size=2)]).to_json())
    target = tmp_path / "out.json"
    command = [str(path), "--objective", "throughput", "--front", "--time", "20"]
    command += ["-o", str(target)]
    assert main(command) == 0
    shown = capsys.readouterr()
    assert "status     optimal" in shown.out
    assert "interval" in shown.out
    assert "load" in shown.err
    document = json.loads(target.read_text())
    assert document["format"] == "surplus-throughput/1"
    assert document["load_ns"] == document["bound_ns"] == max(document["occupancy_ns"].values())
    assert {row["name"] for row in document["tasks"]} == {"t0", "t1", "t2"}
    assert document["front"][0]["interval_ns"] == document["load_ns"]


def test_a_front_without_throughput_is_refused(tmp_path, capsys) -> None:
    path = tmp_path / "problem.json"
    path.write_text(two_devices([(1, 2)]).to_json())
    assert main([str(path), "--front"]) == 2
    assert "--front belongs to --objective throughput" in capsys.readouterr().err
