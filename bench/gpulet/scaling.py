"""gpulet under load that rises and falls, and under loss of devices, with and without reorganising.

References
----------
gpulet (ATC'22), section 5.2 and Fig. 15: scen3 on up to eight GPUs, two waves; violations stay
below 1 % while the number of GPUs follows the load. Here all its times are divided by 20: waves
of 60 s, and a period, a preparation and an average of the rates of 1 s each.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.infrastructure import result_file
from bench.infrastructure.resumable import Row, Table, fill
from surplus.colocation import (
    Run,
    Scenario,
    check_run,
    policy_spec,
    read_scenario,
    simulate,
    summarise,
)
from surplus.colocation.arrivals.diurnal import Diurnal
from surplus.colocation.arrivals.steady import Poisson
from surplus.colocation.frame.change import Change, ChangeKind
from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.frame.reorganiser import ReorganisationParams
from surplus.colocation.frame.service import ServingDevice
from surplus.colocation.results.metrics import RunSummary

SCEN3 = Path(__file__).parents[1] / "configs/colocation/gpulet/scen3.toml"
GPUS = 8
SECONDS = 120
WAVE_S = 60.0
RATE_PER_S = 600.0
SWING = 0.8
PERCENTILE = 0.99
REORGANISE = ReorganisationParams(NS_PER_S, NS_PER_S, window_ns=NS_PER_S // 40)
LOSS = ((30 * NS_PER_S, ChangeKind.DEVICE_LOST), (60 * NS_PER_S, ChangeKind.DEVICE_BACK))


@dataclass(frozen=True)
class Case:
    """A way to serve: rates that the first plan is told, and whether it is replaced."""

    load: str
    planned_per_s: float
    reorganise: bool


CASES = {
    "waves, planned for the mean": Case("waves", RATE_PER_S, False),
    "waves, planned for the peak": Case("waves", RATE_PER_S * (1 + SWING), False),
    "waves, reorganised": Case("waves", RATE_PER_S, True),
    "2 of 8 GPUs lost for 30 s": Case("losses", RATE_PER_S, False),
    "2 of 8 GPUs lost, reorganised": Case("losses", RATE_PER_S, True),
}


def scenario_of(case: Case) -> Scenario:
    """Waves, or steady load and the first two devices lost for a while."""
    base = read_scenario(SCEN3)
    waves = case.load == "waves"
    arrivals = Diurnal(RATE_PER_S, SWING, WAVE_S, -0.25) if waves else Poisson(RATE_PER_S)
    losses = tuple((when, Change(kind, gpu)) for when, kind in LOSS for gpu in (0, 1))
    return replace(
        base,
        tenants=tuple(replace(tenant, arrivals=arrivals) for tenant in base.tenants),
        devices=tuple(ServingDevice(f"gpu{k}") for k in range(GPUS)),
        duration_ns=SECONDS * NS_PER_S,
        changes=() if waves else losses,
        reorganisation=REORGANISE if case.reorganise else None,
    )


def served(case: Case) -> tuple[Run, RunSummary]:
    """Simulate gpulet+int, and judge the run."""
    scenario = scenario_of(case)
    setting = scenario.setting()
    rates = (case.planned_per_s,) * len(scenario.tenants)
    setting = replace(setting, demand=replace(setting.demand, rates_per_s=rates))
    spec = policy_spec("gpulet_int")
    options = {**spec.planner_options, "percentile": PERCENTILE}
    run = simulate(setting, replace(spec, planner_options=options))
    check_run(setting.load, scenario.services, run.deployment, run.record)
    return run, summarise(run, setting.load, scenario.services, GPUS)


def gpus(run: Run) -> list[int]:
    """Devices in use, second by second."""
    views = [(0, run.deployment), *run.record.views]
    found = []
    for second in range(SECONDS):
        view = [v for when, v in views if when <= second * NS_PER_S][-1]
        found.append(len({view.partitions[a.partition].device for a in view.assignments}))
    return found


def row(name: str) -> Row:
    """One way to serve."""
    run, summary = served(CASES[name])
    used = gpus(run)
    plans = run.record.plans
    return {
        "serving": name,
        "queries": summary.total.offered,
        "misses %": 100 * summary.total.violations,
        "p99 ms": (summary.total.p99_ns or 0) / 1e6,
        "GPUs, mean": float(np.mean(used)),
        "GPUs, least": min(used),
        "GPUs, most": max(used),
        "plans": plans,
        "plan ms": run.record.planning_ns / 1e6 / plans if plans else 0.0,
    }


def main() -> None:
    """Run and store the table, row by row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--anew", action="store_true", help="run all again")
    args = parser.parse_args()
    config = {
        "rate_per_s": RATE_PER_S,
        "swing": SWING,
        "wave_s": WAVE_S,
        "percentile": PERCENTILE,
        "reorganise": repr(REORGANISE),
    }
    table = Table("gpulet_scaling", config, ("serving",), anew=args.anew)
    rows = fill(table, [(name,) for name in CASES], lambda key: row(key[0]))
    result_file.show("Following the load", rows)


if __name__ == "__main__":
    main()
