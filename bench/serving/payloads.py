"""What servers are asked: two models that give back what they get, and one that computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from bench.infrastructure.built_models import FOLDER, built

Inputs = Mapping[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Payload:
    """A model and the inputs of every query.

    Parameters
    ----------
    name : str
        Under which it is served.
    file : Path
        Of the ONNX model; inputs and outputs are float32.
    inputs : mapping
        Arrays by name.
    """

    name: str
    file: Path
    inputs: Inputs

    @property
    def outputs(self) -> dict[str, int]:
        """Ranks by name."""
        graph = onnx.load(self.file, load_external_data=False).graph
        return {value.name: len(value.type.tensor_type.shape.dim) for value in graph.output}


def _identity(name: str, floats: int) -> Payload:
    file = FOLDER / f"{name}.onnx"
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, floats]) for n in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], name, [x], [y])
    opset = [helper.make_opsetid("", 17)]
    if not file.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), file)
    values = np.random.default_rng(floats).random((1, floats), np.float32)
    return Payload(name, file, {"x": values})


def floats_16() -> Payload:
    """16 floats, as they came: what a server costs by itself."""
    return _identity("floats_16", 16)


def kilobytes_600() -> Payload:
    """600 kB, as they came: what bytes cost."""
    return _identity("kilobytes_600", 150_000)


def squeezenet() -> Payload:
    """A small network: whether the server leaves it the cores."""
    file, inputs = built("squeezenet")
    return Payload("squeezenet", file, inputs)


def all_payloads() -> dict[str, Payload]:
    """By name."""
    return {made.name: made for made in (floats_16(), kilobytes_600(), squeezenet())}
