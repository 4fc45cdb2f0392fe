"""Nodes and constants are counted by the text of a file alone, whatever that text is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest

from bench.models.large_models import large_model
from surplus.engine.trial import first_run
from surplus.engine.trial.forked_trial import ForkedTrial
from surplus.engine.trial.graph_size import GraphSize, graph_size
from surplus.engine.trial.trial import TrialVerdict

CONSTANTS = 200
MODEL = large_model("wide", CONSTANTS + 1)


def written(data: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    return path


def test_nodes_and_constants_are_counted(tmp_path: Path) -> None:
    path = written(MODEL.SerializeToString(), tmp_path)
    assert graph_size(path) == GraphSize(nodes=CONSTANTS + 1, constants=CONSTANTS)


def test_what_is_within_a_node_is_not_counted(tmp_path: Path) -> None:
    body = onnx.helper.make_node("If", ["x"], ["y"], then_branch=MODEL.graph)
    graph = onnx.helper.make_graph([body], "outer", [], [])
    model = onnx.helper.make_model(graph)
    assert graph_size(written(model.SerializeToString(), tmp_path)) == GraphSize(nodes=1)


def _model(nodes: list[onnx.NodeProto], **parts: Any) -> bytes:
    graph = onnx.helper.make_graph(nodes, "QuantizeLinear", [], [], doc_string="QuantizeLinear")
    weights = onnx.helper.make_tensor(
        "w", onnx.TensorProto.UINT8, [14], b"QuantizeLinear", raw=True
    )
    graph.initializer.append(weights)
    return bytes(onnx.helper.make_model(graph, **parts).SerializeToString())


def test_what_quantises_is_found_in_nodes_bodies_and_functions(tmp_path: Path) -> None:
    make = onnx.helper.make_node
    plain, quantised = make("Relu", ["x"], ["y"]), make("DynamicQuantizeLinear", ["x"], ["y"])
    body = onnx.helper.make_graph([quantised], "body", [], [])
    branch = make("If", ["c"], ["y"], then_branch=body)
    opsets = [onnx.helper.make_opsetid("", 18)]
    function = onnx.helper.make_function("own", "F", ["x"], ["y"], [quantised], opsets)
    assert not graph_size(written(_model([plain]), tmp_path)).is_quantised, "weights are no nodes"
    for data in (
        _model([plain, quantised]),
        _model([branch]),
        _model([plain], functions=[function]),
    ):
        path = written(data, tmp_path)
        assert graph_size(path).is_quantised
        assert first_run._quick(graph_size(path)).level == "all"


def test_a_file_cut_anywhere_ends_the_count(tmp_path: Path) -> None:
    data = large_model("wide", 4).SerializeToString()
    for size in range(len(data)):
        found = graph_size(written(data[:size], tmp_path))
        assert found.nodes <= 4
        assert found.constants <= 3


@pytest.mark.parametrize("data", [b"", b"\xff" * 4096, b"\x3b", b"\x3a\xff\xff\xff\xff\x0f"])
def test_what_is_no_model_has_nothing(data: bytes, tmp_path: Path) -> None:
    assert graph_size(written(data, tmp_path)) == GraphSize()
    assert graph_size(tmp_path / "missing.onnx") == GraphSize()


def test_trials_do_without_what_takes_the_square_of_a_graphs_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(MODEL.SerializeToString(), tmp_path)
    monkeypatch.setattr(first_run, "_MANY_CONSTANTS", CONSTANTS + 1)
    few = first_run._quick(graph_size(path)).config
    monkeypatch.setattr(first_run, "_MANY_CONSTANTS", CONSTANTS)
    assert first_run._quick(graph_size(path)).config == {"session.enable_mem_pattern": "0"}
    assert few == {"session.enable_mem_pattern": "0", "session.disable_prepacking": "1"}


@pytest.mark.parametrize("large", [False, True])
def test_a_large_graph_is_not_held_by_two_processes_at_once(
    large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What opens it reads the file when the child has ended."""
    path = written(large_model("chain", 20).SerializeToString(), tmp_path)
    heard: list[str] = []

    class Heard(ForkedTrial):
        def read(self) -> bool:
            heard.append("read")
            return super().read()

        def verdict(self) -> TrialVerdict:
            heard.append("verdict")
            return super().verdict()

    monkeypatch.setattr(first_run, "ForkedTrial", Heard)
    monkeypatch.setattr(first_run, "_LARGE_GRAPH", 20 if large else 21)
    with first_run.harmless_at_first(path) as when_read:
        assert heard == (["verdict"] if large else ["read"])
        when_read()
    assert heard == (["verdict"] if large else ["read", "verdict"])
