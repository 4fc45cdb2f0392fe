"""Compiled versions under VELTAIR: measured, read back, chosen live in a scenario and a server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from surplus.colocation.frame.profile import LayeredProfile
from surplus.colocation.live.run import serve_live
from surplus.colocation.policies.names import policy_spec
from surplus.colocation.profiles.measured import times_of
from surplus.colocation.profiles.measured_profile import (
    MeasuredModel,
    MeasuredProfile,
    load_measured_profile,
)
from surplus.colocation.scenarios.live_file import read_to_measure
from surplus.colocation.scenarios.scenario_file import read_scenario
from surplus.engine.errors import ConfigError
from surplus.engine.scheduling.measure import GroupMeasureParams, measure
from surplus.engine.scheduling.policy_params import PolicyParams, prepare
from surplus.engine.scheduling.replay import backend_of, compare_live, measure_scenario
from surplus.engine.scheduling.setting_up import replay_backend
from tests.compiled_library import compiled_runs
from tests.scheduling.compiled_stage import GROUPS, Served, mlp, two_versions


def test_times_of_each_version_are_measured_and_read_back(tmp_path: Path) -> None:
    served = Served(tmp_path, two_versions(tmp_path))
    backend = replay_backend([served.model], [served.place])
    work = ([served.model], [1], [(1, 2)], 2, "cpu:2")
    profile = measure(backend, *work, GroupMeasureParams(rounds=2))
    path = tmp_path / "profile.json"
    path.write_text(profile.to_json())
    read = load_measured_profile(path)
    known = read.models["mlp"]
    assert known == profile.models["mlp"]
    assert [version.sensitivity for version in known.versions] == [0.9, 0.5, 0.1]
    times = times_of(read, "mlp")
    assert isinstance(times, LayeredProfile)
    assert set(times.beside) == {"mlp"}
    assert times.cores == (1, 2)
    assert len(times.operations) == GROUPS
    for version in range(3):
        rows = times.operator_ns(1, 0, version)
        ms = known.versions[version].groups_ms
        assert [tuple(ns / 1e6 for ns in row) for row in rows] == [
            pytest.approx(row, rel=1e-3) for row in ms
        ]
    assert sum(map(sum, times.operator_ns(2, 0, 0))) > 0


SCENARIO = """
name = "compiled"
duration_s = 0.3
seed = 1
policies = ["veltair", "fcfs"]

[[device]]
name = "cpu"
lanes = 2
cores = 2

[[service]]
name = "mlp"
slo_ms = 5000
operators = 3
profile = {{ kind = "measured", path = "profile.json", model = "mlp" }}
load = {{ kind = "poisson", rate_per_s = 60 }}

[live]
devices = "cpu:2"
models = {{ mlp = "mlp.onnx" }}
compiled = {{ {name} = "compiled.toml" }}
"""


def scenario_of(folder: Path, name: str = "mlp") -> Path:
    mlp(folder)
    two_versions(folder)
    path = folder / "scenario.toml"
    path.write_text(SCENARIO.format(name=name))
    return path


def with_fastest(profile: MeasuredProfile, fastest: int) -> str:
    """The profile as if one version took a hundredth of the others' time."""
    rows = profile.models["mlp"].versions
    versions = tuple(
        replace(row, groups_ms=((0.01 if k == fastest else 1.0,) * 2,) * GROUPS)
        for k, row in enumerate(rows)
    )
    model = replace(profile.models["mlp"], versions=versions)
    return replace(profile, models={"mlp": model}).to_json()


def test_veltair_runs_live_the_version_that_it_chooses(tmp_path: Path) -> None:
    """A scenario: measured, simulated, served; the fastest version by its profile runs."""
    path, cache = scenario_of(tmp_path), tmp_path / "cache"
    measured = measure_scenario(read_to_measure(path), GroupMeasureParams(rounds=1), cache)
    for fastest in (0, 1, 2):
        (tmp_path / "profile.json").write_text(with_fastest(measured, fastest))
        load_measured_profile.cache_clear()
        scenario = read_scenario(path)
        backend = backend_of(scenario, cache)
        compare_live(scenario, ["fcfs"], backend)
        before = compiled_runs()
        setting = scenario.setting()
        run = serve_live(setting, policy_spec("veltair"), backend)
        ran = tuple(now - then for now, then in zip(compiled_runs(), before, strict=True))
        queries = len(setting.load)
        assert set(run.record.group_version) == {fastest}
        assert ran == ((0, 0), (queries, 0), (0, queries))[fastest]


def test_files_of_compiled_versions_are_by_service(tmp_path: Path) -> None:
    asked = read_to_measure(scenario_of(tmp_path))
    assert asked.live.compiled == (str(tmp_path / "compiled.toml"),)
    with pytest.raises(ValueError, match="compiled: there is no service 'other'"):
        read_to_measure(scenario_of(tmp_path, "other"))


def params(folder: Path, **options: Any) -> PolicyParams:
    return PolicyParams(
        "veltair",
        {"mlp": 5_000_000_000},
        devices="cpu:2",
        most_items=2,
        rounds=1,
        cache=folder / "cache",
        **({"groups": GROUPS, "compiled": {"mlp": two_versions(folder)}} | options),
    )


def test_a_server_measures_versions_or_reads_a_profile_that_has_them(tmp_path: Path) -> None:
    files = {"mlp": mlp(tmp_path)}
    prepared = prepare(params(tmp_path), files)
    (profile,) = prepared.demand.profiles
    assert isinstance(profile, LayeredProfile)
    assert profile.sensitivities == (0.9, 0.5, 0.1)
    known = MeasuredModel(1, (1, 2), {"50": (1.0, 2.0), "100": (1.0, 2.0)}, (0.0, 0.0))
    path = tmp_path / "profile.json"
    path.write_text(MeasuredProfile("cpu:2", {"mlp": known}, {}).to_json())
    with pytest.raises(ConfigError, match="in 0 versions of 0 groups, it has 3 versions of 3"):
        prepare(params(tmp_path, profile=path), files)
    with pytest.raises(ConfigError, match="no model 'other'"):
        prepare(params(tmp_path, compiled={"other": path}), files)
