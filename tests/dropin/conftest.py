from __future__ import annotations

from pathlib import Path

import onnx
import onnxruntime
import pytest

from surplus import InferenceSession
from tests.dropin.pair import TYPED, Pair


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dropin-cache")


@pytest.fixture(scope="session")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("typed") / "typed.onnx"
    onnx.save(onnx.parser.parse_model(TYPED), path)
    return path


@pytest.fixture(scope="session")
def pair(typed: Path, cache: Path) -> Pair:
    ours = InferenceSession(typed, devices="cpu:1", cache=cache)
    return Pair(ours, onnxruntime.InferenceSession(typed, providers=["CPUExecutionProvider"]))
