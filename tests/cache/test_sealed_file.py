"""Sealed files prove themselves and their parts."""

from __future__ import annotations

import logging
from pathlib import Path

import onnx
import pytest

from surplus.engine.cache.private import write_private
from surplus.engine.cache.sealed_file import DamagedFileError, is_intact, read_sealed, sealed

MODEL = onnx.parser.parse_model(
    '<ir_version: 9, opset_import: ["" : 18]> neg (float[4] x) => (float[4] y) { y = Neg(x) }'
).SerializeToString()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_private(tmp_path / "a.bin", b"weights")
    write_private(tmp_path / "b.bin", bytes(3 << 20))
    write_private(tmp_path / "model.onnx", sealed(MODEL, tmp_path, ["a.bin", "b.bin"]))
    return tmp_path / "model.onnx"


def test_the_content_comes_back(path: Path) -> None:
    assert read_sealed(path) == MODEL
    assert is_intact(path)


@pytest.mark.parametrize("content", [b"", MODEL])
def test_it_is_onnx_still(path: Path, content: bytes) -> None:
    model = onnx.ModelProto.FromString(sealed(content, path.parent, ["a.bin"]))
    assert [entry.key for entry in model.metadata_props] == ["surplus.seal"]
    del model.metadata_props[:]
    assert model == onnx.ModelProto.FromString(content)


def test_every_flipped_byte_and_every_other_length_is_found(path: Path) -> None:
    data = path.read_bytes()
    for at in range(len(data)):
        for changed in (data[:at], data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :]):
            write_private(path, changed)
            with pytest.raises(DamagedFileError):
                read_sealed(path)
    write_private(path, data + b"\0")
    with pytest.raises(DamagedFileError):
        read_sealed(path)


def test_a_damaged_part_is_found(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert is_intact(path)
    with (path.parent / "b.bin").open("r+b") as file:
        file.seek(1 << 20)
        file.write(b"\1")
    with caplog.at_level(logging.WARNING):
        assert not is_intact(path)
    assert "model.onnx is made again: b.bin is damaged" in caplog.text


def test_a_truncated_part_is_found(path: Path) -> None:
    with (path.parent / "b.bin").open("r+b") as file:
        file.truncate(2 << 20)
    assert not is_intact(path)


def test_a_part_that_is_missing(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (path.parent / "a.bin").unlink()
    assert not is_intact(path)
    assert "a.bin is missing" in caplog.text


def test_no_file_is_nothing_to_warn_of(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.unlink()
    assert not is_intact(path)
    assert not caplog.records
