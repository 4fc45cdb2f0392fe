"""Plans whose bits depend on the number of threads stay at theirs while queries overlap."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import surplus
from surplus.engine import _core
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.runtime.departure import Departure
from surplus.engine.runtime.same_bits import same_bits
from surplus.engine.runtime.throughput_switch import narrow_plan
from surplus.engine.segmentation.plan import Plan

HIDDEN, FEATURES = 8, 6


def quantised_layer() -> onnx.ModelProto:
    """A recurrent layer that quantises what it reads when it reads it, as dynamic quantisation
    leaves it.
    """
    rng = np.random.default_rng(0)
    weights = {
        "w": rng.integers(-90, 90, (1, FEATURES, 4 * HIDDEN)).astype(np.int8),
        "r": rng.integers(-90, 90, (1, HIDDEN, 4 * HIDDEN)).astype(np.int8),
        "scale": np.array([0.01], np.float32),
        "zero": np.array([0], np.int8),
    }
    reads = ["x", "w", "r", "", "", "", "", "", "scale", "zero", "scale", "zero"]
    node = helper.make_node(
        "DynamicQuantizeLSTM", reads, ["y"], domain="com.microsoft", hidden_size=HIDDEN
    )
    shape = ["steps", "rows", FEATURES]
    graph = helper.make_graph(
        [node],
        "layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=9)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "layer.onnx"
    file.write_bytes(quantised_layer().SerializeToString())
    return file


def plan_of(path: Path, tmp_path: Path, **options: Any) -> Plan:
    options = {"inputs": {"x": np.ones((4, 1, FEATURES), np.float32)}, **options}
    return surplus.load(path, "cpu:2", cache=tmp_path / "cache", **options).plan


def test_such_a_layer_is_found_in_the_file(path: Path) -> None:
    assert _core.thread_effects(str(path)) == (False, True)


def test_one_that_nobody_has_measured_has_no_second_width(path: Path, tmp_path: Path) -> None:
    plan = plan_of(path, tmp_path, tune="background")
    (segment,) = plan.segments
    assert (segment.width, segment.fixed_width) == (2, True)


def test_no_other_width_answers_queries_that_overlap(path: Path, tmp_path: Path) -> None:
    model = surplus.load(path, "cpu:2", cache=tmp_path / "cache", tune="background")
    allowed = LoadParams("cpu:2").departure()
    assert allowed is Departure.SAME_BITS
    assert narrow_plan(model.graph, model.plan, 2, allowed) is None
    plain = replace(model.plan.segments[0], fixed_width=False)
    other = replace(model.plan, segments=(plain,))
    assert narrow_plan(model.graph, other, 2, allowed) is not None


def test_widths_count_where_they_change_bits(path: Path, tmp_path: Path) -> None:
    plan = plan_of(path, tmp_path, tune="background")
    narrow = replace(plan, segments=(replace(plan.segments[0], width=1),))
    assert not same_bits(plan, narrow)


def test_a_measured_wide_plan_is_marked_and_stays_so(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever its times: one lane takes no part."""
    from surplus.engine.planning import choice, first_plans

    def wide_alone(costs: Any) -> Any:
        return [c for c in first_plans.whole_models(costs) if c.graph.groups[0].width == 2]

    monkeypatch.setattr("surplus.engine.planning.candidates.whole_models", wide_alone)
    monkeypatch.setattr(choice, "whole_models", wide_alone)
    for _ in range(2):
        (segment,) = plan_of(path, tmp_path).segments
        assert (segment.width, segment.fixed_width) == (2, True)
