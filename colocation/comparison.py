"""Runs several policies on one scenario, each judged by the validator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from colocation.load import Load
from colocation.metrics import Summary, summarise
from colocation.policies import PolicySpec, policy_spec, with_options
from colocation.scenario import Scenario
from colocation.simulator import Run, Setting, simulate
from colocation.validate import check_run


@dataclass(frozen=True)
class Compared:
    """A policy's run and its figures."""

    run: Run
    summary: Summary


Runner = Callable[[Setting, PolicySpec], Run]
"""Serves a load by a policy."""


def compare(
    scenario: Scenario, policies: Sequence[str], runner: Runner = simulate
) -> tuple[Load, list[Compared]]:
    """Run each policy on the same queries and draws, in the simulator or live.

    Raises
    ------
    ValueError
        If a target is below what the service takes alone, a profile lacks an entry, a name or
        an option is wrong, or a run does not pass the validator.
    """
    check_targets(scenario)
    setting = scenario.setting()
    return setting.load, [_one(scenario, setting, policy, runner) for policy in policies]


def check_targets(scenario: Scenario) -> None:
    """Refuse targets that nobody can meet.

    Raises
    ------
    ValueError
        Naming each such service, and by how much it misses, or what its profile lacks.
    """
    demand = scenario.demand()
    missed = []
    for index, tenant in enumerate(scenario.tenants):
        name, slo_ns = tenant.service.name, tenant.service.slo_ns
        try:
            times_ns = [demand.latency_ns(index, items) for items in tenant.items]
        except ValueError as error:
            raise ValueError(f"{scenario.name}, service {name!r}: {error}") from error
        if max(times_ns) > slo_ns:
            over_ns = max(times_ns) - slo_ns
            missed.append(f"service {name!r} takes {max(times_ns)} ns alone, {over_ns} ns too long")
    if missed:
        raise ValueError(f"{scenario.name}: {'; '.join(missed)}")


def _one(scenario: Scenario, setting: Setting, policy: str, runner: Runner) -> Compared:
    spec = with_options(policy_spec(policy), scenario.policy_options.get(policy, {}))
    run = runner(setting, spec)
    check_run(setting.load, scenario.services, run.deployment, run.record)
    return Compared(run, summarise(run, setting.load, scenario.services, len(scenario.devices)))
