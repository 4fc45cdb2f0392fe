"""Models on disk."""

from __future__ import annotations

import resource
from pathlib import Path

import onnx
import pytest

from surplus import models


@pytest.fixture(scope="module")
def matmuls() -> onnx.ModelProto:
    return models.build("chain", length=3, size=64, kind="matmul")


def test_inline_by_default(matmuls: onnx.ModelProto, tmp_path: Path) -> None:
    path = models.save(matmuls, tmp_path / "m.onnx")
    assert onnx.load(path) == matmuls
    assert list(tmp_path.iterdir()) == [path]


def test_external_weights_read_back_equal(matmuls: onnx.ModelProto, tmp_path: Path) -> None:
    before = matmuls.SerializeToString(deterministic=True)
    path = models.save(matmuls, tmp_path / "m.onnx", external_data=True)
    assert matmuls.SerializeToString(deterministic=True) == before
    assert path.stat().st_size < 4096
    # Three page-aligned matrices of 64 x 64 floats, 16 KiB each.
    assert (tmp_path / "m.onnx.data").stat().st_size == 3 * 64 * 64 * 4
    onnx.checker.check_model(path)
    loaded = onnx.load(path)
    read = [t.raw_data for t in loaded.graph.initializer]
    assert read == [t.raw_data for t in matmuls.graph.initializer]
    assert loaded.graph.node == matmuls.graph.node


def test_large_models_go_external_by_themselves(
    matmuls: onnx.ModelProto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surplus.models.storage.INLINE_LIMIT_BYTES", 1000)
    models.save(matmuls, tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx.data").exists()


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    """As seen by a process that may not write files of more than a few bytes."""
    path = models.save(models.build("lenet"), tmp_path / "m.onnx")
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        for external in (False, True):
            with pytest.raises(OSError, match="too large"):
                models.save(models.build("lenet"), path, external_data=external)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [file.name for file in tmp_path.iterdir()] == ["m.onnx"]
    assert path.read_bytes() == before
