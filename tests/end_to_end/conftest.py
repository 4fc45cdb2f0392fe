"""Prepares models once a session."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from surplus import models
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.planning.stages import Costs, costs_of, measure, read_model
from tests.end_to_end.small_models import SMALL, Prepared, plain_outputs


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Prepared]:
    """Prepares a model by name, once a session."""
    folder = tmp_path_factory.mktemp("models")

    @cache
    def prepare(name: str) -> Prepared:
        path = models.save(models.build(name, **SMALL[name]), folder / f"{name}.onnx")
        inputs = models.example_inputs(name, **SMALL[name])
        graph = read_model(path, folder / "cache")

        @cache
        def costs_on(devices: str) -> Costs:
            specs = parse_devices(devices)
            return costs_of(graph, measure(graph, specs, inputs, folder / "cache"), specs)

        return Prepared(path, graph, inputs, plain_outputs(path, inputs), costs_on)

    return prepare
