"""A small model on disk with a cache of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surplus import models


@dataclass(frozen=True)
class Subject:
    path: Path
    cache: Path
    inputs: dict[str, Any]

    def plans(self) -> list[Path]:
        return sorted(self.cache.glob("*/plan-*"))

    @staticmethod
    def make(folder: Path, name: str, **parameters: Any) -> Subject:
        path = models.save(models.build(name, **parameters), folder / f"{name}.onnx")
        return Subject(path, folder / "cache", models.example_inputs(name, **parameters))
