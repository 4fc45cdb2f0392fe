"""Segments that are optimised, prepacked and packed offline: same answers, weights mapped once."""

from __future__ import annotations

import errno
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import surplus.engine.store.prepacking
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.planning.stages import read_model
from surplus.engine.runtime.layout import prepack_plan
from surplus.engine.runtime.lowering import lower
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.plan import Plan
from surplus.engine.store.prepacked import prepacked_file
from surplus.engine.store.prepacking import prepack
from tests.constant_costs import constant_problem, whole_plan

SPECS = parse_devices("cpu:2")


def graph_of(folder: Path, **weights: np.ndarray[Any, Any]) -> Graph:
    """A convolution (blocked layout), an activation, and a product (packed weight)."""
    rng = np.random.default_rng(0)
    tensors = {
        "kernel": rng.standard_normal((32, 16, 3, 3)).astype(np.float32),
        "matrix": rng.standard_normal((64, 48)).astype(np.float32),
        **weights,
    }
    nodes = [
        helper.make_node("Conv", ["image", "kernel"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("MatMul", ["r", "matrix"], ["y"]),
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "both",
        [value("image", 1, [1, 16, 8, 64])],
        [value("y", 1, [1, 32, 8, 48])],
        [numpy_helper.from_array(array, name) for name, array in tensors.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    path = folder / "both.onnx"
    onnx.save(model, path)
    return read_model(path, folder / "cache")


def plan_of(graph: Graph, width: int = 1) -> Plan:
    """The whole graph as one segment of that width."""
    plan = whole_plan(graph, constant_problem(graph, SPECS))
    return replace(plan, segments=(replace(plan.segments[0], width=width),))


def test_a_segment_of_a_cuda_device_is_not_prepacked_for_the_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = graph_of(tmp_path)
    plan = plan_of(graph)
    on_cuda = replace(plan, devices=("cuda:0",))
    prepack_plan(graph, on_cuda)
    assert prepacked_file(graph.whole_path) is None
    prepack_plan(graph, plan)
    asked: list[Path] = []
    monkeypatch.setattr("surplus.engine.store.prepacked.prepacked_file", asked.append)
    lower(graph, on_cuda, machine_for(SPECS))
    assert asked == []
    lower(graph, plan, machine_for(SPECS))
    assert asked == [graph.whole_path]


def prepacked_model(graph: Graph, width: int = 1) -> PlannedModel:
    """A model whose weights are mapped from prepacked files."""
    plan = plan_of(graph, width)
    prepack_plan(graph, plan)
    assert prepacked_file(graph.whole_path) is not None
    return PlannedModel(graph, plan, machine_for(SPECS))


def image() -> dict[str, np.ndarray[Any, Any]]:
    return {"image": np.random.default_rng(1).standard_normal((1, 16, 8, 64)).astype(np.float32)}


def mapped_inodes(folder: Path) -> dict[str, set[int]]:
    """Inodes of the files of a folder that this process maps, by file name."""
    found: dict[str, set[int]] = {}
    for line in Path("/proc/self/maps").read_text().splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5].startswith(str(folder)):
            found.setdefault(Path(fields[5]).name, set()).add(int(fields[4]))
    return found


def test_answers_are_the_same_bits(tmp_path: Path) -> None:
    graph = graph_of(tmp_path)
    plain = PlannedModel(graph, plan_of(graph), machine_for(SPECS)).run(image())["y"]
    assert prepacked_model(graph).run(image())["y"].tobytes() == plain.tobytes()


def test_every_weight_is_one_file_for_all_models_and_widths(tmp_path: Path) -> None:
    graph = graph_of(tmp_path)
    models = [prepacked_model(graph, width) for width in (1, 2, 1)]
    answers = [model.run(image())["y"].tobytes() for model in models]
    assert len(set(answers)) == 1
    weights = {n: i for n, i in mapped_inodes(graph.folder).items() if n.startswith("weight-")}
    assert len(weights) == 2  # the kernel in blocks, the matrix packed
    assert all(len(inodes) == 1 for inodes in weights.values())


def test_a_weight_is_written_once_by_its_content(tmp_path: Path) -> None:
    graph = graph_of(tmp_path)
    plan = plan_of(graph)
    prepack_plan(graph, plan)
    before = {p.name: p.stat().st_ino for p in graph.folder.glob("weight-*.bin")}
    found = prepacked_file(graph.whole_path)
    assert found is not None
    found.unlink()
    prepack_plan(graph, plan)
    assert {p.name: p.stat().st_ino for p in graph.folder.glob("weight-*.bin")} == before


def test_packed_weights_start_at_a_page(tmp_path: Path) -> None:
    graph = graph_of(tmp_path)
    prepack_plan(graph, plan_of(graph))
    found = prepacked_file(graph.whole_path)
    assert found is not None
    model = onnx.load(found, load_external_data=False)
    entries = [{e.key: e.value for e in t.external_data} for t in model.graph.initializer]
    packed = [e["prepacked_0"].split("|")[1] for e in entries if "prepacked_0" in e]
    assert len(packed) == 1
    assert packed[0].startswith("0;")


def test_weights_that_nothing_rewrites_stay_in_the_graphs_file(tmp_path: Path) -> None:
    text = "add (float[4, 2000] x) => (float[4, 2000] y) { y = Add(x, shift) }"
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 18]>{text}')
    shift = np.arange(2000, dtype=np.float32)
    model.graph.initializer.append(numpy_helper.from_array(shift, "shift"))
    onnx.save(model, tmp_path / "add.onnx")
    graph = read_model(tmp_path / "add.onnx", tmp_path / "cache")
    prepacked = prepacked_model(graph)
    assert not list(graph.folder.glob("weight-*.bin"))
    answer = prepacked.run({"x": np.zeros((4, 2000), np.float32)})["y"]
    assert np.array_equal(answer, np.broadcast_to(shift, (4, 2000)))


def test_a_damaged_file_gives_way_to_the_segment_itself(tmp_path: Path) -> None:
    graph = graph_of(tmp_path)
    prepack_plan(graph, plan_of(graph))
    found = prepacked_file(graph.whole_path)
    assert found is not None
    found.write_bytes(b"no model")
    model = PlannedModel(graph, plan_of(graph), machine_for(SPECS))
    assert model.run(image())["y"].shape == (1, 32, 8, 48)
    assert prepacked_file(graph.whole_path) is None, "tried once, not at every start"


def test_a_full_disk_costs_the_layout_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = graph_of(tmp_path)

    def full(*_: Any, **__: Any) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "mkdtemp", full)
    prepack(graph, graph.model_path)
    assert prepacked_file(graph.model_path) is None
    assert PlannedModel(graph, plan_of(graph), machine_for(SPECS)).run(image())["y"].size


def test_what_onnx_runtime_cannot_save_is_tried_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = graph_of(tmp_path)
    calls: list[str] = []

    def refused(model: str, **_: Any) -> None:
        calls.append(model)
        raise RuntimeError("cannot be saved")

    monkeypatch.setattr(surplus.engine.store.prepacking, "open_session", refused)
    prepack(graph, graph.model_path)
    prepack(graph, graph.model_path)
    assert calls == [str(graph.model_path)]
    assert prepacked_file(graph.model_path) is None


def test_types_that_inference_finds_are_not_stored(tmp_path: Path) -> None:
    """A value that only the model says the shape of keeps it: sessions plan their memory by it."""
    value = helper.make_tensor_value_info
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("Reshape", ["a", "shape"], ["b"]),
        helper.make_node("Exp", ["b"], ["c"]),
        helper.make_node("Abs", ["c"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "reshaped",
        [value("x", 1, [4, 6]), value("shape", 7, [2])],
        [value("y", 1, [8, 3])],
        value_info=[value("a", 1, [4, 6]), value("b", 1, [8, 3]), value("c", 1, [8, 3])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, tmp_path / "reshaped.onnx")
    read = read_model(tmp_path / "reshaped.onnx", tmp_path / "cache")
    assert [v.name for v in read.model.graph.value_info] == ["a", "b", "c"]
    prepack_plan(read, plan_of(read))
    file = prepacked_file(read.whole_path)
    assert file is not None
    assert [v.name for v in onnx.load(file).graph.value_info] == ["b", "c"]
    inputs = {"x": np.ones((4, 6), np.float32), "shape": np.array([8, 3])}
    answer = PlannedModel(read, plan_of(read), machine_for(SPECS)).run(inputs)["y"]
    np.testing.assert_allclose(answer, np.full((8, 3), np.exp(-1), np.float32), rtol=1e-6)
