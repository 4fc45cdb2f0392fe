"""One machine with two GPUs; run by test_fake_gpu.py in a process that sees two."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import surplus
from bench.gpu_check.parts import ModelSpec
from bench.gpu_check.setting import Setting
from bench.gpu_check.units import several_gpus
from surplus import models
from surplus.engine.devices.machines import close_machines, machine_for
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import DeviceError, ExecutionError
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.on_machine import recovery_of
from surplus.engine.planning.stages import measure, read_model
from surplus.engine.profiling import profiler
from surplus.engine.profiling.peer_links import peer_links
from surplus.engine.runtime.planned_model import PlannedModel
from tests.constant_costs import plan_in_turns
from tests.fakes.cuda_library import FakeCuda

DEVICES = "cpu:1,cuda:0:2,cuda:1:2"
PARAMETERS = {"tasks": 2, "width": 8}
INPUTS = models.example_inputs("multi_task", **PARAMETERS)
ILLEGAL_ADDRESS = 700


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    return models.save(models.build("multi_task", **PARAMETERS), folder / "m.onnx")


@pytest.fixture(scope="module")
def graph(file: Path) -> Graph:
    return read_model(file, file.parent / "cache")


@pytest.fixture(scope="module")
def right(file: Path) -> dict[str, np.ndarray]:
    return surplus.load(file, "cpu:1", cache=file.parent / "cache").run(INPUTS)


@pytest.fixture
def fake(right: dict[str, np.ndarray]) -> Iterator[FakeCuda]:
    close_machines()
    fake = FakeCuda()
    yield fake
    assert fake.violations() == ""
    close_machines()


def check(answers: dict[str, np.ndarray], right: dict[str, np.ndarray]) -> None:
    assert answers.keys() == right.keys()
    for name, answer in answers.items():
        np.testing.assert_allclose(answer, right[name], rtol=1e-5, atol=1e-6)


def in_turns(graph: Graph, choice: str = "fail") -> PlannedModel:
    params = LoadParams(devices=DEVICES, on_device_loss=choice)
    plan = plan_in_turns(graph, params.specs())
    return PlannedModel(graph, plan, machine_for(params.specs()), recovery=recovery_of(params))


def test_a_query_passes_from_one_to_the_other(
    fake: FakeCuda, graph: Graph, right: dict[str, np.ndarray]
) -> None:
    model = in_turns(graph)
    for _ in range(5):
        check(model.run(INPUTS, traced=True), right)
    resources = {span.resource for span in model.timeline()}
    assert {"cuda:0", "cuda:1"} <= {resource.partition("/")[0] for resource in resources}
    assert any({*name.split("->")} == {"cuda:0", "cuda:1"} for name in resources)


def test_copies_between_them_are_measured(
    fake: FakeCuda, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = partial(peer_links, sizes=(4096, 65536))
    monkeypatch.setattr(profiler, "peer_links", short)
    profile = measure(graph, LoadParams(devices=DEVICES).specs(), INPUTS, tmp_path)
    links = {(link.source, link.target): link for link in profile.links}
    gpus = ("cuda:0", "cuda:1")
    memories = ("host", *gpus)
    assert set(links) == {(a, b) for a in memories for b in memories if a != b}
    assert {links[pair].staging_bytes for pair in (gpus, gpus[::-1])} == {None}


def test_a_model_is_loaded_on_both(
    fake: FakeCuda, file: Path, right: dict[str, np.ndarray], tmp_path: Path
) -> None:
    model = surplus.load(file, DEVICES, cache=tmp_path, selection_s=0)
    assert model.plan.devices == ("cpu", "cuda:0", "cuda:1")
    check(model.run(INPUTS), right)


def test_the_gpu_check_measures_both(fake: FakeCuda, tmp_path: Path) -> None:
    setting = Setting("cpu:1,cuda:0:1", tmp_path, tmp_path, 0.1)
    found = several_gpus.measure(ModelSpec("multi_task", PARAMETERS), setting)
    values = {row.what: row for row in found.figures}
    assert values["peak throughput: 2 GPUs / one"].value
    assert values["outputs: several GPUs against one"].met
    assert {"cuda:0->cuda:1, 8 MiB: GB/s", "cuda:1->cuda:0, 8 MiB: GB/s"} <= set(values)


def test_the_other_one_takes_over_from_a_lost_one(
    fake: FakeCuda, graph: Graph, right: dict[str, np.ndarray]
) -> None:
    model = in_turns(graph, "cpu")
    check(model.run(INPUTS), right)
    fake.inject("execute", 3, ILLEGAL_ADDRESS)
    with pytest.raises(ExecutionError, match=r"device 'cuda:[01]' is lost: .*CUDA error 700"):
        model.run(INPUTS)
    for _ in range(5):
        check(model.run(INPUTS), right)
    assert model.plan.devices in (("cpu", "cuda:0"), ("cpu", "cuda:1"))
    used = {model.plan.devices[segment.device] for segment in model.plan.segments}
    assert used == {*model.plan.devices}


def test_a_third_one_is_not_there() -> None:
    with pytest.raises(DeviceError, match="'cuda:2': the driver sees 2 GPUs, numbered from 0"):
        machine_for(LoadParams(devices="cpu:1,cuda:0,cuda:2").specs())
