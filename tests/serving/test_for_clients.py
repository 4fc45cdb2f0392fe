"""Answers say what is wrong, not where files lie on the server."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from surplus.engine.errors import ModelError
from surplus.engine.serving import grpc_status, http_status
from surplus.engine.serving.for_clients import text_for_clients, without_paths


@pytest.mark.parametrize(
    ("quoted", "after"), [("{}", ": truncated"), ("'{}'", " is gone"), ("({})", ""), ("{}:", " x")]
)
def test_a_file_is_named_by_its_last_part(tmp_path: Path, quoted: str, after: str) -> None:
    text = f"Load model from {quoted.format(tmp_path / 'm.onnx')}{after}"
    assert without_paths(text) == f"Load model from {quoted.format('m.onnx')}{after}"


@pytest.mark.parametrize(
    "text",
    [
        "segment '/no_such_layer/Conv_1' failed",
        "input 'a/b': 3/4 of it, see https://host/path",
        "2 / 3",
        "expected 'cpu:1/2'",
    ],
)
def test_names_within_models_stay(text: str) -> None:
    assert without_paths(text) == text


def test_both_faces_keep_paths_for_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    error = ModelError(f"{tmp_path / 'm.onnx'}: \x1b[31mnot an ONNX model")
    for status_of in (grpc_status.status_of, http_status.status_of):
        with caplog.at_level(logging.WARNING):
            assert status_of(error)[1] == r"m.onnx: \x1b[31mnot an ONNX model"
        assert str(tmp_path / "m.onnx") in caplog.text
        caplog.clear()


def test_what_names_no_file_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert text_for_clients(ModelError("input 'x' is missing")) == "input 'x' is missing"
    assert not caplog.records
