"""TensorRT's kernels chosen for segments on a GPU; run by test_fake_gpu.py.

The provider of the fake leaves all to CUDA's (``cpu_as_cuda.cpp``) and counts its sessions.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surplus
from surplus import models
from surplus.engine.devices.inventory import inventory
from surplus.engine.kernels.registry import installed


def _sessions() -> int:
    """That TensorRT came first in."""
    library = ctypes.CDLL(os.environ["SURPLUS_ORT_LIBRARY"])
    library.cpuAsCudaTensorRtSessions.restype = ctypes.c_size_t
    return int(library.cpuAsCudaTensorRtSessions())


@pytest.fixture
def lenet(tmp_path: Path) -> Path:
    return models.save(models.build("lenet"), tmp_path / "lenet.onnx")


def _loaded(path: Path, folder: Path, **more: Any) -> surplus.Model:
    asked = {"devices": "cpu:1,cuda:0:2", "tune": "now", "selection_s": 0, "cache": folder}
    return surplus.load(path, placement_policy="single", **asked, **more)


def test_it_is_found(tmp_path: Path) -> None:
    assert "tensorrt" in installed()
    (row,) = [row for row in inventory()["kernels"] if row["name"] == "tensorrt"]
    assert (row["for"], row["usable"]) == ("cuda", "yes")


def test_segments_on_the_gpu_run_with_it_where_it_is_asked_for(lenet: Path, tmp_path: Path) -> None:
    arrays = models.example_inputs("lenet")
    with _loaded(lenet, tmp_path, kernels="onnxruntime") as plain:
        expected = plain.run(arrays)
        assert plain.plan.libraries == ()
    before = _sessions()
    with _loaded(lenet, tmp_path, kernels="tensorrt") as model:
        assert model.plan.libraries == ("tensorrt",)
        assert {s.device for s in model.plan.segments if s.kernels} == {1}
        assert "TensorRT" in model.facts["kernels"]
        assert _sessions() > before
        for name, value in model.run(arrays).items():
            np.testing.assert_array_equal(value, expected[name])
    opened = _sessions()
    with _loaded(lenet, tmp_path, kernels="tensorrt") as again:  # from the stored plan
        assert again.plan.libraries == ("tensorrt",)
        assert _sessions() > opened


def test_the_cpu_keeps_its_kernels(lenet: Path, tmp_path: Path) -> None:
    asked = {"tune": "now", "selection_s": 0, "cache": tmp_path, "kernels": "tensorrt"}
    with surplus.load(lenet, devices="cpu:1", **asked) as model:
        assert model.plan.libraries == ()


def test_a_gpu_that_does_not_take_it_keeps_cudas(
    lenet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from surplus.engine.runtime import kernel_choices

    class Refusing:
        def __init__(self, *_: object) -> None:
            raise RuntimeError("no engine was built")

    monkeypatch.setattr(kernel_choices._core, "KernelChoice", Refusing, raising=True)
    with _loaded(lenet, tmp_path, kernels="tensorrt") as model:
        assert model.run(models.example_inputs("lenet"))
