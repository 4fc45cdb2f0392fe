"""A segment that an optimiser of ONNX Runtime spoils runs as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.onnx_reader import read
from surplus.engine.errors import ExecutionError
from surplus.engine.runtime import lowering
from surplus.engine.runtime.planned_model import PlannedModel
from tests.constant_costs import constant_problem, whole_plan

SPECS = parse_devices("cpu:1")
TEXT = '<ir_version: 9, opset_import: ["" : 18]> g (float[2] x) => (float[2] y) { y = Neg(x) }'


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(TEXT).SerializeToString())
    return read(path, tmp_path / "cache")


def _refuse(monkeypatch: pytest.MonkeyPatch, levels: tuple[str, ...]) -> None:
    """As ONNX Runtime does when what its optimisers made does not hold."""
    add, opened = lowering._add_session, lowering.open_session

    def checked(level: str) -> None:
        if level in levels:
            raise RuntimeError("output_dtype INT8 does not match y_zero_point type UINT8")

    def adding(builder: Any, slots: Any, segment: Any, source: Any) -> None:
        checked(source.level)
        add(builder, slots, segment, source)

    def opening(model: str, *, level: str) -> Any:
        checked(level)
        return opened(model, level=level)

    monkeypatch.setattr(lowering, "_add_session", adding)
    monkeypatch.setattr(lowering, "open_session", opening)


def _model(graph: Graph) -> PlannedModel:
    return PlannedModel(
        graph, whole_plan(graph, constant_problem(graph, SPECS)), machine_for(SPECS)
    )


def test_it_runs_as_it_is(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _refuse(monkeypatch, ("all",))
    found = _model(graph).run({"x": np.array([1, -2], np.float32)})
    np.testing.assert_array_equal(found["y"], [-1, 2])
    assert "is not optimised: output_dtype INT8" in caplog.text


def test_what_does_not_load_either_way_is_refused(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    _refuse(monkeypatch, ("all", "disable_all"))
    with pytest.raises(ExecutionError, match="cannot be prepared"):
        _model(graph)
