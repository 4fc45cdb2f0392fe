"""Faster R-CNN as a plan over a CPU and an EMULATED GPU, beside two other models under policies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from surplus.colocation.policies.names import policy_spec
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.scheduling.policy_params import PreparedPolicy
from tests.scheduling.two_devices import GPU, HOST, each_alone, rounds, saved, under_policies

NAMES = ("faster_rcnn", "lenet", "squeezenet")
DETECTOR = {"image_size": 64, "proposals": 50, "classes": 3}
GPU_MEMORY = "100MB"
"""Less than the detector's weights: some of it runs on the CPU, whatever was measured."""
ROUNDS = 3


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return saved(tmp_path_factory.mktemp("detector"), NAMES, faster_rcnn=DETECTOR)


@pytest.fixture(scope="module")
def prepared(files: dict[str, Path]) -> PreparedPolicy:
    return under_policies(files, 4, GPU_MEMORY)


@pytest.fixture(scope="module")
def alone(files: dict[str, Path]) -> dict[str, PlannedModel]:
    return each_alone(files, GPU_MEMORY)


@pytest.mark.parametrize("policy", ["edf", "abacus", "dstack", "gpulet", "veltair"])
def test_all_answer_as_alone(
    prepared: PreparedPolicy, alone: dict[str, PlannedModel], policy: str
) -> None:
    detector = prepared.models[0]
    segments = sorted(alone["faster_rcnn"].plan.segments, key=lambda segment: segment.rank)
    assert [s.tasks for s in detector.parts.whole.plan.segments] == [s.tasks for s in segments]
    assert {segment.device for segment in segments} == {HOST, GPU}
    wanted = {model.name: alone[model.name].run(dict(model.example)) for model in prepared.models}
    for round_ in rounds(prepared, policy, ROUNDS):
        for name, answer in zip(NAMES, round_, strict=True):
            assert answer.keys() == wanted[name].keys()
            for key, array in wanted[name].items():
                if policy_spec(policy).runs_parts:  # which may cut a segment: it rounds otherwise
                    assert answer[key].shape == array.shape
                    np.testing.assert_allclose(answer[key], array, rtol=1e-3, atol=1e-3)
                else:
                    np.testing.assert_array_equal(answer[key], array, err_msg=f"{name}: {key}")
