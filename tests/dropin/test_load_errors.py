"""Models that do not load: ONNX Runtime's classes, from paths and from bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import onnxruntime
import pytest

from surplus import InferenceSession
from tests.dropin.pair import PLAIN, caught

CPU = ["CPUExecutionProvider"]


def parsed(text: str) -> bytes:
    return onnx.parser.parse_model(text).SerializeToString()


BROKEN = {
    "no protobuf": b"this is no protobuf",
    "an operator that is not there": parsed(PLAIN.replace("Relu", "Nothing")),
    "a domain that is not there": parsed(
        PLAIN.replace("Relu", "my.Relu").replace('"" : 18', '"" : 18, "my" : 1')
    ),
    "a value that nobody makes": parsed(PLAIN.replace("Relu(x)", "Relu(nowhere)")),
    "another type": parsed(PLAIN.replace("Relu(x)", "Relu(i)")),
    "a format of the future": parsed(PLAIN.replace("version: 9", "version: 99")),
    "operators of the future": parsed(PLAIN.replace(": 18", ": 99")),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_file_is_refused_by_the_same_class_in_the_same_words(
    what: str, tmp_path: Path, cache: Path
) -> None:
    path = tmp_path / "broken.onnx"
    path.write_bytes(BROKEN[what])
    theirs = caught(lambda p: onnxruntime.InferenceSession(p, providers=CPU), path)
    ours = caught(lambda p: InferenceSession(p, devices="cpu:1", cache=cache), path)
    assert isinstance(ours, type(theirs))
    assert str(ours) == str(theirs)


@pytest.mark.parametrize("what", BROKEN)
def test_bytes_are_refused_by_the_same_class(what: str, cache: Path) -> None:
    theirs = caught(lambda b: onnxruntime.InferenceSession(b, providers=CPU), BROKEN[what])
    ours = caught(lambda b: InferenceSession(b, devices="cpu:1", cache=cache), BROKEN[what])
    assert isinstance(ours, type(theirs))
    assert str(cache) not in str(ours)


@pytest.mark.parametrize("model", ["/there/is/none.onnx", b"", 3, bytearray(b"x"), None])
def test_what_is_no_model_is_refused_in_the_same_words(model: Any, cache: Path) -> None:
    theirs = caught(lambda m: onnxruntime.InferenceSession(m, providers=CPU), model)
    ours = caught(lambda m: InferenceSession(m, devices="cpu:1", cache=cache), model)
    assert isinstance(ours, type(theirs))
    assert str(ours) == str(theirs)


def test_a_folder_is_no_model(tmp_path: Path, cache: Path) -> None:
    theirs = caught(lambda m: onnxruntime.InferenceSession(m, providers=CPU), tmp_path)
    ours = caught(lambda m: InferenceSession(m, devices="cpu:1", cache=cache), tmp_path)
    assert isinstance(ours, type(theirs))
    assert str(ours).startswith(str(theirs).removesuffix("."))
    assert "directory" in str(ours)
