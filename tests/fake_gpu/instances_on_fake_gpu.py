"""One GPU as two devices of a machine; run by test_fake_gpu.py in a process that sees one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import surplus
from bench.gpu_check.parts import ModelSpec
from bench.gpu_check.setting import Setting
from bench.gpu_check.units import instances
from surplus import models
from surplus.engine.devices.machines import close_machines, machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.planning.stages import read_model
from surplus.engine.runtime.planned_model import PlannedModel
from tests.constant_costs import plan_in_turns
from tests.fakes.cuda_library import FakeCuda

DEVICES = parse_devices("cpu:1,cuda:0:2,cuda:0.1:2")
PARAMETERS = {"tasks": 2, "width": 8}
INPUTS = models.example_inputs("multi_task", **PARAMETERS)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    return models.save(models.build("multi_task", **PARAMETERS), folder / "m.onnx")


def test_a_query_passes_from_one_instance_to_the_other(file: Path) -> None:
    fake = FakeCuda()
    right = surplus.load(file, "cpu:1", cache=file.parent / "cache").run(INPUTS)
    graph = read_model(file, file.parent / "cache")
    model = PlannedModel(graph, plan_in_turns(graph, DEVICES), machine_for(DEVICES))
    for _ in range(5):
        answers = model.run(INPUTS, traced=True)
        for name, answer in answers.items():
            np.testing.assert_allclose(answer, right[name], rtol=1e-5, atol=1e-6)
    resources = {span.resource.partition("/")[0] for span in model.timeline()}
    assert {"cuda:0", "cuda:0.1"} <= resources
    names = [device["name"] for device in machine_for(DEVICES).stats()["devices"]]
    assert names == ["cpu", "cuda:0", "cuda:0.1"]
    assert fake.violations() == ""
    close_machines()


def test_a_model_is_loaded_onto_both(file: Path) -> None:
    model = surplus.load(
        file, ",".join(spec.text for spec in DEVICES), inputs=INPUTS, cache=file.parent / "cache"
    )
    right = surplus.load(file, "cpu:1", cache=file.parent / "cache").run(INPUTS)
    for name, answer in model.run(INPUTS).items():
        np.testing.assert_allclose(answer, right[name], rtol=1e-5, atol=1e-6)
    close_machines()


def test_the_gpu_check_compares_them_with_lanes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instances, "INSTANCES", 2)  # the fake has sixteen streams
    setting = Setting("cpu:1,cuda:0:4", tmp_path, tmp_path, 0.1)
    assert instances.opened(setting) == ("cpu:1,cuda:0:2", "cpu:1,cuda:0:1,cuda:0.1:1")
    found = instances.measure(ModelSpec("multi_task", PARAMETERS), setting)
    values = {row.what: row for row in found.figures}
    assert values["peak throughput: opened 2 times, a lane each / once"].value
    assert values["outputs: opened several times against once"].met
    close_machines()
