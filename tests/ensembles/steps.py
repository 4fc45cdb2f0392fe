"""Small models, and ensembles of them, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from surplus.engine.ensembles.ensemble import Ensemble, EnsembleStep, Port, StepModel
from surplus.engine.errors import ConfigError
from surplus.engine.native import open_session
from surplus.engine.values import from_value, to_value

SCALE = """
<ir_version: 8, opset_import: ["" : 13]>
scale (float[N, 3] x) => (float[N, 3] y)
<float[1] factor = {2.0}>
{ inner = Mul(x, factor)  y = Relu(inner) }
"""
SHIFT = """
<ir_version: 8, opset_import: ["" : 13]>
shift (float[N, 3] x) => (float[N, 3] y, float[N, 1] total)
<float[1] factor = {5.0}, int64[1] axes = {1}>
{ inner = Add(x, factor)  y = Identity(inner)  total = ReduceSum(inner, axes) }
"""


def wrong(path: str, why: str) -> ConfigError:
    return ConfigError(f"config.pbtxt: {path}: {why}")


def ensemble(
    inputs: Sequence[str],
    outputs: Sequence[str],
    *steps: tuple[str, dict[str, str], dict[str, str]],
) -> Ensemble:
    made = [
        EnsembleStep(model, -1, reads, makes, at=f"step[{i}]")
        for i, (model, reads, makes) in enumerate(steps)
    ]
    return Ensemble(
        "both",
        [Port(name, at=f"input[{i}]") for i, name in enumerate(inputs)],
        [Port(name, at=f"output[{i}]") for i, name in enumerate(outputs)],
        made,
        wrong,
    )


def written(folder: Path, texts: Mapping[str, str]) -> dict[str, Path]:
    """Files of models by name."""
    paths = {}
    for name, text in texts.items():
        paths[name] = folder / name / "model.onnx"
        paths[name].parent.mkdir()
        onnx.save(onnx.parser.parse_model(text), paths[name])
    return paths


def models(asked: Ensemble, paths: Mapping[str, Path]) -> dict[str, StepModel]:
    return {step.at: StepModel(paths[step.model]) for step in asked.steps}


def answer(path: Path, inputs: Mapping[str, Any]) -> dict[str, Any]:
    session = open_session(str(path))
    values = session.run({name: to_value(array) for name, array in inputs.items()})
    return dict(zip(session.output_names, map(from_value, values), strict=True))


def in_turn(
    asked: Ensemble, paths: Mapping[str, Path], inputs: Mapping[str, Any]
) -> dict[str, Any]:
    """What the steps answer one after another, in the order of their writing."""
    known = dict(inputs)
    for step in asked.steps:
        found = answer(paths[step.model], {k: known[t] for k, t in step.inputs.items()})
        known |= {tensor: found[name] for name, tensor in step.outputs.items()}
    return {port.name: known[port.name] for port in asked.outputs}


def rows(count: int = 4) -> np.ndarray[Any, Any]:
    return np.random.default_rng(count).standard_normal((count, 3)).astype(np.float32)
