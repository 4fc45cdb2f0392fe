"""A scenario file: measured, simulated with what was measured, and served by the engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from surplus.engine.cli.main import main
from tests.scheduling.stage import CHAIN, saved

SCENARIO = """
name = "small"
duration_s = 0.25
seed = 3
policies = ["fcfs", "edf_drop", "temporal"]

[[device]]
name = "device"
lanes = 2

[[service]]
name = "a"
slo_ms = 1000
max_batch = 4
items = [1, 2]
operators = 3
profile = { kind = "measured", path = "profile.json", model = "a" }
load = { kind = "poisson", rate_per_s = 200 }

[[service]]
name = "b"
slo_ms = 1000
max_batch = 2
operators = 1
profile = { kind = "measured", path = "profile.json", model = "b" }
load = { kind = "uniform", rate_per_s = 100 }

[truth]
noise = { kind = "lognormal" }
interference = { kind = "measured", path = "profile.json" }

[live]
devices = "DEVICES"
models = { a = "chain.onnx", b = "other.onnx" }
"""


@pytest.fixture
def scenario(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    saved(CHAIN, tmp_path)
    saved(CHAIN.replace("chain", "other"), tmp_path)
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO.replace("DEVICES", request.param))
    return path


@pytest.mark.parametrize("scenario", ["cpu:2", "emulated:gpu[t4,replay]:2"], indirect=True)
def test_live_beside_simulated(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = ["--cache", str(scenario.parent / "cache")]
    assert main(["colocate", "profile", str(scenario), "--rounds", "3", *cache]) == 0
    measured = json.loads((scenario.parent / "profile.json").read_text())
    assert measured["models"]["a"]["items"] == [1, 2, 4]
    assert set(measured["models"]["b"]["ms"]) == {"50", "100"}
    assert len(measured["models"]["a"]["groups_ms"]) == 3
    assert set(measured["extra"]["a"]) == {"a", "b"}
    capsys.readouterr()
    assert main(["simulate", str(scenario), "--live", "--json", *cache]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["policy"] for row in document["live"]] == ["fcfs", "edf_drop", "temporal"]
    for simulated, live in zip(document["policies"], document["live"], strict=True):
        assert simulated["total"]["offered"] == live["total"]["offered"] > 0
        assert live["total"]["failed"] == live["total"]["unfinished"] == 0


@pytest.mark.parametrize("scenario", ["cpu:1"], indirect=True)
def test_devices_with_too_few_lanes_are_named(
    scenario: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["colocate", "profile", str(scenario)]) == 1
    assert "'cpu' has 1 lanes, not 2" in capsys.readouterr().err


@pytest.mark.parametrize("scenario", ["cpu:2"], indirect=True)
@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("[live]", "[alive]", "field 'alive' is unknown"),
        ('b = "other.onnx"', 'c = "other.onnx"', "there is no service 'c'"),
        ('"other.onnx"', '"nothing_like_it"', "'nothing_like_it'"),
        ("operators = 3", "operators = 30", "cannot be cut into 30"),
    ],
)
def test_what_is_wrong_with_a_live_run_is_said(
    scenario: Path, old: str, new: str, wanted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario.write_text(scenario.read_text().replace(old, new))
    cache = ["--cache", str(scenario.parent / "cache")]
    assert main(["colocate", "profile", str(scenario), *cache]) == 1
    assert wanted in capsys.readouterr().err
