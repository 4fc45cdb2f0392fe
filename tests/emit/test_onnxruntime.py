"""What is written is opened by ONNX Runtime itself: its Python module, in another process."""

import json
from dataclasses import replace
from itertools import chain

import onnx
import pytest

from surplus.engine.devices.registry import KINDS
from surplus.engine.emit import EMITTERS, emit
from surplus.engine.emit.known_options import (
    ANNOTATION_RULES,
    NAME_RULES,
    STREAMS_FILE,
    knows_option,
)
from surplus.engine.emit.name_rules import matched
from surplus.engine.emit.onnxruntime import _PROVIDERS
from surplus.engine.errors import PlacementError
from surplus.placement import Device
from tests.emit.branches import CPU_GPU, document_in, model_of, opened, placed_on
from tests.emit.test_name_rules import parsed


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "out"


needs_rules = pytest.mark.skipif(
    not knows_option(NAME_RULES), reason="this ONNX Runtime assigns no nodes by name"
)


@needs_rules
def test_nodes_are_assigned_by_their_names(tmp_path, folder):
    path = model_of(tmp_path / "m.onnx", ["left_1", "left_10", "right"])
    placed = placed_on(path, [0, 1, 0, 1], CPU_GPU)
    emitted = emit("onnxruntime", placed, folder)
    assert [file.name for file in emitted.files] == ["session_options.json"]
    document = document_in(folder)
    assert document["model"] == str(path)
    assert document["providers"] == ["CUDAExecutionProvider", "CPUExecutionProvider"]
    rules = parsed(document["entries"][NAME_RULES])
    wanted = {task.name: ["cpu", "cuda"][device] for task, device in zip(
        placed.graph.tasks, placed.placement.device_of, strict=True)}  # fmt: skip
    assert matched(rules, wanted) == list(wanted.values())
    found, log = opened(folder)
    assert sorted(found["nodes"]) == sorted(wanted)
    assert found["answer"] == [0, 6, 12, 18]
    # Of the two devices only the CPU has a provider here.
    on_cpu = sum(device == "cpu" for _, device in rules)
    assert f"Matched {on_cpu} out of {len(rules)} rules" in log


def test_nodes_that_names_do_not_tell_apart_are_annotated(tmp_path, folder):
    path = model_of(tmp_path / "m.onnx", ["a(1)", "b,2", ""])
    placed = placed_on(path, [0, 1, 0, 1], CPU_GPU)
    emitted = emit("onnxruntime", placed, folder)
    assert {file.name for file in emitted.files} >= {"session_options.json", "annotated.onnx"}
    assert any("annotated copy" in remark for remark in emitted.remarks)
    document = document_in(folder)
    assert document["entries"][ANNOTATION_RULES] in (
        "cpu(=cpu);cuda(=cuda)",
        "cuda(=cuda);cpu(=cpu)",
    )
    model = onnx.load(folder / "annotated.onnx")
    annotated = {node.name: node.metadata_props[0].value for node in model.graph.node}
    words = ["cpu", "cuda", "cpu", "cuda"]
    assert annotated == dict(zip([t.name for t in placed.graph.tasks], words, strict=True))
    found, log = opened(folder)
    assert found["answer"] == [0, 6, 12, 18]
    assert "Matched 1 out of 2 rules" in log


def test_lanes_of_the_cpu_become_streams(tmp_path, folder):
    path = model_of(tmp_path / "m.onnx", ["a", "b", "c", "d"])
    placed = placed_on(path, [0] * 5, (Device("cpu", lanes=2),))
    emit("onnxruntime", placed, folder)
    document = document_in(folder)
    assert (document["execution_mode"], document["inter_op_num_threads"]) == ("ORT_PARALLEL", 2)
    streams = json.loads((folder / "streams.json").read_text())
    assert document["entries"] == {STREAMS_FILE: str(folder / "streams.json")}
    assert streams["type"] == "DeviceBasedPartitioner"
    assert streams["devices"] == ["0", "0"]
    assert sorted(map(len, streams["streams"])) == [2, 3]
    found, _ = opened(folder)
    assert sorted(chain(*streams["streams"])) == sorted(found["nodes"])
    assert found["answer"] == [0, 10, 20, 30]


def test_a_plan_within_a_budget_says_what_is_proven(tmp_path, folder):
    path = model_of(tmp_path / "m.onnx", ["a", "b", "c"])
    placed = placed_on(path, [0, 1, 0, 1], CPU_GPU)
    emit("onnxruntime", placed, folder)
    document = document_in(folder)
    assert document["memory"]["cuda:0"]["limit_bytes"] == 10_000
    assert 0 < document["memory"]["cuda:0"]["peak_bytes"] <= 10_000
    assert document["memory"]["host"]["limit_bytes"] is None
    assert document["makespan_ns"] >= document["bound_ns"] > 0
    gap = (document["makespan_ns"] - document["bound_ns"]) / document["makespan_ns"]
    assert document["gap"] == gap
    assert any("not seen" in remark for remark in document["remarks"])


def test_one_device_needs_no_option(tmp_path, folder):
    path = model_of(tmp_path / "m.onnx", ["a", "b", "c"])
    emit("onnxruntime", placed_on(path, [0] * 4, CPU_GPU), folder)
    assert document_in(folder)["entries"] == {}
    assert document_in(folder)["providers"] == ["CPUExecutionProvider"]


def test_an_emulated_device_says_for_what_it_stands(tmp_path, folder):
    path = model_of(tmp_path / "m.onnx", ["a", "b", "c"])
    devices = (Device("cpu"), Device("emulated:gpu", memory="emulated:gpu"))
    emitted = emit("onnxruntime", placed_on(path, [0, 1, 0, 1], devices), folder)
    assert any("emulated:gpu stands for a GPU" in remark for remark in emitted.remarks)


def test_two_gpus_are_refused(tmp_path, folder):
    path = model_of(tmp_path / "m.onnx", ["a", "b", "c"])
    devices = (*CPU_GPU, Device("cuda:1", memory="cuda:1"))
    with pytest.raises(PlacementError, match="this plan runs on cuda:0, cuda:1"):
        emit("onnxruntime", placed_on(path, [0, 1, 2, 1], devices), folder)


def test_what_onnx_runtime_refuses_is_an_error(tmp_path, folder):
    path = model_of(tmp_path / "m.onnx", ["a", "b", "c"])
    placed = placed_on(path, [0, 1, 0, 1], CPU_GPU)
    path.write_bytes(b"no model any more")
    with pytest.raises(PlacementError, match="ONNX Runtime refuses what was written"):
        emit("onnxruntime", replace(placed), folder)


def test_every_kind_of_device_has_a_word():
    assert set(_PROVIDERS) == set(KINDS)
    assert set(EMITTERS) == {"onnxruntime"}
