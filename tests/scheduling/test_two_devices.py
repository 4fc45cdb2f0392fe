"""Plans over a CPU and a GPU under policies: the bits of the model alone, whatever is beside it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surplus
from surplus import models
from surplus.colocation.policies import policy_spec
from surplus.engine.runtime.model import Model
from surplus.engine.scheduling.policy_params import PolicyParams, PreparedPolicy, prepare
from surplus.engine.scheduling.policy_service import PolicyService

HOST, GPU = 0, 1
DEVICES = "cpu:1,emulated:gpu[replay]:4"
NAMES = ("ssd_mobilenet_v1", "lenet", "mnasnet")
GPU_MEMORY = "16MB"
"""Less than the detector's weights: some of it runs on the CPU, whatever was measured."""
SLO_NS = 60_000_000_000


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("two_devices")
    for name in NAMES:
        models.save(models.build(name), folder / f"{name}.onnx")
    return {name: folder / f"{name}.onnx" for name in NAMES}


@pytest.fixture(scope="module")
def prepared(files: dict[str, Path]) -> PreparedPolicy:
    params = PolicyParams(
        policy="edf",
        slos_ns=dict.fromkeys(NAMES, SLO_NS),
        devices=DEVICES,
        groups=3,
        most_items=1,
        rounds=1,
        gpu_memory=GPU_MEMORY,
        cache=files["lenet"].parent / "cache",
    )
    return prepare(params, files)


@pytest.fixture(scope="module")
def alone(files: dict[str, Path]) -> dict[str, Model]:
    """Each with the plan whose groups the policies run, on one stream."""
    cache, devices = files["lenet"].parent / "cache", DEVICES.replace(":4", ":1")
    return {
        name: surplus.load(path, devices, cache=cache, gpu_memory=GPU_MEMORY)
        for name, path in files.items()
    }


def test_groups_are_of_the_plan_that_was_measured(
    prepared: PreparedPolicy, alone: dict[str, Model]
) -> None:
    detector = prepared.models[0]
    plan = sorted(alone[detector.name].plan.segments, key=lambda segment: segment.rank)
    devices = {segment.device for segment in plan}
    assert HOST in devices, "the GPU's memory does not hold all of it"
    if GPU not in devices:
        pytest.skip("beside this load the CPU alone was measured to be faster")
    clusters = list(detector.parts.clusters)
    tasks = [task for cluster in clusters for task in cluster.tasks]
    assert tasks == [task for segment in plan for task in segment.tasks]
    assert [cluster.tasks for cluster in detector.parts.whole] == [s.tasks for s in plan]
    on_host = {task for cluster in clusters if cluster.is_on_host for task in cluster.tasks}
    assert on_host == {t for segment in plan if segment.device == HOST for t in segment.tasks}


@pytest.mark.parametrize("policy", ["edf", "edf_drop", "gpulet", "dstack", "nexus", "temporal"])
def test_answers_are_those_of_the_plan_alone(
    prepared: PreparedPolicy, alone: dict[str, Model], policy: str
) -> None:
    wanted = {model.name: alone[model.name].run(dict(model.example)) for model in prepared.models}

    async def life() -> list[dict[str, Any]]:
        spec = policy_spec(policy)
        service = PolicyService(prepared.demand, spec, prepared.models, prepared.places)
        try:
            # One at a time of each: a batch of several rounds otherwise, as anywhere.
            return [
                answer
                for _ in range(4)
                for answer in await asyncio.gather(
                    *(
                        service.submit(index, model.example).answer
                        for index, model in enumerate(prepared.models)
                    )
                )
            ]
        finally:
            service.close()

    for index, answer in enumerate(asyncio.run(life())):
        name = NAMES[index % len(NAMES)]
        assert answer.keys() == wanted[name].keys()
        for key, array in wanted[name].items():
            np.testing.assert_array_equal(answer[key], array, err_msg=f"{name}: {key}")
