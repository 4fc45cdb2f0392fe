"""Plans whose bits depend on the number of threads stay at theirs while queries overlap."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from surplus.engine import _core
from surplus.engine.contest.selection import ModelContender
from surplus.engine.dfg.onnx_reader import read
from surplus.engine.pipeline.loading import load_with
from surplus.engine.planning.fixed_widths import with_fixed_widths
from surplus.engine.planning.job import PlanJob
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.whole_plan import whole_plan
from surplus.engine.runtime.departure import Departure
from surplus.engine.runtime.planned_model import PlannedModel
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


def unmeasured(path: Path, tmp_path: Path) -> PlannedModel:
    return load_with(path, LoadParams("cpu:2", cache=tmp_path / "cache", tune="background"))


def test_such_a_layer_is_found_in_the_file(path: Path) -> None:
    assert _core.thread_effects(str(path)) == (False, True)


def test_one_that_nobody_has_measured_has_no_second_width(path: Path, tmp_path: Path) -> None:
    plan = unmeasured(path, tmp_path).plan
    (segment,) = plan.segments
    assert (segment.width, segment.fixed_width) == (2, True)


def test_no_other_width_answers_queries_that_overlap(path: Path, tmp_path: Path) -> None:
    model = unmeasured(path, tmp_path)
    allowed = LoadParams("cpu:2").departure()
    assert allowed is Departure.SAME_BITS
    assert narrow_plan(model.graph, model.plan, 2, allowed) is None
    plain = replace(model.plan.segments[0], fixed_width=False)
    other = replace(model.plan, segments=(plain,))
    assert narrow_plan(model.graph, other, 2, allowed) is not None


def test_widths_count_where_they_change_bits(path: Path, tmp_path: Path) -> None:
    plan = unmeasured(path, tmp_path).plan
    narrow = replace(plan, segments=(replace(plan.segments[0], width=1),))
    assert not same_bits(plan, narrow)


def marked(path: Path, tmp_path: Path, inputs: dict[str, Any], **params: Any) -> Plan:
    """The plan of a model that was chosen as one segment of both lanes."""
    graph = read(path, tmp_path / "cache")
    job = PlanJob(graph, LoadParams("cpu:2", **params), inputs)
    model = PlannedModel(graph, whole_plan(graph, job.params.specs()), job.machine)
    assert model.plan.segments[0].width == 2
    return with_fixed_widths(
        job, model, lambda plan: ModelContender(PlannedModel(graph, plan, job.machine), inputs)
    )


def test_a_chosen_plan_is_marked(path: Path, tmp_path: Path) -> None:
    inputs = {"x": np.ones((4, 1, FEATURES), np.float32)}
    plan = marked(path, tmp_path, inputs)
    assert plan.segments[0].fixed_width
    assert Plan.from_json(plan.to_json()) == plan
    assert not marked(path, tmp_path, inputs, relaxed_numerics=True).segments[0].fixed_width


@pytest.mark.parametrize("differs", [False, True])
def test_other_models_are_asked(
    differs: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "plain.onnx"
    text = """<ir_version: 9, opset_import: ["" : 18]>
    plain (float[n, 3] x) => (float[n, 3] y) { y = Exp(x) }"""
    file.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    asked: list[int] = []
    run = PlannedModel.run

    def answered(self: PlannedModel, inputs: Any, *rest: Any, **more: Any) -> Any:
        """One lane answers otherwise where a query has more rows than the example."""
        found = run(self, inputs, *rest, **more)
        asked.append(len(inputs["x"]))
        is_other = differs and self.plan.segments[0].width == 1 and len(inputs["x"]) > 1
        return {"y": found["y"] + np.float32(1)} if is_other else found

    monkeypatch.setattr(PlannedModel, "run", answered)
    plan = marked(file, tmp_path, {"x": np.ones((1, 3), np.float32)})
    assert plan.segments[0].fixed_width is differs
    assert max(asked) > 1
