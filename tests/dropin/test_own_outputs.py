"""Sessions hand out nothing that is the caller's, and nothing that nobody wrote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from surplus import GraphOptimizationLevel, InferenceSession, OrtValue, RunOptions, SessionOptions

HANDED_ON = """<ir_version: 9, opset_import: ["" : 18]>
handed (float[3] x) => (float[3] y, float[3] x) { y = Add(x, x) }"""

DEFAULT = """<ir_version: 9, opset_import: ["" : 18]>
default (float[3] x, float[3] w) => (float[3] y, float[3] w) <float[3] w = {4, 5, 6}> {
    y = Add(x, w) }"""


def _level(name: str) -> SessionOptions:
    options = SessionOptions()
    options.graph_optimization_level = getattr(GraphOptimizationLevel, name)
    return options


def _entry(name: str) -> SessionOptions:
    options = SessionOptions()
    options.add_session_config_entry(name, "1")
    return options


OPTIONS: dict[str, Callable[[], SessionOptions]] = {
    "default": SessionOptions,
    "disable_all": lambda: _level("ORT_DISABLE_ALL"),
    "basic": lambda: _level("ORT_ENABLE_BASIC"),
    "extended": lambda: _level("ORT_ENABLE_EXTENDED"),
    "entry": lambda: _entry("session.disable_prepacking"),
}


def _bound(session: InferenceSession, x: Any) -> list[Any]:
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    for name in ("y", "x"):
        binding.bind_output(name)
    session.run_with_iobinding(binding)
    return [value.numpy() for value in binding.get_outputs()]


WAYS: dict[str, Callable[[InferenceSession, Any], list[Any]]] = {
    "run": lambda s, x: s.run(None, {"x": x}),
    "run of names": lambda s, x: s.run(["y", "x"], {"x": x}),
    "run options": lambda s, x: s.run(None, {"x": x}, RunOptions()),
    "values": lambda s, x: [
        v.numpy()
        for v in s.run_with_ort_values(None, {"x": OrtValue.ortvalue_from_numpy(x.copy())})
    ],
    "binding": _bound,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("options", OPTIONS)
def test_an_input_that_is_an_output_is_a_copy(options: str, way: str, cache: Path) -> None:
    content = onnx.parser.parse_model(HANDED_ON).SerializeToString()
    session = InferenceSession(content, OPTIONS[options](), devices="cpu:1", cache=cache)
    for start in (1, 2, 3):  # what an earlier query left lies in memory that is used again
        x = np.arange(start, start + 3, dtype=np.float32)
        right = x.tolist()
        y, handed = WAYS[way](session, x)
        assert not np.shares_memory(handed, x)
        x[:] = 77
        assert handed.tolist() == right
        assert y.tolist() == [2 * n for n in right]


@pytest.mark.parametrize("options", OPTIONS)
def test_a_default_that_is_an_output_is_what_was_given(options: str, cache: Path) -> None:
    content = onnx.parser.parse_model(DEFAULT).SerializeToString()
    session = InferenceSession(content, OPTIONS[options](), devices="cpu:1", cache=cache)
    x, w = np.zeros(3, np.float32), np.full(3, 9, np.float32)
    assert session.run(["w"], {"x": x})[0].tolist() == [4, 5, 6]
    (found,) = session.run(["w"], {"x": x, "w": w})
    w[:] = 1
    assert found.tolist() == [9, 9, 9]
    assert session.run(["w"], {"x": x})[0].tolist() == [4, 5, 6]


def test_a_file_of_onnx_runtimes_own_format(cache: Path, tmp_path: Path) -> None:
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "handed.ort")
    options.add_session_config_entry("session.save_model_format", "ORT")
    content = onnx.parser.parse_model(HANDED_ON).SerializeToString()
    onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    session = InferenceSession(tmp_path / "handed.ort", devices="cpu:1", cache=cache)
    for start in (1, 2):
        x = np.arange(start, start + 3, dtype=np.float32)
        assert session.run(["x"], {"x": x})[0].tolist() == x.tolist()
