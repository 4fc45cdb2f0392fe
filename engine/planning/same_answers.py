"""Whether two plans of a model give the same bits: asked of their answers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from surplus.engine.errors import EngineError
from surplus.engine.planning.varied_inputs import other_scales, other_sizes
from surplus.engine.runtime.planned_model import PlannedModel


def same_answers(model: PlannedModel, other: PlannedModel, inputs: Mapping[str, Any]) -> bool:
    """Whether both answer example inputs, at several scales and sizes, with the same bits.

    Sizes that the first one does not take are left out.

    Raises
    ------
    EngineError
        If one of them fails.
    """
    for given in (inputs, *other_scales(inputs)):
        if not same_bytes(model.run(given), other.run(given)):
            return False
    for given in other_sizes(model.graph, inputs):
        try:
            answer = model.run(given)
        except EngineError:
            continue
        if not same_bytes(answer, other.run(given)):
            return False
    return True


def same_bytes(answer: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two answers are the same arrays; what is no array is never the same."""
    return all(
        isinstance(value, np.ndarray) and value.tobytes() == other[name].tobytes()
        for name, value in answer.items()
    )


def digest_of(answer: Mapping[str, Any]) -> str:
    """What is the same for two answers where all of their bits are."""
    digest = hashlib.sha256()
    for name in sorted(answer):
        digest.update(name.encode())
        _add(digest, answer[name])
    return digest.hexdigest()


def _add(digest: hashlib._Hash, value: Any) -> None:
    if isinstance(value, list | tuple):
        digest.update(f"{len(value)} of".encode())
        for item in value:
            _add(digest, item)
    elif isinstance(value, np.ndarray) and value.dtype.kind != "O":
        digest.update(f"{value.dtype} {value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    else:
        digest.update(repr(value.tolist() if isinstance(value, np.ndarray) else value).encode())
