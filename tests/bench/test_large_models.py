"""The large graphs are what they say, and run."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from bench.models.large_models import SHAPES, large_model
from surplus.engine.native import open_session
from surplus.engine.values import to_value


@pytest.mark.parametrize("shape", SHAPES)
def test_a_large_model_is_valid_and_has_its_nodes(shape: str) -> None:
    model = large_model(shape, 200)
    onnx.checker.check_model(model, full_check=True)
    assert 0.9 * 200 <= len(model.graph.node) <= 200
    session = open_session(model.SerializeToString())
    (answer,) = session.run({"x": to_value(np.ones((1, 16), np.float32), 1)})
    assert np.isfinite(answer.to_numpy()).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_onnx_runtime_removes_none_of_them(shape: str, tmp_path) -> None:
    target = tmp_path / "optimised.onnx"
    open_session(
        large_model(shape, 200).SerializeToString(), level="basic", optimized_path=str(target)
    )
    assert len(onnx.load(target).graph.node) >= 0.9 * 200
