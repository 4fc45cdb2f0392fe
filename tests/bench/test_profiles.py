"""The profiles that come with the repository place their models on a machine without that GPU."""

import json

import pytest

from bench.profiles import DETECTORS, profile_path
from surplus import models
from surplus.engine.cli.main import main
from surplus.engine.profiling.profile import Profile

MAX_BYTES = 300 << 10
LARGE = ("faster_rcnn", "mask_rcnn")


@pytest.mark.parametrize("name", DETECTORS)
def test_each_says_where_its_numbers_come_from(name):
    profile = Profile.load(profile_path(name))
    cpu, gpu = profile.devices
    assert profile_path(name).stat().st_size < MAX_BYTES
    assert cpu.origin.startswith("measured on ")
    assert profile.machine.cpu in cpu.origin
    assert gpu.origin.startswith("derived: roofline of a ")
    assert all(word in gpu.origin for word in ("GB/s", "not measured", "PCIe", "data sheet"))
    assert profile.machine.host == ""
    assert gpu.submit_ns > 0
    assert gpu.slowdown[0] == 1
    on_gpu = [task for task in profile.tasks if gpu.name in task.times]
    assert all(gpu.name in task.launch_ns and gpu.name in task.captured_ns for task in on_gpu)
    assert all("cpu" in task.times for task in profile.tasks)
    assert any("emulated:gpu" in task.times for task in profile.tasks)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in LARGE else []) for n in DETECTORS]
)
def test_each_places_its_model(name, tmp_path, capsys):
    path = models.save(models.build(name), tmp_path / f"{name}.onnx")
    words = ["place", str(path), "--profile", str(profile_path(name)), "--policy", "best"]
    assert main([*words, "--json", "--cache", str(tmp_path / "cache")]) == 0
    rows = {r["policy"]: r for r in json.loads(capsys.readouterr().out)["policies"]}
    assert 0 < rows["best"]["makespan_ns"] <= rows["single"]["makespan_ns"]
