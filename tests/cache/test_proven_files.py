"""Large files are read again only when they may have changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from surplus.engine import _core
from surplus.engine.cache import proven_files
from surplus.engine.cache.notes import read_note
from surplus.engine.cache.private import write_private
from surplus.engine.cache.proven_files import NOTE_FILE, keep_notes, sum_of

CONTENT = bytes(range(256)) * (2 << 12)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(proven_files, "_SETTLED_NS", 0)
    write_private(tmp_path / "weights", CONTENT)
    return tmp_path / "weights"


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one for each file that is read."""
    seen: list[int] = []
    real = _core.file_checksum
    monkeypatch.setattr(_core, "file_checksum", lambda d: (seen.append(d), real(d))[1])
    return seen


def another_process() -> None:
    proven_files._notes.cache_clear()


def test_a_sum_is_of_the_content(file: Path) -> None:
    assert sum_of(file) == (len(CONTENT), _core.checksum(CONTENT))


def test_what_did_not_change_is_read_once(file: Path, reads: list[int]) -> None:
    first = sum_of(file)
    keep_notes(file.parent)
    another_process()
    assert sum_of(file) == sum_of(file) == first
    assert len(reads) == 1


def test_a_small_file_is_read_each_time(file: Path, reads: list[int]) -> None:
    write_private(file, b"small")
    assert sum_of(file) == sum_of(file)
    assert len(reads) == 2


def test_a_change_in_place_is_seen_whatever_the_times_say(file: Path) -> None:
    before, times = sum_of(file), file.stat()
    with file.open("r+b") as stream:
        stream.write(b"\1")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert sum_of(file) != before


@pytest.mark.parametrize("later_ns", [-1, 25 * 3600 * 10**9])
def test_a_note_holds_for_a_day(
    file: Path, reads: list[int], monkeypatch: pytest.MonkeyPatch, later_ns: int
) -> None:
    sum_of(file)
    noted = proven_files._notes(file.parent)._by_name[file.name]["read_ns"]
    monkeypatch.setattr(proven_files.time, "time_ns", lambda: noted + later_ns)
    sum_of(file)
    assert len(reads) == 2


def test_a_note_holds_until_the_machine_is_started_again(
    file: Path, reads: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    sum_of(file)
    keep_notes(file.parent)
    monkeypatch.setattr(proven_files, "_boot", lambda: "another")
    another_process()
    sum_of(file)
    assert len(reads) == 2


def test_what_has_just_changed_is_not_noted(
    file: Path, reads: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proven_files, "_SETTLED_NS", 10**15)
    sum_of(file)
    sum_of(file)
    assert len(reads) == 2


def test_a_damaged_note_is_none(file: Path, reads: list[int]) -> None:
    sum_of(file)
    keep_notes(file.parent)
    note = file.with_name(NOTE_FILE)
    data = bytearray(note.read_bytes())
    data[len(data) // 2] ^= 1
    write_private(note, bytes(data))
    another_process()
    assert read_note(note) is None
    sum_of(file)
    assert len(reads) == 2


def test_notes_of_files_that_are_gone_go(file: Path) -> None:
    sum_of(file)
    other = file.with_name("other weights")
    write_private(other, CONTENT)
    sum_of(other)
    file.unlink()
    keep_notes(file.parent)
    assert list(read_note(file.with_name(NOTE_FILE))["files"]) == ["other weights"]
