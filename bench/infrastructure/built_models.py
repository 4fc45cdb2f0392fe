"""Models for the benchmarks, built once under build/models with their example inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from surplus import models

FOLDER = Path(__file__).parents[2] / "build" / "models"


def built(
    name: str, *, folder: Path = FOLDER, **parameters: Any
) -> tuple[Path, dict[str, np.ndarray[Any, Any]]]:
    """Path of the model in ``folder`` and its example inputs."""
    folder.mkdir(parents=True, exist_ok=True)
    suffix = "".join(f"-{key}{value}" for key, value in sorted(parameters.items()))
    path = folder / f"{name}{suffix}.onnx"
    inputs = models.example_inputs(name, **parameters)
    if not path.exists():
        models.save(models.build(name, **parameters), path)
        np.savez(path.with_suffix(".npz"), **inputs)  # type: ignore[arg-type]
    return path, inputs
