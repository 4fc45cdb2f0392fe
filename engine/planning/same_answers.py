"""Whether two plans of a model give the same bits: asked of their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from surplus.engine.planning.answer_check import scaled
from surplus.engine.runtime.model import Model

_FACTORS = (1.0, 0.9, 0.7, 1.3)
"""Of the inputs' floating-point numbers, whose answers are compared bit by bit."""


def same_answers(model: Model, other: Model, inputs: Mapping[str, Any]) -> bool:
    """Whether both answer example inputs at several scales with the same bits.

    Raises
    ------
    EngineError
        If one of them fails.
    """
    for factor in _FACTORS:
        given = scaled(inputs, factor)
        answer, again = model.run(given), other.run(given)
        for name, value in answer.items():
            if not (isinstance(value, np.ndarray) and value.tobytes() == again[name].tobytes()):
                return False
    return True
