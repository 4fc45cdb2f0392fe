"""Whether two plans of a model give the same bits: asked of their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from surplus.engine.planning.answer_check import scaled
from surplus.engine.runtime.planned_model import PlannedModel

_FACTORS = (1.0, 0.9, 0.7, 1.3)
"""Of the inputs' floating-point numbers, whose answers are compared bit by bit."""


def same_answers(model: PlannedModel, other: PlannedModel, inputs: Mapping[str, Any]) -> bool:
    """Whether both answer example inputs at several scales with the same bits.

    Raises
    ------
    EngineError
        If one of them fails.
    """
    for factor in _FACTORS:
        given = scaled(inputs, factor)
        if not same_bytes(model.run(given), other.run(given)):
            return False
    return True


def same_bytes(answer: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two answers are the same arrays; what is no array is never the same."""
    return all(
        isinstance(value, np.ndarray) and value.tobytes() == other[name].tobytes()
        for name, value in answer.items()
    )
