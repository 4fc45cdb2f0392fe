"""The bench of certificates: what is counted as a promise, and how cases differ."""

from __future__ import annotations

from typing import Any

import pytest

from bench.colocation import certificates
from bench.colocation.certificates import (
    CASES,
    FACTORS,
    measure,
    promises,
    scenario_of,
    setting_of,
    sums,
)
from surplus.colocation import policy_spec, simulate
from surplus.colocation.frame.query import Outcome


@pytest.fixture(autouse=True)
def _known_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "_whole_load", lambda: 4.0)


def test_cases_differ_in_what_they_say() -> None:
    made = {case: scenario_of(case, 0.3, 2000, 1) for case in CASES}
    assert [case for case in CASES if made[case].changes] == ["lost", "all"]
    moved = [case for case in CASES if hasattr(made[case].tenants[0].arrivals, "_rates_per_s")]
    assert moved == ["moving", "all"]
    right, wrong = (setting_of(case, 0.3, 50, 1) for case in ("steady", "wrong"))
    ends = [simulate(own, policy_spec("fcfs")).record.group_end_ns[0] for own in (right, wrong)]
    starts = right.load.arrival_ns[0]
    factor = FACTORS[int(right.load.service[0])]
    assert ends[1] - starts == pytest.approx(factor * (ends[0] - starts), rel=1e-6)


def test_who_is_refused_at_once_has_no_promise() -> None:
    setting = setting_of("steady", 0.3, 50, 1)
    run = simulate(setting, policy_spec("fcfs"))
    record, load = run.record, setting.load
    own = [k for k in range(len(load)) if load.service[k] == 0]
    for k in own:
        record.outcome[k] = Outcome.IN_TIME
    record.outcome[own[0]] = record.outcome[own[1]] = Outcome.DROPPED
    record.ended_ns[own[0]] = int(load.arrival_ns[own[0]])
    record.ended_ns[own[1]] = int(load.arrival_ns[own[1]]) + 1
    assert promises(run, load)[0] == (len(own) - 1, len(own) - 2)


def test_a_row_has_both_sides() -> None:
    row = measure("priced", 400, "lost", 0.3, 1)
    assert 0 < row["admitted"] <= row["queries"]
    assert 0 <= row["broken"] <= row["admitted"]
    assert 0.5 < row["without"] <= 1
    assert measure("priced", 400, "lost", 0.3, 1) == row


def row(**other: Any) -> dict[str, Any]:
    own = {"case": "steady", "load": 0.3, "queries": 1000, "admitted": 800, "broken": 2}
    return {**own, "least": 0.9, "goodput": 0.79, "without": 0.8, **other}


def test_runs_of_a_case_are_summed_up() -> None:
    (found,) = sums([row(), row(broken=0, least=0.99, goodput=0.81)])
    assert found["kept %"] == "99.875"
    assert found["worst service and run %"] == "90.00"
    assert found["refused %"] == 20
    assert found["cost, points"] == "0.00"
    assert len(sums([row(), row(case="lost")])) == 2
