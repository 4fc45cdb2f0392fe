"""Models by code, with seeded weights: what benchmarks, examples and tests run on.

::

    from surplus import models

    model = models.build("faster_rcnn", image_size=320)
    inputs = models.example_inputs("faster_rcnn", image_size=320)
    models.save(model, "faster_rcnn.onnx")
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from surplus.models.registry import (
    ModelInfo,
    build,
    example_inputs,
    info,
    model_names,
    register,
)

if TYPE_CHECKING:
    import onnx

__all__ = ["ModelInfo", "build", "example_inputs", "info", "model_names", "register", "save"]


def save(model: onnx.ModelProto, path: str | Path, *, external_data: bool | None = None) -> Path:
    """Write a model to disk; see `surplus.models.storage.save`."""
    # Imported here because it needs onnx, and a listing of the models does not.
    from surplus.models import storage

    return storage.save(model, path, external_data=external_data)
