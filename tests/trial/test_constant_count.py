"""Constants are counted by the text of a file alone, whatever that text is."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from bench.large_models import large_model
from engine.trial import first_run
from engine.trial.constant_count import has_many_constants

CONSTANTS = 200
MODEL = large_model("wide", CONSTANTS + 1)


def written(data: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("many", [1, CONSTANTS - 1, CONSTANTS])
def test_as_many_as_there_are(many: int, tmp_path: Path) -> None:
    assert has_many_constants(written(MODEL.SerializeToString(), tmp_path), many)


def test_not_more(tmp_path: Path) -> None:
    path = written(MODEL.SerializeToString(), tmp_path)
    assert not has_many_constants(path, CONSTANTS + 1)
    assert not has_many_constants(written(large_model("chain", 9).SerializeToString(), tmp_path), 1)


def test_constants_within_a_node_are_none_of_the_graph(tmp_path: Path) -> None:
    body = onnx.helper.make_node("If", ["x"], ["y"], then_branch=MODEL.graph)
    graph = onnx.helper.make_graph([body], "outer", [], [])
    model = onnx.helper.make_model(graph)
    assert not has_many_constants(written(model.SerializeToString(), tmp_path), 1)


def test_a_file_cut_anywhere_ends_the_count(tmp_path: Path) -> None:
    data = large_model("wide", 4).SerializeToString()
    for size in range(len(data)):
        assert not has_many_constants(written(data[:size], tmp_path), 4)


@pytest.mark.parametrize("data", [b"", b"\xff" * 4096, b"\x3b", b"\x3a\xff\xff\xff\xff\x0f"])
def test_what_is_no_model_has_none(data: bytes, tmp_path: Path) -> None:
    assert not has_many_constants(written(data, tmp_path), 1)
    assert not has_many_constants(tmp_path / "missing.onnx", 1)


def test_trials_do_without_what_takes_the_square_of_a_graphs_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(MODEL.SerializeToString(), tmp_path)
    monkeypatch.setattr(first_run, "_MANY_CONSTANTS", CONSTANTS + 1)
    few = first_run._quick(path).config
    monkeypatch.setattr(first_run, "_MANY_CONSTANTS", CONSTANTS)
    assert first_run._quick(path).config == {"session.enable_mem_pattern": "0"}
    assert few == {"session.enable_mem_pattern": "0", "session.disable_prepacking": "1"}
