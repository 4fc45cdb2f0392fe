"""Models that were read before are not parsed again."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from surplus.engine.dfg import file_hashes, onnx_reader
from surplus.engine.dfg.onnx_reader import read
from surplus.engine.errors import ModelError


@pytest.fixture(params=[0, 1 << 22], ids=["large", "small"])
def path(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch) -> Path:
    """A model with external data, whose own hash is remembered or not."""
    monkeypatch.setattr(file_hashes, "_SMALL_BYTES", request.param)
    weight = numpy_helper.from_array(np.ones((32, 32), np.float32), "w")
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [value("x", 1, [1, 32])],
        [value("y", 1, [1, 32])],
        [weight],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    file = tmp_path / "m.onnx"
    onnx.save(model, file, save_as_external_data=True, location="w.bin", size_threshold=0)
    return file


def parsed(monkeypatch) -> list[str]:
    """Names of the files that are parsed from now on."""
    names: list[str] = []
    parse = onnx_reader.parse
    monkeypatch.setattr(
        onnx_reader, "parse", lambda p, *how: (names.append(p.name), parse(p, *how))[1]
    )
    return names


def test_the_second_read_parses_nothing_until_somebody_looks(path, tmp_path, monkeypatch) -> None:
    first = read(path, tmp_path / "cache")
    names = parsed(monkeypatch)
    second = read(path, tmp_path / "cache")
    assert (second.source_hash, second.summary) == (first.source_hash, first.summary)
    assert names == []
    assert [task.name for task in second.tasks] == [task.name for task in first.tasks]
    assert names == ["model.onnx"]


def test_changed_external_data_is_another_model(path, tmp_path) -> None:
    first = read(path, tmp_path / "cache")
    (path.parent / "w.bin").write_bytes(np.zeros((32, 32), np.float32).tobytes())
    assert read(path, tmp_path / "cache").source_hash != first.source_hash


def test_missing_external_data_is_named_as_at_first(path, tmp_path) -> None:
    read(path, tmp_path / "cache")
    (path.parent / "w.bin").unlink()
    with pytest.raises(ModelError, match=r"w\.bin.*missing"):
        read(path, tmp_path / "cache")


def test_a_damaged_note_costs_only_time(path, tmp_path) -> None:
    first = read(path, tmp_path / "cache")
    for note in (tmp_path / "cache" / "hashes").glob("*.parts"):
        note.write_text('{"not": "a list"}')
    assert read(path, tmp_path / "cache").source_hash == first.source_hash


def test_without_the_stored_model_it_is_made_again(path, tmp_path) -> None:
    first = read(path, tmp_path / "cache")
    for file in first.folder.iterdir():
        file.unlink()
    assert read(path, tmp_path / "cache").source_hash == first.source_hash
