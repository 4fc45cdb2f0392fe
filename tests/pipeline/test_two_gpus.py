"""A model that is loaded on two emulated GPUs: planned, measured and answered on both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import surplus
from surplus import models

DEVICES = "cpu:1,emulated:a[replay,uncaptured]:1,emulated:b[replay,uncaptured]:1"
"""Operators are launched one by one, so that branches take long beside copies."""

PARAMETERS = {"branches": 4, "depth": 8, "size": 384, "kind": "matmul"}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    return models.save(models.build("fork_join", **PARAMETERS), folder / "m.onnx")


@pytest.fixture(scope="module")
def inputs() -> dict[str, np.ndarray]:
    return models.example_inputs("fork_join", **PARAMETERS)


@pytest.mark.parametrize("policy", ["auto", "heft"])
def test_branches_go_to_both(file: Path, inputs: dict[str, np.ndarray], policy: str) -> None:
    cache = file.parent / "cache"
    right = surplus.load(file, "cpu:1", cache=cache).run(inputs)
    model = surplus.load(file, DEVICES, policy, cache=cache, selection_ns=0, tune="now")
    used = {model.plan.devices[segment.device] for segment in model.plan.segments}
    assert {"emulated:a", "emulated:b"} <= used
    for name, answer in model.run(inputs).items():
        np.testing.assert_allclose(answer, right[name], rtol=1e-4, atol=1e-5)


def test_one_of_them_is_enough_where_both_are_not_worth_it(file: Path) -> None:
    """A chain would only be copied between them."""
    chain = models.save(models.build("chain", length=8, size=384, kind="matmul"), file.parent / "c")
    cache = file.parent / "cache"
    model = surplus.load(chain, DEVICES, cache=cache, selection_ns=0, tune="now")
    assert len({segment.device for segment in model.plan.segments}) == 1
