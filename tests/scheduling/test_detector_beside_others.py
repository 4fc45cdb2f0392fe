"""Faster R-CNN as a plan over a CPU and an EMULATED GPU, beside two other models under policies."""

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

DEVICES = "cpu:1,emulated:gpu[replay]:4"
HOST, GPU = 0, 1
NAMES = ("faster_rcnn", "lenet", "squeezenet")
GPU_MEMORY = "100MB"
"""Less than the detector's weights: some of it runs on the CPU, whatever was measured."""
SLO_NS = 60_000_000_000
ROUNDS = 3


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("detector")
    for name in NAMES:
        options = {"image_size": 320} if name == "faster_rcnn" else {}
        models.save(models.build(name, **options), folder / f"{name}.onnx")
    return {name: folder / f"{name}.onnx" for name in NAMES}


@pytest.fixture(scope="module")
def prepared(files: dict[str, Path]) -> PreparedPolicy:
    params = PolicyParams(
        policy="edf",
        slos_ns=dict.fromkeys(NAMES, SLO_NS),
        devices=DEVICES,
        groups=4,
        most_items=1,
        rounds=1,
        gpu_memory=GPU_MEMORY,
        cache=files["lenet"].parent / "cache",
    )
    return prepare(params, files)


@pytest.fixture(scope="module")
def alone(files: dict[str, Path]) -> dict[str, Model]:
    """Each with the plan whose segments the policies run, on one stream."""
    cache, devices = files["lenet"].parent / "cache", DEVICES.replace(":4", ":1")
    return {
        name: surplus.load(path, devices, cache=cache, gpu_memory=GPU_MEMORY)
        for name, path in files.items()
    }


@pytest.mark.parametrize("policy", ["edf", "abacus", "dstack", "gpulet", "veltair"])
def test_all_answer_as_alone(
    prepared: PreparedPolicy, alone: dict[str, Model], policy: str
) -> None:
    detector = prepared.models[0]
    segments = sorted(alone["faster_rcnn"].plan.segments, key=lambda segment: segment.rank)
    assert [cluster.tasks for cluster in detector.parts.whole] == [s.tasks for s in segments]
    assert {segment.device for segment in segments} == {HOST, GPU}
    wanted = {model.name: alone[model.name].run(dict(model.example)) for model in prepared.models}
    for round_ in asyncio.run(_rounds(prepared, policy)):
        for name, answer in zip(NAMES, round_, strict=True):
            assert answer.keys() == wanted[name].keys()
            for key, array in wanted[name].items():
                if policy_spec(policy).runs_parts:  # which may cut a segment: it rounds otherwise
                    assert answer[key].shape == array.shape
                    np.testing.assert_allclose(answer[key], array, rtol=1e-3, atol=1e-3)
                else:
                    np.testing.assert_array_equal(answer[key], array, err_msg=f"{name}: {key}")


async def _rounds(prepared: PreparedPolicy, policy: str) -> list[list[dict[str, Any]]]:
    """Answers to one query of each model at a time, so that none is computed in a batch."""
    service = PolicyService(prepared.demand, policy_spec(policy), prepared.models, prepared.places)
    try:
        return [
            await asyncio.gather(
                *(
                    service.submit(index, model.example).answer
                    for index, model in enumerate(prepared.models)
                )
            )
            for _ in range(ROUNDS)
        ]
    finally:
        service.close()
