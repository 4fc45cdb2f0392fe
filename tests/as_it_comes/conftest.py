"""The environment with the wheel, made once, and a home of its own for each test."""

from __future__ import annotations

from pathlib import Path

import onnxruntime
import pytest

from tests.as_it_comes import models
from tests.as_it_comes.house import House
from tests.built_wheel import built_wheel
from tests.empty_environment import empty_environment

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks them, so that the other tests' call leaves them out."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("as_it_comes")


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    return empty_environment(folder / "venv", built_wheel(folder), ("cpu", "openvino", "http"))


@pytest.fixture
def house(python: Path, tmp_path: Path) -> House:
    return House(python, tmp_path)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return models.perceptron(tmp_path / "model.onnx")


@pytest.fixture
def want(model: Path) -> list[float]:
    """What ONNX Runtime answers to ones, added up by row."""
    session = onnxruntime.InferenceSession(model)
    (answer,) = session.run(None, models.ones())
    return [round(float(row.sum()), 3) for row in answer]
