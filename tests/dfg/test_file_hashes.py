import hashlib
import os
import time
from pathlib import Path

import pytest

from surplus.engine.dfg import file_hashes
from surplus.engine.dfg.file_hashes import FileHashes


@pytest.fixture
def file(tmp_path: Path, monkeypatch) -> Path:
    """A file that counts as large; settled a minute ago by the module's clock."""
    monkeypatch.setattr(file_hashes, "_SMALL_BYTES", 0)
    later = time.time_ns() + 60_000_000_000
    monkeypatch.setattr(file_hashes.time, "time_ns", lambda: later)
    path = tmp_path / "weights"
    path.write_bytes(b"abc")
    return path


def refuse(path: Path) -> str:
    raise AssertionError(f"{path} is hashed again")


def test_hashed_once_until_it_changes(file: Path, tmp_path: Path, monkeypatch) -> None:
    memo = FileHashes(tmp_path / "memo")
    want = hashlib.sha256(b"abc").hexdigest()
    assert memo.digest(file) == want
    with monkeypatch.context() as patch:
        patch.setattr(file_hashes, "_hash", refuse)
        assert memo.digest(file) == want
    file.write_bytes(b"abd")
    os.utime(file, ns=(1, 1))
    assert memo.digest(file) == hashlib.sha256(b"abd").hexdigest()


def test_recent_changes_are_not_remembered(file: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(file_hashes.time, "time_ns", lambda: file.stat().st_mtime_ns)
    FileHashes(tmp_path / "memo").digest(file)
    assert not (tmp_path / "memo").exists()


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"state": 1}', "\x00"])
def test_damaged_notes_are_ignored(file: Path, tmp_path: Path, content: str) -> None:
    memo = FileHashes(tmp_path / "memo")
    want = memo.digest(file)
    (note,) = (tmp_path / "memo").iterdir()
    note.write_text(content)
    assert memo.digest(file) == want


def test_unwritable_folder(file: Path) -> None:
    assert FileHashes(file / "below").digest(file) == hashlib.sha256(b"abc").hexdigest()
