"""A plugin provider from the command line: listed, profiled, placed, run, or refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from surplus.engine.cli.main import main
from tests.cli.calls import Command
from tests.fakes.plugin import FakePlugin, fake_plugin

DEVICES = "cpu:1,plugin:fake"


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakePlugin:
    library = fake_plugin()
    monkeypatch.setenv("SURPLUS_PLUGIN_FAKE", str(library.path))
    monkeypatch.setenv("SURPLUS_PLUGIN_IDLE", str(library.path))
    return library


def test_devices_lists_it(fake: FakePlugin, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "--json"]) == 0
    rows = {row["device"]: row for row in json.loads(capsys.readouterr().out)["devices"]}
    assert rows["plugin:fake"]["usable"] == "yes"
    assert "finds no GPU" in rows["plugin:idle"]["usable"]


def test_a_model_is_profiled_placed_and_run(
    engine: Command, fake: FakePlugin, tmp_path: Path
) -> None:
    model, profile = engine.path("lenet.onnx"), tmp_path / "p.json"
    placement = tmp_path / "placement.json"
    assert engine("profile", model, "--devices", DEVICES, "-o", profile).status == 0
    how = ("--profile", profile, "--policy", "single", "-o", placement)
    assert engine("place", model, *how).status == 0
    before = fake.runs()
    how = ("--profile", profile, "--placement", placement, "--compare", "--json")
    ran = engine("run", model, "--devices", DEVICES, *how).json()
    assert ran["largest_relative_difference"] == 0
    assert ran["segments"] > 1
    assert fake.runs() > before
    assert fake.strays() == 0


@pytest.mark.parametrize("words", [["run"], ["serve"], ["profile", "-o", "p.json"]])
def test_a_missing_provider_is_one_clear_line(engine: Command, words: list[str]) -> None:
    model = engine.path("lenet.onnx")
    called = engine(words[0], model, *words[1:], "--devices", "cpu:1,plugin:no-such")
    assert called.status == 1
    assert called.out == ""
    told = called.err.splitlines()[-1]
    assert told.startswith(f"engine {words[0]}: device 'plugin:no-such': ")
    assert "pip install onnxruntime-ep-no-such" in told
