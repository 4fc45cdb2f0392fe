"""Folders of conversions that were killed, and of others that go on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from surplus.engine.convert import staging as module
from surplus.engine.convert.staging import staging

SCRIPT = Path(__file__).with_name("killed_converting.py")


def _started(target: Path) -> tuple[subprocess.Popen[str], Path]:
    command = [sys.executable, str(SCRIPT), str(target)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().rstrip("\n"))


def _killed(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_the_folder_lies_beside_the_target_and_goes(tmp_path: Path) -> None:
    with staging(tmp_path / "net.onnx") as folder:
        assert folder.parent == tmp_path
        assert folder.name.startswith(".net.onnx.")
        (folder / "x").write_text("x")
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_goes_and_what_a_living_one_uses_stays(tmp_path: Path) -> None:
    target, other = tmp_path / "net.onnx", tmp_path / "other.onnx"
    dead, left = _started(target)
    stranger, elsewhere = _started(other)
    living, used = _started(target)
    try:
        assert left.is_dir()  # the second one found it locked
        _killed(dead)
        _killed(stranger)
        with staging(target) as own:
            assert not left.exists()
            assert (used / "half.onnx").read_bytes() == b"half"
            assert elsewhere.is_dir()  # of another target
            assert own.is_dir()
    finally:
        _killed(living)
    with staging(other):
        assert used.is_dir()
    with staging(target):
        assert not used.exists()


def test_a_name_that_only_looks_alike_is_left_alone(tmp_path: Path) -> None:
    for name in (".net.onnx.convert-", ".netXonnx.convert-abc", ".net.onnx.abcdefgh"):
        (tmp_path / name).mkdir()
    (tmp_path / ".net.onnx.convert-file").write_text("")
    (tmp_path / ".net.onnx.convert-link").symlink_to(tmp_path)
    before = set(tmp_path.iterdir())
    with staging(tmp_path / "net.onnx"):
        pass
    assert set(tmp_path.iterdir()) == before


def test_a_folder_that_was_taken_for_a_dead_one_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, made = module._lock, []

    def late(folder: Path, *, only_if_free: bool = False) -> int | None:
        made.append(folder)
        if len(made) == 1:  # between making and locking it
            module._remove_abandoned(tmp_path / "net.onnx")
        return real(folder, only_if_free=only_if_free)

    monkeypatch.setattr(module, "_lock", late)
    with staging(tmp_path / "net.onnx") as folder:
        assert folder.is_dir()
        assert not made[0].exists()
        assert folder != made[0]
