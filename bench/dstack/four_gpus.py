"""D-STACK (TCC'24) on four T4s, section 7.A, on emulated GPUs, live: one process and one a GPU.

``python -m bench dstack_four_gpus``. One process has all GPUs, and its policy sends each query
where there is room; a process a GPU has its own queries, a fourth of the load, as behind a balancer
that knows nothing. The processes of the latter run at the same time. A policy's simulation of the
former is beside it. **No GPU took part**: times are charged by a roofline of a T4, answers were
recorded. Rows are kept as they come; the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import fmean
from typing import Any

from bench.dstack.on_t4s import SCENARIO, figures, measure, on, traced
from bench.infrastructure import result_file
from bench.infrastructure.contender_process import ContenderProcess
from bench.infrastructure.resumable import Key, Row, Table, fill
from bench.infrastructure.strangers import strangers_ns
from surplus.colocation import policy_spec, simulate, summarise
from surplus.colocation.results.metrics import jain
from surplus.colocation.scenarios.live_file import read_to_measure

TABLE = "dstack_four_gpus"
MODULE = "bench.dstack.on_t4s"
GPUS = 4
ONE, EACH, SIMULATED = "one process", "a process a GPU", "one process, simulated"
POLICIES = ("dstack", "dstack_at_knee", "temporal_drop", "slices_drop", "gslice_drop", "surplus")
SEEDS = (1, 2, 3)
ROUNDS = 20


def measured(key: Key, seconds: float, seeds: Sequence[int]) -> Row:
    """A policy by one contender, over some traces."""
    policy, contender = key
    began_ns, others_ns = time.monotonic_ns(), strangers_ns()
    if contender == SIMULATED:
        found = [_simulated(policy, seconds, seed) for seed in seeds]
    else:
        found = _live(policy, contender, seconds, seeds)
    spent_ns = (time.monotonic_ns() - began_ns) * (os.cpu_count() or 1)
    services = [service for one in found for service in one["by_service"]]
    offered, in_time = (sum(column) for column in zip(*services, strict=True))
    return {
        "policy": policy,
        "contender": contender,
        "offered / s": offered / seconds / len(seeds),
        "in time / s": in_time / seconds / len(seeds),
        "misses %": 100 * (1 - in_time / offered),
        "fairness": fmean(map(_fairness, found)),
        "decision us": fmean(one["decision_ns"] for one in found) / 1e3,
        "others %": 100 * (strangers_ns() - others_ns) / spent_ns,
    }


def _live(policy: str, contender: str, seconds: float, seeds: Sequence[int]) -> list[Any]:
    """By trace, over all processes."""
    count, gpus = (1, GPUS) if contender == ONE else (GPUS, 1)
    with contextlib.ExitStack() as stack:
        processes = []
        for _ in range(count):
            process = ContenderProcess(MODULE, str(gpus))
            stack.callback(process.end)
            processes.append(process)
        with ThreadPoolExecutor(count) as pool:
            runs = [
                list(pool.map(partial(_asked, policy, seconds, seed), processes, range(count)))
                for seed in seeds
            ]
    return [_together(run) for run in runs]


def _asked(
    policy: str, seconds: float, seed: int, process: ContenderProcess, index: int
) -> dict[str, Any]:
    """A run of one process; no two of them get the same trace."""
    return process.ask(policy=policy, seconds=seconds, seed=seed * GPUS + index)


def _together(run: Sequence[dict[str, Any]]) -> dict[str, Any]:
    services = zip(*(one["by_service"] for one in run), strict=True)
    return {
        "by_service": [[sum(column) for column in zip(*rows, strict=True)] for rows in services],
        "decision_ns": fmean(one["decision_ns"] for one in run),
    }


def _simulated(policy: str, seconds: float, seed: int) -> dict[str, Any]:
    scenario = traced(on(GPUS), seconds, seed * GPUS)
    setting = scenario.setting()
    run = simulate(setting, policy_spec(policy))
    return figures(summarise(run, setting.load, scenario.services, GPUS))


def _fairness(run: dict[str, Any]) -> float:
    return jain([in_time / max(1, offered) for offered, in_time in run["by_service"]])


def main() -> None:
    """Fill the table and show it."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--policies", default=",".join(POLICIES), metavar="NAME,...", help="(%(default)s)")
    add("--seconds", type=float, default=8.0, metavar="S", help="of each trace (%(default)g)")
    add("--traces", type=int, default=len(SEEDS), metavar="N", help="(%(default)d)")
    add(
        "--rounds", type=int, default=ROUNDS, metavar="N", help="samples of each time (%(default)d)"
    )
    add("--anew", action="store_true", help="measure all again, the profile too")
    args = parser.parse_args()
    profile = read_to_measure(SCENARIO).path
    if args.anew or profile is None or not profile.exists():
        measure(args.rounds)
    contenders = (ONE, SIMULATED, EACH)
    keys: list[Key] = [(p, c) for p in args.policies.split(",") for c in contenders]
    config = {"policies": args.policies, "seconds": args.seconds, "traces": args.traces}
    table = Table(TABLE, config, ("policy", "contender"), anew=args.anew)
    seeds = range(1, args.traces + 1)
    rows = fill(table, keys, lambda key: measured(key, args.seconds, seeds))
    result_file.show("Four T4s (EMULATED GPUs, derived times)", rows)


if __name__ == "__main__":
    main()
