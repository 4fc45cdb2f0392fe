"""ONNX Runtime's kernels give the bits of the user's file, before and after it was measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

import surplus
from surplus.engine.planning.stages import read_model

SIZE = 32

RESIDUAL = """<ir_version: 8, opset_import: ["" : 17]>
residual (float[b, t, 32] x) => (float[b, t, 32] y) {
    sizes = Shape(x)
    flat = Reshape(x, rows)
    made = Gemm(flat, w, bias)
    back = Reshape(made, sizes)
    sum = Add(back, x)
    y = LayerNormalization<axis = -1>(sum, scale, shift)
}"""
"""Its sum has no shape that ONNX Runtime knows; where types are stated, it fuses the sum and the
normalisation."""


def residual() -> onnx.ModelProto:
    rng = np.random.default_rng(0)
    model = onnx.parser.parse_model(RESIDUAL)
    weights: dict[str, Any] = {
        "w": (rng.standard_normal((SIZE, SIZE)) / 5).astype(np.float32),
        **{n: rng.standard_normal(SIZE).astype(np.float32) for n in ("bias", "scale", "shift")},
        "rows": np.array([-1, SIZE]),
    }
    model.graph.initializer.extend(numpy_helper.from_array(a, n) for n, a in weights.items())
    return model


def inputs(rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(rows)
    return {"x": rng.standard_normal((rows, 5, SIZE)).astype(np.float32)}


def given_answer(path: Path, width: int, given: Mapping[str, Any]) -> list[Any]:
    """Of the file itself, in one session of so many threads."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = width
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    found: list[Any] = session.run(None, dict(given))
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "residual.onnx"
    path.write_bytes(residual().SerializeToString())
    return path


def test_the_prepared_form_alone_would_round_otherwise(file: Path, tmp_path: Path) -> None:
    """Else nothing is shown here."""
    prepared = read_model(file, tmp_path / "cache").model_path
    (right,), (found,) = (given_answer(p, 1, inputs(2)) for p in (file, prepared))
    assert not np.array_equal(found, right)


@pytest.mark.parametrize("lanes", [1, 2])
def test_the_bits_of_the_given_file(lanes: int, file: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for tune in ("background", "now", "background"):  # not measured yet, measured, stored
        options: dict[str, Any] = {"kernels": "onnxruntime", "tune": tune, "cache": cache}
        model = surplus.load(file, f"cpu:{lanes}", **options)
        session = surplus.InferenceSession(file, devices=f"cpu:{lanes}", tune=tune, cache=cache)
        for rows in (1, 3):
            given = inputs(rows)
            width = max(segment.width for segment in model.plan.segments)
            (right,) = given_answer(file, width, given)
            assert np.array_equal(model.run(given)["y"], right), tune
            assert np.array_equal(session.run(None, given)[0], right), tune
        model.close()
    assert model.facts["largest_difference"] == "0"


def test_the_same_of_weights_in_files_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "outside" / "residual.onnx"
    path.parent.mkdir()
    onnx.save(residual(), path, save_as_external_data=True, size_threshold=64, location="w.bin")
    model = surplus.load(path, "cpu:1", kernels="onnxruntime", cache=tmp_path / "cache")
    (right,) = given_answer(path, 1, inputs(2))
    assert np.array_equal(model.run(inputs(2))["y"], right)


def test_constants_of_both_forms_are_stored_once(file: Path, tmp_path: Path) -> None:
    graph = read_model(file, tmp_path / "cache")
    assert graph.whole_path.name == "given.onnx"
    assert (graph.folder / "weights.bin").stat().st_size > 0
    assert (graph.folder / "given.bin").stat().st_size == 0
