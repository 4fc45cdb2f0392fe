"""What others could have written is not used, and what is the user's is for nobody else."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from surplus.engine.cache.private import (
    private_folder,
    read_private,
    write_private,
    write_unchanging,
)


@pytest.fixture(autouse=True)
def _open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def owned_by_somebody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this process be another user than the one who makes its files."""
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)


def test_new_folders_and_files_are_the_users_alone(tmp_path: Path) -> None:
    folder = private_folder(tmp_path / "new" / "cache")
    write_private(folder / "a", b"1")
    write_unchanging(folder / "b", b"2")
    assert [mode_of(p) for p in (folder, folder / "a", folder / "b")] == [0o700, 0o600, 0o400]
    assert folder == tmp_path / "new" / "cache"
    write_unchanging(folder / "b", b"3")
    assert read_private(folder / "b") == b"3"


def test_a_folder_that_others_can_read_is_closed(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert private_folder(tmp_path) == tmp_path
    assert mode_of(tmp_path) == 0o700


@pytest.mark.parametrize("mode", [0o770, 0o777, 0o1777, 0o702])
def test_a_folder_that_others_can_fill_is_not_used(
    tmp_path: Path, mode: int, caplog: pytest.LogCaptureFixture
) -> None:
    tmp_path.chmod(mode)
    with caplog.at_level(logging.WARNING):
        instead = private_folder(tmp_path)
        assert private_folder(tmp_path) == instead != tmp_path
    assert mode_of(instead) == 0o700
    assert f"cache {tmp_path} is not used: others may write to it" in caplog.text
    assert len(caplog.records) == 1


def test_a_folder_of_somebody_else_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    os.chown(tmp_path, 1234, -1) if os.geteuid() == 0 else owned_by_somebody(monkeypatch)
    assert private_folder(tmp_path) != tmp_path
    assert "it belongs to user" in caplog.text


def test_a_folder_of_roots_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Say, one that comes with a container's image."""
    if tmp_path.stat().st_uid != 0:
        pytest.skip("only root makes files of root's")
    owned_by_somebody(monkeypatch)
    tmp_path.chmod(0o755)
    assert private_folder(tmp_path) == tmp_path
    assert mode_of(tmp_path) == 0o755


def test_a_folder_that_cannot_be_made_is_left_to_who_writes_there(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert private_folder(tmp_path / "file" / "cache") == tmp_path / "file" / "cache"


@pytest.mark.parametrize("kind", ["writable", "link", "pipe", "folder"])
def test_a_file_that_is_not_trusted_is_not_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "file"
    if kind == "writable":
        path.write_bytes(b"x")
        path.chmod(0o666)
    elif kind == "link":
        write_private(tmp_path / "real", b"x")
        path.symlink_to("real")
    elif kind == "pipe":
        os.mkfifo(path, 0o600)
    else:
        path.mkdir(0o700)
    with pytest.raises(OSError, match="file"):
        read_private(path)
