"""The shipped example of every kind of load, run from the command line."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from surplus.colocation import read_scenario
from surplus.colocation.frame.arrival import ARRIVALS
from surplus.colocation.frame.clock import NS_PER_S
from surplus.engine.cli.main import main

LOADS = Path(__file__).parents[2] / "bench" / "configs" / "colocation" / "loads"
FILE = LOADS / "every_kind.toml"


def test_every_kind_is_in_the_example() -> None:
    services = tomllib.loads(FILE.read_text())["service"]
    assert sorted(row["load"]["kind"] for row in services) == sorted(ARRIVALS.names())


def test_the_example_runs_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(FILE), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["policies"]
    assert {one["policy"] for one in found} == set(read_scenario(FILE).policies)
    for one in found:
        assert all(row["offered"] > 300 for row in one["services"])
        assert one["total"]["in_time"] > 0.5 * one["total"]["offered"]


def test_the_traces_are_replayed() -> None:
    scenario = read_scenario(FILE)
    load = scenario.load()
    names = [service.name for service in scenario.services]
    stamps = np.genfromtxt(LOADS / "timestamps.csv", delimiter=",", skip_header=1)[:, 1]
    replayed_ns = load.arrival_ns[load.service == names.index("timestamps")]
    assert replayed_ns == pytest.approx((stamps - stamps[0]) * 1e6, abs=1)

    row = (LOADS / "invocations_per_function_md.anon.d01.csv").read_text().splitlines()[1]
    minutes = [int(count) for count in row.split(",")[4:]]
    assert len(minutes) == 1440
    azure_ns = load.arrival_ns[load.service == names.index("azure")]
    assert np.bincount(azure_ns // NS_PER_S).tolist() == minutes[540:560]
