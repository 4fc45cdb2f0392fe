"""Which file is opened: the program's own, or one that is written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

import surplus
from surplus import InferenceSession
from surplus.engine.dropin.asked_session import AskedSession
from surplus.engine.dropin.given_file import given_file
from tests.dropin.pair import PLAIN, Pair, caught

CPU = ["CPUExecutionProvider"]
X = np.ones((5, 3), np.float32)
I = np.array([1, 2])  # noqa: E741  # the model's input
MONTHS_AGO_NS = 10**18


def parsed(text: str = PLAIN) -> onnx.ModelProto:
    return onnx.parser.parse_model(text)


def both_with(content: Any, cache: Path, say: Any) -> Pair:
    options, theirs = surplus.SessionOptions(), onnxruntime.SessionOptions()
    say(options, surplus)
    say(theirs, onnxruntime)
    return Pair(
        InferenceSession(content, options, devices="cpu:1", cache=cache),
        onnxruntime.InferenceSession(content, theirs, providers=CPU),
    )


def signature(session: Any) -> Any:
    return [(a.name, a.type, a.shape) for a in (*session.get_inputs(), *session.get_outputs())]


def test_bytes_are_written_once_by_content(tmp_path: Path) -> None:
    content = parsed().SerializeToString()
    first, again = (given_file(content, AskedSession(), tmp_path) for _ in range(2))
    assert first == again
    assert first.read_bytes() == content
    assert first.stat().st_mode & 0o777 == 0o600
    assert given_file(content + b"\n\x00", AskedSession(), tmp_path) != first


def test_what_nobody_opened_for_a_month_goes(tmp_path: Path) -> None:
    old = given_file(b"old", AskedSession(), tmp_path)
    os.utime(old, ns=(MONTHS_AGO_NS, old.stat().st_mtime_ns))
    new = given_file(b"new", AskedSession(), tmp_path)
    assert not old.exists()
    assert given_file(b"new", AskedSession(), tmp_path) == new


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "given").write_text("in the way")
    path = given_file(b"content", AskedSession(), tmp_path)
    assert path.read_bytes() == b"content"
    assert tmp_path not in path.parents


def test_a_path_is_opened_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.onnx").write_bytes(b"content")
    found = given_file("model.onnx", AskedSession(), tmp_path / "cache")
    assert found == tmp_path / "model.onnx"


@pytest.mark.parametrize("name", ["n", "another"])
def test_open_dimensions_are_fixed_by_name(name: str, cache: Path) -> None:
    def say(options: Any, _: Any) -> None:
        options.add_free_dimension_override_by_name(name, 5)

    both = both_with(parsed().SerializeToString(), cache, say)
    both.same_answers(signature)
    both.same_answers(lambda s: s.run(None, {"x": X, "i": I}))
    if name == "n":
        both.same_error(lambda s: s.run(None, {"x": X[:2], "i": I}))


def test_open_dimensions_are_fixed_by_denotation(tmp_path: Path, cache: Path) -> None:
    model = parsed()
    model.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    onnx.save(model, tmp_path / "model.onnx")

    def say(options: Any, _: Any) -> None:
        options.add_free_dimension_override_by_denotation("DATA_BATCH", 5)

    both = both_with(str(tmp_path / "model.onnx"), cache, say)
    both.same_answers(signature)


def with_external_weights(folder: Path) -> Path:
    model = parsed(PLAIN.replace("Relu(x)", "Add(x, w)"))
    weights = np.arange(3, dtype=np.float32)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    path = folder / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    return path


def test_weights_beside_bytes_are_found(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = with_external_weights(tmp_path).read_bytes()

    def say(options: Any, _: Any) -> None:
        key = "session.model_external_initializers_file_folder_path"
        options.add_session_config_entry(key, str(tmp_path))

    both_with(content, cache, say).same_answers(lambda s: s.run(None, {"x": X, "i": I}))
    monkeypatch.chdir(tmp_path)  # where ONNX Runtime refuses them, from 1.32 on
    ours = InferenceSession(content, devices="cpu:1", cache=cache)
    assert ours.run(["y"], {"x": X, "i": I})[0].tolist() == (X + np.arange(3)).tolist()


def test_initializers_are_given(tmp_path: Path, cache: Path) -> None:
    content = with_external_weights(tmp_path).read_bytes()
    (tmp_path / "w.bin").unlink()
    given = np.array([5, 6, 7], np.float32)

    def say(options: Any, module: Any) -> None:
        value = module.OrtValue.ortvalue_from_numpy(given)
        options.add_external_initializers(["w"], [value])

    both_with(content, cache, say).same_answers(lambda s: s.run(None, {"x": X, "i": I}))


def test_an_initializer_that_the_model_lacks_is_not_read(cache: Path) -> None:
    content = onnx.parser.parse_model(PLAIN).SerializeToString()

    def say(options: Any, module: Any) -> None:
        options.add_initializer("nothing", module.OrtValue.ortvalue_from_numpy(X))

    both_with(content, cache, say).same_answers(lambda s: s.run(None, {"x": X, "i": I}))


def test_external_data_are_given_in_memory(tmp_path: Path, cache: Path) -> None:
    content = with_external_weights(tmp_path).read_bytes()
    data = (tmp_path / "w.bin").read_bytes()
    (tmp_path / "w.bin").unlink()
    options = surplus.SessionOptions()
    options.add_external_initializers_from_files_in_memory(["w.bin"], [data], [len(data)])
    session = InferenceSession(content, options, devices="cpu:1", cache=cache)
    assert session.run(None, {"x": X, "i": I})
    short = surplus.SessionOptions()
    short.add_external_initializers_from_files_in_memory(["w.bin"], [data], [2])
    error = caught(lambda b: InferenceSession(b, short, cache=cache), content)
    assert "w.bin has 2 bytes" in str(error)
    with pytest.raises(ValueError, match="1 names, 0 files"):
        short.add_external_initializers_from_files_in_memory(["w.bin"], [], [2])


def test_what_cannot_be_changed_is_refused(cache: Path) -> None:
    asked = AskedSession(free_by_name={"n": 1})
    state = onnxruntime.capi.onnxruntime_pybind11_state
    with pytest.raises(state.NotImplemented, match="own format"):
        given_file(b"\x00\x00\x00\x00ORTM", asked, cache)
    with pytest.raises(state.InvalidProtobuf, match="protobuf parsing failed"):
        given_file(b"no protobuf", asked, cache)
