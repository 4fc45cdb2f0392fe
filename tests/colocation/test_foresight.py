"""The policy ``surplus``: ways of serving that are tried, and the one that serves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from surplus.colocation import policy_spec, simulate
from surplus.colocation.foresight.imagined import imagined_load
from surplus.colocation.foresight.planner import Foresight
from surplus.colocation.foresight.race import Heat, winner
from surplus.colocation.foresight.ways import way, ways_for
from surplus.colocation.frame.deployment import check_deployment
from surplus.colocation.frame.query import Outcome
from surplus.colocation.frame.service import ServingDevice
from tests.colocation.settings import load_of, service, setting_of

SERVICES = [service("a", slo_ms=40, max_batch=8), service("b", slo_ms=90, max_batch=8)]
SETTING = setting_of(
    SERVICES, load_of(SERVICES, [[0, 5], [0]]), [6, 20], [2, 4], [150, 60], knee_percent=50
)


def test_the_best_of_all_heats_wins() -> None:
    shares = {"x": (0.5, 0.5), "y": (0.7, 0.9), "z": (0.9, 0.2), "w": (0.1, 0.0)}
    heats = [Heat(9, 100, 1.0), Heat(3, 900, 1.0)]
    asked: list[tuple[str, int]] = []

    def trial(name: str, number: int) -> float | None:
        asked.append((name, number))
        return shares[name][number]

    assert winner(list(shares), trial, heats, 0.0) == "y"
    assert ("w", 1) not in asked
    assert winner(list(shares), trial, heats, 0.4) == "x"


def test_a_race_ends_where_all_is_easy() -> None:
    asked: list[str] = []

    def trial(name: str, number: int) -> float | None:
        asked.append(name)
        return None if name == "x" else 1.0

    assert winner(["x", "y", "z"], trial, [Heat(9, 10, 1.0), Heat(9, 10, 1.0)], 0.0) == "y"
    assert asked == ["x", "y"]


def test_a_race_without_able_ways_says_so() -> None:
    with pytest.raises(ValueError, match="no way of serving"):
        winner(["x"], lambda *_: None, [Heat(9, 10, 1.0)], 0.0)


@pytest.mark.parametrize("lanes", [1, 2])
def test_every_way_can_be_made(lanes: int) -> None:
    devices = (ServingDevice("d", lanes=lanes, cores=8),)
    names = ways_for(replace(SETTING.demand, devices=devices), groups=True)
    assert len(names) == len(set(names))
    assert ("lanes" in names) == (lanes > 1)
    assert {way(name).name for name in names} == set(names)


@pytest.mark.parametrize("burst", [1.0, 1.5])
def test_an_imagined_load_is_of_the_demand(burst: float) -> None:
    load = imagined_load(SETTING.demand, 20_000, 1, burst)
    assert len(load) == pytest.approx(20_000, rel=0.05)
    assert (np.diff(load.arrival_ns) >= 0).all()
    assert (load.service == 0).mean() == pytest.approx(150 / 210, abs=0.02)
    quarter = load.arrival_ns * 4 // load.duration_ns
    assert (quarter % 2 == 1).mean() == pytest.approx(burst / 2, abs=0.02)


def test_a_plan_says_for_which_way_it_is() -> None:
    demand = SETTING.demand
    found = Foresight().plan(demand)
    check_deployment(found, demand.services, demand.devices)
    assert found.mode in ways_for(demand, groups=False)
    stays = replace(found, mode="veltair")
    again = Foresight().plan(replace(demand, previous=stays))
    assert again.mode == "veltair"


def test_it_serves_what_its_way_serves() -> None:
    times = [[k * 7.0 for k in range(140)], [k * 17.0 for k in range(58)]]
    setting = replace(SETTING, load=load_of(SERVICES, times))
    run = simulate(setting, policy_spec("surplus"))
    spec = replace(way(run.deployment.mode), predictor="foresight")
    own = simulate(setting, spec).record
    assert list(run.record.outcome) == list(own.outcome)
    assert sum(outcome == Outcome.IN_TIME for outcome in own.outcome) > 190
