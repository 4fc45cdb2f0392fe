"""A server of one model that is always late."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import surplus
from surplus import models

INPUTS = models.example_inputs("lenet")


@contextmanager
def late_server(folder: Path, name: str, queries: int) -> Iterator[surplus.Server]:
    """Over both faces; the model was asked so many queries already, each due after 1 us."""
    path = models.save(models.build("lenet"), folder / "lenet.onnx")
    asked = {"cache": folder / "cache", "selection_s": 0, "on_late": "serve"}
    model = surplus.load(path, "cpu:1", deadline_s=1e-06, **asked)
    with surplus.Server({name: model}, port=0, http_port=0) as server:
        for _ in range(queries):
            model.run(INPUTS)
        yield server
