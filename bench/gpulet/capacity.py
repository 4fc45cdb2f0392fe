"""The highest rate of gpulet's scenarios: what planners promise, and what they keep, simulated.

References
----------
gpulet (ATC'22), section 5.2: the highest throughput with 99 % within the target (Fig. 13), against
SBP +61.7 % and greedy best fit +81.2 % on the mean; 92.6 % of the ideal's rate (Fig. 17). What is
simulated is the mean over five traces, with the half width of its 95 % interval.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np

from bench.infrastructure import result_file
from bench.infrastructure.interval import half_width
from bench.infrastructure.resumable import Row, Table, fill
from bench.infrastructure.traces import SEEDS, add_traces
from surplus.colocation import Scenario, policy_spec, read_scenario, simulate, summarise
from surplus.colocation.arrivals.steady import Poisson
from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.frame.planner import PLANNERS
from surplus.colocation.policies.names import PolicySpec
from surplus.colocation.randomness.noise import NOISES

FOLDER = Path(__file__).parents[1] / "configs/colocation/gpulet"
SCENARIOS = ("scen1", "scen2", "scen3", "scen4", "scen5", "game", "traffic")
PLANS = {
    "SBP": "squishy",
    "SBP 50/50": "squishy_halves",
    "greedy best fit": "greedy_best_fit",
    "gpulet": "gpulet",
    "gpulet+int": "gpulet_int",
    "ideal+int": "gpulet_ideal",
}
PERCENTILE = 0.99
WITHIN = 0.99
QUERIES = 5000
STEP = 0.005
ABOVE = 1.05
DOWN = 0.03

Held = Callable[[Scenario, str, float], bool]
"""Scenario, policy, rate of each service -> whether it is held."""


def at_rate(scenario: Scenario, rate_per_s: float) -> Scenario:
    """The scenario with each service at a rate."""
    tenants = tuple(replace(t, arrivals=Poisson(rate_per_s)) for t in scenario.tenants)
    duration_ns = round(QUERIES / (rate_per_s * len(tenants)) * NS_PER_S)
    return replace(scenario, tenants=tenants, duration_ns=duration_ns)


def spec_of(policy: str, percentile: float) -> PolicySpec:
    """A policy that plans for a percentile of the arrivals."""
    spec = policy_spec(policy)
    options = {**spec.planner_options, "percentile": percentile}
    return replace(spec, planner_options=options)


def promised(scenario: Scenario, policy: str, rate_per_s: float) -> bool:
    """Whether a plan for the mean rates has room for all."""
    spec = spec_of(policy, 0.5)
    planner = PLANNERS.make(spec.planner, **spec.planner_options)
    return not planner.plan(at_rate(scenario, rate_per_s).demand()).shortfalls


def kept(scenario: Scenario, policy: str, rate_per_s: float) -> bool:
    """Whether 99 % of all queries are in time, drops counted as misses."""
    loaded = at_rate(scenario, rate_per_s)
    setting = loaded.setting()
    run = simulate(setting, spec_of(policy, PERCENTILE))
    return summarise(run, setting.load, loaded.services, 4).total.goodput >= WITHIN


def most_promised(scenario: Scenario, policy: str) -> float:
    """Highest rate of each service that a plan has room for, to a step; it must be above 1."""
    low, high = 1.0, 16.0
    while promised(scenario, policy, high):
        low, high = high, 2 * high
    while high > low * (1 + STEP):
        middle = (low + high) / 2
        low, high = (middle, high) if promised(scenario, policy, middle) else (low, middle)
    return low


def most_kept(scenario: Scenario, policy: str, held: Held = kept) -> float:
    """Highest rate of each service that is held, step by step downward from above the promise.

    From below it would end where a planner that counts devices tightly, for the first time, puts
    too little in use: the misses of such planners do not grow with the rate.
    """
    rate_per_s = ABOVE * most_promised(scenario, policy)
    while held(scenario, policy, rate_per_s):
        rate_per_s *= 1 + DOWN
    while rate_per_s > 1 and not held(scenario, policy, rate_per_s):
        rate_per_s *= 1 - DOWN
    return rate_per_s


def noisy(name: str) -> Scenario:
    """A scenario whose times scatter by 3 %."""
    scenario = read_scenario(FOLDER / f"{name}.toml")
    return replace(scenario, noise=NOISES.make("lognormal", spread=0.03))


def over_seeds(scenario: Scenario, policy: str, seeds: Sequence[int], held: Held) -> list[float]:
    """The highest rate of each service that is held, by trace."""
    return [most_kept(replace(scenario, seed=seed), policy, held) for seed in seeds]


def row(name: str, figure: str, seeds: Sequence[int] = SEEDS) -> Row:
    """All planners on one scenario; requests of an application count once."""
    scenario = noisy(name)
    count = 1 if name in ("game", "traffic") else len(scenario.tenants)
    found: Row = {"figure": figure, "scenario": name}
    for label, policy in PLANS.items():
        if figure == "planned":
            rates = [most_promised(scenario, policy)] * 2
        else:
            rates = over_seeds(scenario, policy, seeds, kept)
        found |= {label: count * fmean(rates), f"+- {label}": count * half_width(rates)}
    return found


def means(rows: list[Row]) -> list[Row]:
    """Geometric means of the ratios that the paper gives as means."""
    found = []
    for figure in ("planned", "simulated"):
        own = [row for row in rows if row["figure"] == figure]
        ratios = {
            label: float(np.exp(np.mean([np.log(r["gpulet+int"] / r[label]) for r in own])))
            for label in PLANS
        }
        found.append({"figure": figure, "scenario": "gpulet+int / this", **ratios})
    return found


def main() -> None:
    """Run and store the table, row by row."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_traces(parser)
    args = parser.parse_args()
    seeds = SEEDS[: args.of]
    config = {
        "percentile": PERCENTILE,
        "within": WITHIN,
        "queries": QUERIES,
        "step": STEP,
        "down": DOWN,
        "seeds": seeds,
    }
    keys = [(figure, name) for figure in ("planned", "simulated") for name in SCENARIOS]
    table = Table("gpulet_capacity", config, ("figure", "scenario"), anew=args.anew)
    rows = fill(table, keys, lambda key: row(key[1], key[0], seeds))
    result_file.show("Queries a second within the targets", [*rows, *means(rows)])


if __name__ == "__main__":
    main()
