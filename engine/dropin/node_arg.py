"""Inputs and outputs as ONNX Runtime describes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from surplus.engine.dfg.graph import Dim, ValueKind
from surplus.engine.runtime.inputs import IoSpec
from surplus.engine.runtime.type_text import tensor_type
from surplus.engine.values import elem_type_of


@dataclass(frozen=True)
class NodeArg:
    """An input or output.

    Parameters
    ----------
    name : str
    type : str
        ``tensor(float)``, ``tensor(int64)``, ...
    shape : list
        Sizes; a name or None where a size is open. Empty where the rank is unknown.
    """

    name: str
    type: str
    shape: list[Dim]


def node_arg(spec: IoSpec) -> NodeArg:
    """What a model takes or gives, in ONNX Runtime's words."""
    shape = () if spec.kind in (ValueKind.SEQUENCE, ValueKind.MAP) else spec.shape or ()
    return NodeArg(spec.name, spec.type, list(shape))


def type_of(array: np.ndarray[Any, Any]) -> str:
    """ONNX Runtime's text for an array; numpy's own name where ONNX has no such type."""
    try:
        return tensor_type(elem_type_of(array.dtype))
    except ValueError:
        return f"tensor({array.dtype})"
