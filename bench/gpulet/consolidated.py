"""Two models on one device: in turns, and on partitions of several sizes.

``python -m bench gpulet_consolidated``: LeNet and VGG-16 of gpulet's models on one device, each at
rates up to what it holds alone; misses in percent over five traces when they take turns on the
whole device, and when each has a part of it.

References
----------
gpulet (ATC'22), section 3 and Fig. 6, as we read it: a light and a heavy model together need
partitions of unequal sizes. Times and interference are the stated law's, not a GPU's.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from bench.gpulet.capacity import QUERIES, noisy
from bench.infrastructure import result_file
from bench.infrastructure.interval import half_width
from bench.infrastructure.resumable import Row, Table, fill
from bench.infrastructure.traces import SEEDS, add_traces
from surplus.colocation import PolicySpec, Scenario, policy_spec, simulate, summarise
from surplus.colocation.arrivals.steady import Poisson
from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.interference.contention import Contention

MODELS = ("le", "vgg")
SPLITS = ((100,), (50, 50), (40, 60), (20, 80))
RATES_PER_S = ((400, 50), (400, 150), (400, 220), (400, 260), (400, 320), (1200, 320))
"""Of LeNet and of VGG-16."""


def two_models(rates_per_s: Sequence[float]) -> Scenario:
    """Both at their rates on one of gpulet's devices."""
    models = noisy("models")
    known = {tenant.service.name: tenant for tenant in models.tenants}
    tenants = tuple(
        replace(known[name], arrivals=Poisson(rate))
        for name, rate in zip(MODELS, rates_per_s, strict=True)
    )
    law = models.interference
    assert isinstance(law, Contention)
    names = list(known)
    duration_ns = round(QUERIES / sum(rates_per_s) * NS_PER_S)
    own = replace(models, tenants=tenants, devices=models.devices[:1], duration_ns=duration_ns)
    return replace(own, interference=law.of([names.index(name) for name in MODELS]))


def split_spec(split: Sequence[int]) -> PolicySpec:
    """Duty cycles on a device that is divided in one way, padded for Poisson arrivals."""
    options = {"split": tuple(split), "percentile": 0.99}
    return replace(policy_spec("squishy"), planner_options=options)


def misses_percent(scenario: Scenario, split: Sequence[int]) -> float:
    """Of all queries, drops counted."""
    setting = scenario.setting()
    run = simulate(setting, split_spec(split))
    return 100 * summarise(run, setting.load, scenario.services, 1).total.violations


def row(place: int, seeds: Sequence[int] = SEEDS) -> Row:
    """All ways of dividing the device at one pair of rates."""
    rates = RATES_PER_S[place]
    scenario = two_models(rates)
    found: Row = {"rates": place, "le / s": rates[0], "vgg / s": rates[1]}
    for split in SPLITS:
        missed = [misses_percent(replace(scenario, seed=seed), split) for seed in seeds]
        label = "in turns" if len(split) == 1 else "{}:{}".format(*split)
        found |= {f"{label}, misses %": fmean(missed), f"+- {label}": half_width(missed)}
    return found


def main() -> None:
    """Run and store the table, row by row."""
    parser = argparse.ArgumentParser(
        prog="python -m bench gpulet_consolidated", description=__doc__
    )
    add_traces(parser)
    args = parser.parse_args()
    seeds = SEEDS[: args.of]
    config = {"models": MODELS, "queries": QUERIES, "seeds": seeds}
    table = Table("gpulet_consolidated", config, ("rates",), anew=args.anew)
    keys = [(str(place),) for place in range(len(RATES_PER_S))]
    rows = fill(table, keys, lambda key: row(int(key[0]), seeds))
    result_file.show("LeNet and VGG-16 on one device", rows)


if __name__ == "__main__":
    main()
