"""ONNX Runtime as the judge of what the builders make."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime as ort

from surplus import models


@dataclass(frozen=True)
class Shape:
    """Size of a graph after ONNX Runtime's basic optimisation."""

    nodes: int
    max_in: int
    max_out: int
    widest_level: int


def _session(model: onnx.ModelProto, optimized: Path | None = None) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    if optimized is not None:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = str(optimized)
    return ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])


def graph_shape(graph: onnx.GraphProto) -> Shape:
    """Count nodes, distinct neighbours and nodes per longest-path level."""
    producer = {value: i for i, node in enumerate(graph.node) for value in node.output}
    before = [{producer[v] for v in node.input if v in producer} for node in graph.node]
    after = Counter(p for reads in before for p in reads)
    level: list[int] = []
    for reads in before:
        level.append(1 + max((level[p] for p in reads), default=-1))
    return Shape(
        len(graph.node), max(map(len, before)), max(after.values()), max(Counter(level).values())
    )


@lru_cache(maxsize=8)
def _built(name: str, params: tuple[tuple[str, Any], ...]) -> onnx.ModelProto:
    return models.build(name, **dict(params))


@pytest.fixture(scope="session")
def built() -> Callable[..., onnx.ModelProto]:
    """Build a model, or remember it: drawing 40 million weights is what takes the time."""

    def build(name: str, **params: Any) -> onnx.ModelProto:
        return _built(name, tuple(sorted(params.items())))

    return build


@pytest.fixture(scope="session")
def run() -> Callable[[onnx.ModelProto, dict[str, np.ndarray]], dict[str, np.ndarray]]:
    """Run a model in a plain session, kept while the same model runs: outputs by name."""
    kept: list[tuple[onnx.ModelProto, ort.InferenceSession]] = []

    def run_model(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        if not kept or kept[0][0] is not model:
            kept[:] = [(model, _session(model))]
        session = kept[0][1]
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(names, inputs), strict=True))

    return run_model


@pytest.fixture
def basic_shape(tmp_path: Path) -> Callable[[onnx.ModelProto], Shape]:
    """Shape of a model's graph after basic optimisation."""

    def shape(model: onnx.ModelProto) -> Shape:
        path = tmp_path / "basic.onnx"
        _session(model, path)
        return graph_shape(onnx.load(path, load_external_data=False).graph)

    return shape
