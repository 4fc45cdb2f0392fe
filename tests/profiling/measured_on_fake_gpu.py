"""A CUDA device is profiled through the core; run by tests/fake_gpu/test_fake_gpu.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from surplus import models
from surplus.engine.devices import cuda_driver
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.devices.staging import STAGING_BYTES
from surplus.engine.errors import DeviceError
from surplus.engine.planning.stages import costs_of, measure, place, read_model
from surplus.engine.profiling.profile import Profile
from surplus.engine.profiling.profiler import profile_graph

SPECS = parse_devices("cpu:1,cuda:0:3")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("model")
    path = models.save(models.build("multi_task", tasks=2, width=8), folder / "m.onnx")
    return read_model(path, folder / "cache")


def test_a_profile_of_a_gpu_places_where_there_is_none(
    graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = models.example_inputs("multi_task", tasks=2, width=8)
    profile = measure(graph, SPECS, inputs, tmp_path)
    profile.save(tmp_path / "p.json.gz")

    monkeypatch.setattr(cuda_driver, "LIBRARY", "libcuda-none.so")
    read = Profile.load(tmp_path / "p.json.gz")
    device = read.device("cuda:0")
    assert device.origin == "measured on Fake GPU 0"
    assert device.memory_bytes == 141 << 30
    assert device.lanes == 3
    assert len(device.slowdown) == 3
    assert device.submit_ns >= 0
    for task in graph.tasks:
        assert read.service_ns(task.name, "cuda:0") >= 1
        assert read.launch_ns(task.name, "cuda:0") >= 0
    assert read.whole_model_ns("cuda:0") > 0
    links = {(link.source, link.target): link for link in read.links}
    assert set(links) == {("host", "cuda:0"), ("cuda:0", "host")}
    assert all(link.staging_bytes == STAGING_BYTES for link in links.values())

    costs = costs_of(graph, read, SPECS)
    placement = place(costs.problem, "heft")
    assert len(placement.device_of) == len(graph.tasks)


def test_nothing_opens_a_gpu_unless_told_how(graph) -> None:
    inputs = {t: np.zeros(1, np.float32) for t in ("x",)}
    with pytest.raises(DeviceError, match="'cuda:0' cannot be profiled: nothing opens it"):
        profile_graph(graph, SPECS, inputs)
