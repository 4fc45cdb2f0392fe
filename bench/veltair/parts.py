"""What VELTAIR's parts do in one simulated run: conflicts, versions, the proxy, latency."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from bench.infrastructure.resumable import Row
from bench.veltair.gains import core_time
from surplus.colocation import Run, Scenario, check_run, policy_spec, simulate
from surplus.colocation.frame.clock import NS_PER_MS, NS_PER_US
from surplus.colocation.frame.load import Load, Stream, merge
from surplus.colocation.frame.predictor import PREDICTORS
from surplus.colocation.frame.profile import LayeredProfile
from surplus.colocation.frame.query import Outcome
from surplus.colocation.frame.record import NEVER_NS
from surplus.colocation.policies.veltair.block_choice import layered
from surplus.colocation.policies.veltair.model_times import ModelTimes
from surplus.colocation.randomness.noise import NOISES
from surplus.colocation.simulation.simulator import Setting

PRESSURES = (0.0, 0.25, 0.5, 0.75, 1.0)


class RanBlock(NamedTuple):
    """A block that has ended: its model, its layers, what it began with."""

    model: ModelTimes
    first: int
    end: int
    cores: int
    version: int
    predicted_ns: int
    took_ns: int
    resized: bool


def served(setting: Setting, scenario: Scenario, policy: str) -> Run:
    """One run, judged."""
    run = simulate(setting, policy_spec(policy))
    check_run(setting.load, scenario.services, run.deployment, run.record)
    return run


def blocks_of(scenario: Scenario, run: Run) -> Iterator[RanBlock]:
    """The blocks of a run, one a group."""
    demand, record = scenario.demand(), run.record
    model = layered(PREDICTORS.make("layers", demand.services, demand.profiles)).model
    cores = scenario.devices[0].cores
    resized = {group for _, group, _ in record.resizes}
    for k, group in enumerate(record.piece_group):
        if record.group_end_ns[group] != NEVER_NS:
            yield RanBlock(
                model(record.piece_service[k], record.piece_items[k], 0, cores),
                record.piece_start[k],
                record.piece_end[k],
                record.group_cores[group],
                record.group_version[group],
                record.group_predicted_ns[group],
                record.group_end_ns[group] - record.group_start_ns[group],
                group in resized,
            )


def conflict_row(scenario: Scenario, policy: str) -> Row:
    """How often a block finds too few cores, and what all of it costs a query."""
    setting = scenario.setting()
    run = served(setting, scenario, policy)
    queries, record = len(setting.load), run.record
    rows = list(blocks_of(scenario, run))
    short = sum(own.cores < own.model.needs(0).least(own.first, own.end) for own in rows)
    held, ran_ns = core_time(run)
    in_time = sum(outcome == Outcome.IN_TIME for outcome in record.outcome)
    return {
        "in time %": 100 * in_time / queries,
        "blocks a query": len(rows) / queries,
        "conflicts, % of blocks": 100 * short / len(rows),
        "threads added a query": len(record.resizes) / queries,
        "ms of that a query": len(record.resizes) * scenario.spawn_ns / queries / NS_PER_MS,
        "core ms a query": held / queries / NS_PER_MS,
        "cores of a block": held / ran_ns,
        "decisions µs a query": record.deciding_ns / queries / NS_PER_US,
    }


def kept_row(scenario: Scenario, count: int) -> Row:
    """The best so many versions of the first model: speed that they keep of all, by pressure."""
    profile = scenario.tenants[0].profile
    assert isinstance(profile, LayeredProfile)
    versions = range(len(profile.sensitivities))
    alone = [sum(row[-1] for row in profile.operator_ns(1, 0, version)) for version in versions]
    loaded = np.array(
        [
            [time_ns * (1 + sensitivity * pressure) for pressure in PRESSURES]
            for time_ns, sensitivity in zip(alone, profile.sensitivities, strict=True)
        ]
    )
    chosen = max(
        combinations(versions, count),
        key=lambda own: float((loaded.min(0) / loaded[list(own)].min(0)).min()),
    )
    kept = 100 * loaded.min(0) / loaded[list(chosen)].min(0)
    columns = {f"% at pressure {p:g}": float(k) for p, k in zip(PRESSURES, kept, strict=True)}
    return {"which": " ".join(map(str, chosen)), **columns, "least %": float(kept.min())}


def proxy_row(scenario: Scenario) -> Row:
    """How far predictions are from what blocks take, cores as they began; noise is in it."""
    run = served(scenario.setting(), scenario, "veltair")
    rows = [own for own in blocks_of(scenario, run) if not own.resized]
    took = np.array([own.took_ns for own in rows])
    predicted = np.array([own.predicted_ns for own in rows])
    alone = np.array(
        [own.model.versions[own.version].block_ns(own.first, own.end, own.cores) for own in rows]
    )
    found: Row = {"blocks": len(rows), "slowdown, mean": float((took / alone).mean())}
    for name, told in (("with the proxy", predicted), ("without", alone)):
        error = 100 * np.abs(told / took - 1)
        found |= {
            f"error %, {name}": float(np.median(error)),
            f"90th percentile, {name}": float(np.percentile(error, 90)),
        }
    return found


def latency_row(scenario: Scenario, policy: str) -> Row:
    """Latency of the answered over that of a query alone under the same policy."""
    setting = scenario.setting()
    run = served(setting, scenario, policy)
    load, outcome = setting.load, np.frombuffer(run.record.outcome, np.int8)
    answered = (outcome == Outcome.IN_TIME) | (outcome == Outcome.LATE)
    took_ns = np.frombuffer(run.record.ended_ns, np.int64) - load.arrival_ns
    alone_ns = np.array(
        [alone(scenario, service, policy) for service in range(len(scenario.services))]
    )
    over = (took_ns / alone_ns[load.service])[answered]
    return {
        "in time %": 100 * float((outcome == Outcome.IN_TIME).mean()),
        "latency over alone, mean": float(over.mean()),
        "p95": float(np.percentile(over, 95)),
        "alone ms, mean": float(alone_ns.mean()) / NS_PER_MS,
    }


def alone(scenario: Scenario, service: int, policy: str) -> int:
    """Nanoseconds of one query on the idle machine, without noise."""
    quiet = replace(scenario, noise=NOISES.make("none"))
    setting = replace(quiet.setting(), load=one_query(scenario, service))
    return served(setting, quiet, policy).record.ended_ns[0]


def one_query(scenario: Scenario, service: int) -> Load:
    """Of one service, at 0."""
    streams = []
    for index in range(len(scenario.services)):
        row = np.zeros(int(index == service), np.int64)
        streams.append(Stream(row, row + 1, row))
    slos_ns = [own.slo_ns for own in scenario.services]
    return merge(streams, slos_ns, scenario.duration_ns)
