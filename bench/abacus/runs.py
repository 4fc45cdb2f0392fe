"""Simulates an Abacus scenario at some load, over several traces."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.abacus.models import FOLDER
from surplus.colocation import PolicySpec, Scenario, check_run, policy_spec, simulate, summarise
from surplus.colocation.arrivals.steady import Poisson
from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.frame.load import Load
from surplus.colocation.frame.query import Outcome
from surplus.colocation.simulation.simulator import Run

FIGURES = (
    "p99_of_target",
    "violations",
    "served_per_s",
    "goodput_per_s",
    "offered_per_s",
    "fairness",
)

Figures = dict[str, float]


def abacus(model: str = "mlp", predictor: str = "overlap", **options: object) -> PolicySpec:
    """Abacus with a latency model and options of its dispatcher."""
    file = {"path": str(FOLDER / f"{model}.npz")}
    return replace(
        policy_spec("abacus"),
        predictor=predictor,
        predictor_options={} if predictor == "serial" else file,
        dispatcher_options=options,
    )


def perfect() -> PolicySpec:
    """Abacus that knows the median of every group."""
    return abacus("truth", "oracle")


def at_load(scenario: Scenario, queries_per_s: float, seconds: float, seed: int) -> Scenario:
    """Share a load equally among the services of a scenario."""
    each = Poisson(queries_per_s / len(scenario.tenants))
    return replace(
        scenario,
        tenants=tuple(replace(tenant, arrivals=each) for tenant in scenario.tenants),
        duration_ns=round(seconds * NS_PER_S),
        seed=seed,
    )


def figures(
    scenario: Scenario,
    policies: Mapping[str, PolicySpec],
    queries_per_s: float,
    seconds: float,
    seeds: Sequence[int],
) -> dict[str, Figures]:
    """Means over the traces, by policy; all policies meet the same traces."""
    found: dict[str, list[Figures]] = {name: [] for name in policies}
    for seed in seeds:
        drawn = at_load(scenario, queries_per_s, seconds, seed)
        setting = drawn.setting()
        for name, policy in policies.items():
            run = simulate(setting, policy)
            check_run(setting.load, drawn.services, run.deployment, run.record)
            summary = summarise(run, setting.load, drawn.services, len(drawn.devices))
            total = summary.total
            found[name].append(
                {
                    "p99_of_target": p99_of_target(run, setting.load),
                    "violations": total.violations,
                    "served_per_s": total.served_per_s,
                    "goodput_per_s": total.goodput_per_s,
                    "offered_per_s": total.offered / seconds,
                    "fairness": summary.fairness,
                }
            )
    return {
        name: {key: round(statistics.mean(one[key] for one in ones), 5) for key in FIGURES}
        for name, ones in found.items()
    }


def p99_of_target(run: Run, load: Load) -> float:
    """Of the answered queries, each over its own target; 0 if there are none."""
    outcome = np.frombuffer(run.record.outcome, np.int8)
    answered = (outcome == Outcome.IN_TIME) | (outcome == Outcome.LATE)
    took_ns = np.frombuffer(run.record.ended_ns, np.int64) - load.arrival_ns
    over = (took_ns / (load.deadline_ns - load.arrival_ns))[answered]
    return float(np.percentile(over, 99, method="inverted_cdf")) if len(over) else 0.0


def scenario_files(folder: str) -> list[Path]:
    """The scenarios of a folder of bench/configs/colocation."""
    return sorted((FOLDER.parent / folder).glob("*.toml"))
