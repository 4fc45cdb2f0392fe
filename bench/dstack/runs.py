"""Simulates a D-STACK scenario once."""

from __future__ import annotations

from surplus.colocation import PolicySpec, RunSummary, Scenario, check_run, simulate, summarise


def summary_of(scenario: Scenario, spec: PolicySpec) -> RunSummary:
    """Serve one trace by a policy, and judge the run."""
    setting = scenario.setting()
    run = simulate(setting, spec)
    check_run(setting.load, scenario.services, run.deployment, run.record)
    return summarise(run, setting.load, scenario.services, len(scenario.devices))
