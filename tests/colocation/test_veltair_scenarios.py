"""VELTAIR's scenarios on made-up layer times: they read, and every policy of theirs serves them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.veltair.gains import POLICIES, at_load, core_time, gain_rows
from surplus.colocation import compare, read_scenario
from surplus.colocation.clairvoyant import scenario_bound
from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.policies.veltair.derived import NETWORKS, derive
from surplus.colocation.policies.veltair.layer_profile import LayerProfile
from surplus.colocation.profiles.layers import Layers
from tests.colocation.made_up_layers import write_layer_times

FOLDER = Path(__file__).parents[2] / "bench" / "configs" / "colocation" / "veltair"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Made-up times."""
    return write_layer_times(tmp_path)


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.toml")))
def test_policies_serve_each_scenario_and_stay_below_the_bound(name: str, data: Path) -> None:
    scenario = read_scenario(FOLDER / f"{name}.toml", data)
    rate_per_s = sum(tenant.arrivals.rate_per_s for tenant in scenario.tenants)
    scenario = replace(scenario, duration_ns=round(30 / rate_per_s * NS_PER_S))
    bound = scenario_bound(scenario)
    _, compared = compare(scenario, scenario.policies)
    for one in compared:
        assert one.summary.total.in_time <= bound.in_time
        assert one.summary.total.unfinished == 0


def test_a_derived_network_has_its_operations_and_scaled_times(data: Path) -> None:
    path = str(data / "veltair" / "resnet50_layers_us.csv")
    measured = Layers(path)
    for name, network in NETWORKS.items():
        own = Layers(path, f"derived_{name}")
        assert len(own.operations) == network.layers
        assert sum(own.operations) == pytest.approx(network.mega_operations * 1e6, rel=1e-6)
        # These times go with operations, so those of the whole networks do, too.
        factor = sum(own.operations) / sum(measured.operations)
        expected_ns = measured.latency_ns(1, 0, 50) * factor
        assert own.latency_ns(1, 0, 50) == pytest.approx(expected_ns, rel=1e-3)
        assert own.cores[:3] == (1, 2, 4)
        assert own.latency_ns(2, 0, 100) == 2 * own.latency_ns(1, 0, 100)


def test_fewer_cores_than_were_measured_take_inversely_as_long() -> None:
    measured = LayerProfile((4, 8), ((100, 60), (300, 150)))
    profile, operations = derive(measured, (10, 30), replace(NETWORKS["ssd300"], layers=2))
    assert profile.cores == (1, 2, 4, 8)
    first = profile.times_ns[0]
    assert first[0] == 4 * first[2]
    assert operations[1] == 3 * operations[0]


def test_bad_profiles_are_refused(data: Path) -> None:
    path = str(data / "veltair" / "resnet50_layers_us.csv")
    for options, message in (
        ({"model": "vgg"}, "unknown model 'vgg'; there are: resnet50, derived_googlenet"),
        ({"deviation": -1.0}, "deviation must be 0 to 100"),
        ({"versions": []}, "versions need time and sensitivity"),
        ({"versions": [{"time": 0.0, "sensitivity": 1.0}]}, "time > 0, sensitivity >= 0"),
    ):
        with pytest.raises(ValueError, match=message):
            Layers(path, **options)
    with pytest.raises(ValueError, match="No such file"):
        Layers(str(data / "none.csv"))


def test_a_load_is_looked_at_over_five_traces(data: Path) -> None:
    scenario = read_scenario(FOLDER / "medium.toml", data)
    scenario = replace(scenario, duration_ns=NS_PER_S // 10)
    row = at_load(scenario, "model_wise")
    _, (one,) = compare(scenario, ["model_wise"])
    held, ran_ns = core_time(one.run)
    used = one.summary.utilisation * 64
    horizon_ns = max(scenario.duration_ns, max(one.run.record.group_end_ns))
    assert held == pytest.approx(used * horizon_ns)
    assert 1 <= held / ran_ns <= 64
    assert 0 < row["in time %"] <= 100
    assert row["added cores a query"] == 0


def test_gains_are_ratios_of_the_highest_loads() -> None:
    loads = (100.0, 80.0, 120.0, 162.0, 108.0, 96.0)
    rows = [
        {"scenario": "mix", "policy": policy, "QPS at 95 %": qps, "core ms a query": 10 + k}
        for k, (policy, qps) in enumerate(zip(POLICIES, loads, strict=False))
    ]
    (row,) = gain_rows(rows)
    assert list(row.values()) == ["mix", "+20", "+50", "+25", "+35", "+50", "+68", "+20.0"]
    assert gain_rows(rows[:3]) == []
