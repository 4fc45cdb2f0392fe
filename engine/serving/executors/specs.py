"""Inputs and outputs of a model as the protocol describes them."""

from __future__ import annotations

import numpy as np

from surplus.engine.dfg.graph import ValueKind
from surplus.engine.errors import ModelError
from surplus.engine.runtime.inputs import IoSpec
from surplus.engine.serving.datatypes import datatype_of
from surplus.engine.serving.executor import TensorSpec
from surplus.engine.values import dtype_of


def tensor_spec(spec: IoSpec) -> TensorSpec:
    """An input or output as the protocol describes it.

    Raises
    ------
    ModelError
        If it is not a tensor.
    """
    if spec.kind is not ValueKind.TENSOR:
        raise ModelError(f"{spec.name!r} is a {spec.kind}; the protocol serves tensors only")
    dtype = dtype_of(spec.elem_type)
    shape = None
    if spec.shape is not None:
        shape = tuple(d if isinstance(d, int) and d >= 0 else -1 for d in spec.shape)
    return TensorSpec(spec.name, datatype_of(np.empty(0, dtype)), shape, spec.optional)
