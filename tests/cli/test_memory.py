"""``engine memory``: measured in fresh processes, as tables and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from surplus.engine.cli.main import main


def test_memory(cli_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "memory", str(cli_folder / "lenet.onnx"), "--devices", "cpu:1",
        "--cache", str(tmp_path), "--queries", "2",
    ]  # fmt: skip
    assert main([*words, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["activations"]["unknown"] == 0
    assert report["activations"]["peak_bytes"] > 0
    assert report["weights"]["mappings"] >= 1
    assert report["weights"]["private_bytes"] == 0, "weights are never copied"
    for kind in ("planned", "plain"):
        steady = report[kind]["steady"]
        assert 0 < steady["resident_bytes"] <= steady["peak_bytes"]
    assert report["ratio"]["peak"] > 0
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "activations, predicted peak" in shown
    assert "peak ratio" in shown


def test_a_missing_model_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", str(tmp_path / "absent.onnx")]) == 1
    assert "absent.onnx" in capsys.readouterr().err
