"""Plans over a CPU and a GPU under policies: the bits of the model alone, whatever is beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.scheduling.policy_params import PreparedPolicy
from tests.scheduling.two_devices import GPU, HOST, each_alone, rounds, saved, under_policies

NAMES = ("ssd_mobilenet_v1", "lenet", "mnasnet")
GPU_MEMORY = "16MB"
"""Less than the detector's weights: some of it runs on the CPU, whatever was measured."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return saved(tmp_path_factory.mktemp("two_devices"), NAMES)


@pytest.fixture(scope="module")
def prepared(files: dict[str, Path]) -> PreparedPolicy:
    return under_policies(files, 3, GPU_MEMORY)


@pytest.fixture(scope="module")
def alone(files: dict[str, Path]) -> dict[str, PlannedModel]:
    return each_alone(files, GPU_MEMORY)


def test_groups_are_of_the_plan_that_was_measured(
    prepared: PreparedPolicy, alone: dict[str, PlannedModel]
) -> None:
    detector = prepared.models[0]
    plan = sorted(alone[detector.name].plan.segments, key=lambda segment: segment.rank)
    devices = {segment.device for segment in plan}
    assert HOST in devices, "the GPU's memory does not hold all of it"
    if GPU not in devices:
        pytest.skip("beside this load the CPU alone was measured to be faster")
    grouped = detector.parts.grouped
    assert list(grouped.tasks) == [task for segment in plan for task in segment.tasks]
    assert [s.tasks for s in detector.parts.whole.plan.segments] == [s.tasks for s in plan]
    on_host = {task for s in grouped.plan.segments if s.device == HOST for task in s.tasks}
    assert on_host == {t for segment in plan if segment.device == HOST for t in segment.tasks}


@pytest.mark.parametrize("policy", ["edf", "edf_drop", "gpulet", "dstack", "nexus", "temporal"])
def test_answers_are_those_of_the_plan_alone(
    prepared: PreparedPolicy, alone: dict[str, PlannedModel], policy: str
) -> None:
    wanted = {model.name: alone[model.name].run(dict(model.example)) for model in prepared.models}
    for answers in rounds(prepared, policy, 4):
        for name, answer in zip(NAMES, answers, strict=True):
            assert answer.keys() == wanted[name].keys()
            for key, array in wanted[name].items():
                np.testing.assert_array_equal(answer[key], array, err_msg=f"{name}: {key}")
