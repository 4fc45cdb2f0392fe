"""A damaged placement problem is refused by name, or all that is made of it is right."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.safety import fuzz_problems
from surplus.placement import InfeasibleError, Problem, ProblemError, make_policy, simulate
from surplus.placement.stored_schedule import schedule_rows
from surplus.placement.stored_schedule_check import stored_faults

ROOT = Path(__file__).parents[2]
BASES = fuzz_problems.bases()


def fuzzed(count: int, seed: int) -> dict[str, int]:
    done = subprocess.run(
        [sys.executable, "-m", "bench.safety.fuzz_problems", f"--count={count}", f"--seed={seed}"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, int] = json.loads(done.stdout)
    return found


def test_random_damage() -> None:
    found = fuzzed(2_000, 3)
    assert found["refused"] > 1_000
    assert found["right"] > 100


@pytest.mark.slow
def test_much_random_damage() -> None:
    assert fuzzed(100_000, 4)["right"] > 5_000


def test_bases_are_right_as_they_are() -> None:
    outcomes = {fuzz_problems.judge(json.dumps(raw), i) for i, raw in enumerate(BASES)}
    assert outcomes <= {"right", "no plan"}


def raising(error: BaseException) -> Callable[[str], None]:
    def read(text: str) -> None:
        raise error

    return read


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ProblemError("problem: task 'a': service_ns[0] must be >= 0, got -1"), "refused"),
        (ProblemError("problem: 'float' object is not iterable"), "refused unclearly"),
        (ProblemError("problem: task 'a': service_ns\nTraceback"), "refused unclearly"),
        (ProblemError("task 'a': service_ns"), "refused unclearly"),
        (ValueError("problem: service_ns"), "ValueError: "),
        (OverflowError("cannot convert float infinity to integer"), "OverflowError: "),
    ],
)
def test_what_is_raised_is_told(
    error: Exception, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzz_problems.Problem, "from_json", raising(error))
    assert fuzz_problems.timed("{}", 0).startswith(outcome)


def test_a_bound_above_the_plan_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz_problems, "combinatorial_bound_ns", lambda problem: 10**9)
    assert fuzz_problems.timed(json.dumps(BASES[0]), 0).startswith("bound 1000000000 above")


def test_a_damaged_result_is_refused_or_judged() -> None:
    rng = random.Random(6)
    outcomes: Counter[str] = Counter()
    for number in range(1_500):
        problem = Problem.from_json(json.dumps(BASES[number % len(BASES)]))
        try:
            text = fuzz_problems.damaged(stored(problem), rng)
            outcomes["faults" if stored_faults(problem, text) else "none"] += 1
        except InfeasibleError:
            continue
        except ValueError as error:
            outcomes["refused" if str(error).startswith("result") else str(error)] += 1
    assert set(outcomes) == {"faults", "none", "refused"}
    assert min(outcomes.values()) > 50


def stored(problem: Problem) -> dict[str, Any]:
    placement = make_policy("heft").place(problem)
    timeline = simulate(problem, placement)
    return {
        "format": "surplus-placed/1",
        "problem": problem.name,
        "makespan_ns": timeline.makespan_ns,
        "bound_ns": 0,
        **schedule_rows(problem, placement, timeline),
    }


def test_an_endless_case_is_told() -> None:
    script = (
        "import bench.safety.fuzz_problems as f\n"
        "f._LIMIT_S = 0.05\n"
        "def judge(text, number):\n"
        "    while True: pass\n"
        "f.judge = judge\n"
        "print(f.fuzz(1, 9, 0)[1][0].outcome)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=60
    )
    assert done.stdout == "HangError: more than 0.05 s\n", done.stderr
