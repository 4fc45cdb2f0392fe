"""A model whose open sizes are those of its example inputs: captured graphs need fixed shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from surplus import models

Dim = onnx.TensorShapeProto.Dimension


def with_fixed_sizes(path: Path, inputs: Mapping[str, np.ndarray[Any, Any]]) -> Path:
    """The model with its symbolic sizes replaced, written once beside ``path``."""
    target = path.with_name(f"{path.stem}.fixed.onnx")
    if not target.exists():
        model = onnx.load(path)
        sizes = dict(_sizes(model.graph, inputs))
        for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_param in sizes:
                    dim.dim_value = sizes[dim.dim_param]
        models.save(model, target)
    return target


def _sizes(
    graph: onnx.GraphProto, inputs: Mapping[str, np.ndarray[Any, Any]]
) -> Iterator[tuple[str, int]]:
    for value in graph.input:
        dims: list[Dim] = list(value.type.tensor_type.shape.dim)
        for dim, size in zip(dims, inputs[value.name].shape, strict=True):
            if dim.dim_param:
                yield dim.dim_param, size
