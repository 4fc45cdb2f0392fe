"""Runs several policies on one scenario, each judged by the validator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from surplus.colocation.frame.clock import NS_PER_MS
from surplus.colocation.frame.load import Load
from surplus.colocation.policies.names import PolicySpec, policy_spec, with_options
from surplus.colocation.results.metrics import RunSummary, summarise
from surplus.colocation.results.validate import check_run
from surplus.colocation.scenarios.scenario import Scenario
from surplus.colocation.simulation.simulator import Run, Setting, simulate


@dataclass(frozen=True)
class Compared:
    """A policy's run and its figures."""

    run: Run
    summary: RunSummary


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


def compare_able(
    scenario: Scenario, policies: Sequence[str], runner: Runner = simulate
) -> tuple[Load, list[Compared], dict[str, str]]:
    """As ``compare``, but pass over policies that cannot serve the scenario.

    Returns
    -------
    load : Load
    compared : list of Compared
    refused : dict of str to str
        Why a policy cannot: its planner needs shares that a profile lacks, for example.

    Raises
    ------
    ValueError
        If no policy can serve it or meet a target, a name is wrong, or a run does not pass the
        validator.
    """
    check_targets(scenario)
    setting = scenario.setting()
    compared: list[Compared] = []
    refused: dict[str, str] = {}
    for policy in policies:
        spec = _spec(scenario, policy)
        try:
            run = runner(setting, spec)
        except ValueError as error:
            refused[policy] = str(error)
        else:
            compared.append(_judged(scenario, setting, run))
    if not compared:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in refused.items())
        raise ValueError(f"{scenario.name}: no policy can serve it: {reasons}")
    return setting.load, compared, refused


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
            missed.append(_missed(name, max(times_ns), slo_ns))
    if missed:
        raise ValueError(f"{scenario.name}: {'; '.join(missed)}")


def _missed(name: str, alone_ns: int, slo_ns: int) -> str:
    alone_ms, slo_ms = alone_ns / NS_PER_MS, slo_ns / NS_PER_MS
    over = f"{alone_ms - slo_ms:g} ms more than its target of {slo_ms:g} ms"
    return f"service {name!r} takes {alone_ms:g} ms alone, {over}"


def _one(scenario: Scenario, setting: Setting, policy: str, runner: Runner) -> Compared:
    try:
        run = runner(setting, _spec(scenario, policy))
    except ValueError as error:
        raise ValueError(f"{policy}: {error}") from error
    return _judged(scenario, setting, run)


def _spec(scenario: Scenario, policy: str) -> PolicySpec:
    return with_options(policy_spec(policy), scenario.policy_options.get(policy, {}))


def _judged(scenario: Scenario, setting: Setting, run: Run) -> Compared:
    check_run(setting.load, scenario.services, run.deployment, run.record)
    return Compared(run, summarise(run, setting.load, scenario.services, len(scenario.devices)))
