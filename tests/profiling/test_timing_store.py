"""Measured times that several processes keep in one folder."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path

import pytest

from surplus.engine.profiling.timing import Timing
from surplus.engine.profiling.timing_store import _FILE, _WRITTEN_TOGETHER, TimingStore


def test_a_time_is_kept_and_the_later_one_wins(tmp_path: Path) -> None:
    store = TimingStore(tmp_path)
    store.put("a", Timing(5, 1))
    store.put("a", Timing(7, 1), provisional=True)
    assert (store.get("a"), store.is_provisional("a")) == (Timing(7, 1), True)
    store.close()
    again = TimingStore(tmp_path)
    assert (again.get("a"), again.is_provisional("a")) == (Timing(7, 1), True)
    assert again.get("b") is None
    assert TimingStore(None).get("a") is None


def test_who_measures_locks_nobody_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    slow, quick = TimingStore(tmp_path, wait_s=0), TimingStore(tmp_path, wait_s=0)
    slow.put("a", Timing(1, 0))
    quick.put("b", Timing(2, 0))
    quick.close()
    assert slow.get("b") == Timing(2, 0)
    slow.close()
    again = TimingStore(tmp_path, wait_s=0)
    assert (again.get("a"), again.get("b")) == (Timing(1, 0), Timing(2, 0))
    assert not caplog.records


def test_many_times_are_written_before_the_end(tmp_path: Path) -> None:
    store = TimingStore(tmp_path, wait_s=0)
    for number in range(_WRITTEN_TOGETHER + 1):
        store.put(str(number), Timing(number, 0))
    other = TimingStore(tmp_path, wait_s=0)
    assert other.get("0") == Timing(0, 0)
    assert other.get(str(_WRITTEN_TOGETHER)) is None


def test_a_file_that_another_has_for_long_is_no_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = TimingStore(tmp_path, wait_s=0)
    store.put("a", Timing(1, 0))
    other = sqlite3.connect(tmp_path / _FILE)
    other.execute("BEGIN EXCLUSIVE")
    with caplog.at_level(logging.WARNING):
        assert store.get("b") is None
        store.close()
        late = TimingStore(tmp_path, wait_s=0)
        late.put("c", Timing(3, 0))
        late.close()
    assert not caplog.records
    assert store.get("a") == Timing(1, 0)
    other.close()


def test_a_file_that_is_no_database_is_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / _FILE).write_bytes(b"no database at all, and longer than a header" * 50)
    store = TimingStore(tmp_path)
    store.put("a", Timing(1, 0))
    store.close()
    assert TimingStore(tmp_path).get("a") == Timing(1, 0)
    assert "is damaged and made again" in caplog.text
