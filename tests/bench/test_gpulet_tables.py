"""gpulet's tables: requests of applications, promises, two models on one device."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.gpulet.applications import AFTER, as_requests, requests_in_time
from bench.gpulet.capacity import noisy, over_seeds
from bench.gpulet.consolidated import SPLITS, misses_percent, two_models
from bench.gpulet.requests import shares
from surplus.colocation import policy_spec, simulate
from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.frame.query import Outcome

FOLDER = Path(__file__).parents[2] / "bench/configs/colocation/gpulet"


@pytest.mark.parametrize("name", AFTER)
def test_stages_of_a_request_come_together_or_after_what_they_wait_for(name: str) -> None:
    scenario = as_requests(name, noisy(name), 20.0)
    load = scenario.load()
    names = [service.name for service in scenario.services]
    arrivals = [load.arrival_ns[load.service == k] for k in range(len(names))]
    assert len(arrivals[0]) > 100
    for k, own in enumerate(names):
        before = AFTER[name].get(own)
        first = 0 if before is None else names.index(before)
        delay_ns = 0 if before is None else scenario.services[first].slo_ns
        assert (arrivals[k] == arrivals[first][: len(arrivals[k])] + delay_ns).all()


def test_a_request_is_in_time_if_all_of_its_stages_are() -> None:
    scenario = replace(as_requests("game", noisy("game"), 20.0), duration_ns=NS_PER_S)
    setting = scenario.setting()
    run = simulate(setting, policy_spec("gpulet_int"))
    outcome = np.frombuffer(run.record.outcome, np.int8)
    outcome[:] = Outcome.IN_TIME
    assert requests_in_time(run, setting.load) == 1
    count = int((setting.load.service == 0).sum())
    # One digit of the first request and one of the second are late.
    for service, place in ((0, 0), (3, 1)):
        outcome[np.flatnonzero(setting.load.service == service)[place]] = Outcome.LATE
    assert requests_in_time(run, setting.load) == pytest.approx(1 - 2 / count)


def test_fewer_requests_than_queries_are_in_time() -> None:
    requests, queries = shares("game", noisy("game"), "squishy", 2200.0)
    assert 0 < requests < queries < 1


def test_every_trace_has_a_highest_rate_of_its_own() -> None:
    scenario = noisy("scen2")
    held = lambda own, policy, rate: rate < 100 + own.seed  # noqa: E731
    found = over_seeds(scenario, "squishy", (1, 50), held)
    assert found[0] < found[1]
    assert found == pytest.approx([101, 150], rel=0.05)


def test_a_light_and_a_heavy_model_need_unequal_parts() -> None:
    """LeNet's target of 5 ms is shorter than a batch of VGG-16, which it waits for in turns."""
    scenario = replace(two_models((200, 50)), duration_ns=2 * NS_PER_S)
    missed = {split: misses_percent(scenario, split) for split in SPLITS}
    assert missed[20, 80] < 5
    assert missed[100,] > 10
