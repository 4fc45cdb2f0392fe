"""``engine serve REPOSITORY --lazy``: models are checked at the start and loaded when queried."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as triton

from surplus import models
from surplus.engine.cli.main import main
from surplus.engine.devices.cuda_parts import CudaPart
from tests.cli.test_serve import _infer, _served, _stop


@pytest.fixture
def repository(cli_folder: Path, tmp_path: Path) -> Path:
    """Two good models and a bad one."""
    root = tmp_path / "repository"
    for name in ("asked", "bad", "idle"):
        version = root / name / "1"
        version.mkdir(parents=True)
        shutil.copy(cli_folder / "lenet.onnx", version / "model.onnx")
    (root / "bad" / "1" / "model.onnx").write_bytes(b"no model")
    return root


def test_models_load_with_their_first_query(repository: Path, tmp_path: Path) -> None:
    image = models.example_inputs("lenet")["image"]
    plans = list((tmp_path / "cache").glob("*/plan-*.json"))
    with _served(tmp_path / "cache", repository, "--lazy", "--devices", "cpu:1") as server:
        process, address, _ = server
        with triton.InferenceServerClient(address) as client:
            assert client.is_model_ready("idle")
            assert not client.is_model_ready("bad")
            assert client.get_model_metadata("idle").inputs[0].name == "image"
        assert plans == list((tmp_path / "cache").glob("*/plan-*.json")), "nothing was tuned yet"
        first = _infer(address, "asked", image)
        assert np.array_equal(_infer(address, "asked", image), first)
        assert len(list((tmp_path / "cache").glob("*/plan-*.json"))) == 1
        error = _stop(process)
    assert "bad" in error


def test_a_device_that_is_not_there_is_refused_at_the_start(
    repository: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not by every query, from a server that says that it is ready."""
    missing = CudaPart("CUDA driver", "", "no CUDA driver here")
    monkeypatch.setattr("surplus.engine.devices.cuda_parts.cuda_parts", lambda **_: iter([missing]))
    words = [str(repository), "--lazy", "--devices", "cpu:1,cuda:0", "--cache", str(tmp_path)]
    assert main(["serve", *words]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "cuda:0" in err
    assert "no CUDA driver here" in err
    assert err.count("\n") == 1
