"""Baselines that drop what has expired, as Abacus's do: no prediction, no sooner, no later."""

from __future__ import annotations

import pytest

from surplus.colocation import check_run, policy_spec, simulate
from surplus.colocation.frame.query import Outcome
from tests.colocation.settings import load_of, service, setting_of


def outcomes(policy: str, arrivals: list[float], slo_ms: float) -> list[tuple[str, int]]:
    services = [service("a", slo_ms)]
    setting = setting_of(services, load_of(services, [arrivals]), fixed_ms=[10])
    run = simulate(setting, policy_spec(policy))
    check_run(setting.load, services, run.deployment, run.record)
    return [
        (Outcome(outcome).name, round(ended / 1e6))
        for outcome, ended in zip(run.record.outcome, run.record.ended_ns, strict=True)
    ]


@pytest.mark.parametrize("policy", ["fcfs_expired", "sjf_expired", "edf_expired"])
def test_who_can_still_begin_in_time_is_served_even_if_late(policy: str) -> None:
    # The third is due at 17 and begins at 20; the second is due at 16, begins at 10.
    assert outcomes(policy, [0, 1, 2], slo_ms=15) == [
        ("IN_TIME", 10),
        ("LATE", 20),
        ("DROPPED", 20),
    ]


@pytest.mark.parametrize("policy", ["fcfs_expired", "sjf_expired", "edf_expired"])
def test_at_its_deadline_a_query_has_not_expired(policy: str) -> None:
    assert outcomes(policy, [0, 2], slo_ms=8)[1] == ("LATE", 20)
    assert outcomes(policy, [0, 1.5], slo_ms=8)[1] == ("DROPPED", 10)
