"""WebGPU itself, where its provider and a GPU are; Mesa's software driver will do."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from surplus import models
from surplus.engine.devices.plugins import read_plugin
from surplus.engine.errors import DeviceError
from surplus.engine.pipeline.loading import load_with
from surplus.engine.planning.load_params import LoadParams

SHAPE = (64, 64)


@pytest.fixture(scope="module", autouse=True)
def webgpu() -> None:
    try:
        read_plugin("webgpu")
    except DeviceError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    value = helper.make_tensor_value_info
    nodes = [
        helper.make_node("Neg", ["x"], ["a"], name="neg"),
        helper.make_node("Exp", ["a"], ["b"], name="exp"),
        helper.make_node("Add", ["b", "x"], ["y"], name="add"),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [value("x", TensorProto.FLOAT, SHAPE)],
        [value("y", TensorProto.FLOAT, SHAPE)],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return models.save(proto, tmp_path_factory.mktemp("webgpu") / "small.onnx")


def test_a_model_answers_from_several_threads(model: Path) -> None:
    params = LoadParams(
        devices="cpu:1,plugin:webgpu", placement_policy="single", cache=model.parent / "c"
    )
    loaded = load_with(model, params)
    assert {loaded.plan.devices[s.device] for s in loaded.plan.segments} == {"plugin:webgpu"}
    wrong: list[float] = []

    def call(number: float) -> None:
        for _ in range(5):
            y = loaded.run({"x": np.full(SHAPE, number, np.float32)})["y"]
            if not np.allclose(y, np.exp(-number) + number, rtol=1e-4):
                wrong.append(number)

    callers = [threading.Thread(target=call, args=(number,)) for number in (0.0, 0.5, 1.0)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


@pytest.mark.parametrize("kept", ["nothing", "plan", "flight"])
def test_a_process_ends_well_whatever_it_keeps(kept: str) -> None:
    script = Path(__file__).with_name("plugin_exit.py")
    words = [sys.executable, str(script), "webgpu", kept]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr  # the provider warns of limits that it lowers
