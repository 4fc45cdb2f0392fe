"""What other processes take of the machine is seen, and what the measured ones take is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.infrastructure.strangers import read_disturbances, strangers_ns


def write(proc: Path, pid: int, parent: int, ticks: tuple[int, int, int, int]) -> None:
    (proc / str(pid)).mkdir(parents=True, exist_ok=True)
    before = " ".join(["0"] * 9)
    times = " ".join(map(str, ticks))
    (proc / str(pid) / "stat").write_text(f"{pid} (a) (b c) S {parent} {before} {times} 20 0 1")


def test_who_was_started_by_the_measured_is_none(tmp_path: Path) -> None:
    write(tmp_path, 1, 0, (1, 2, 3, 4))
    write(tmp_path, 10, 1, (100, 100, 100, 100))
    write(tmp_path, 12, 10, (100, 100, 0, 0))
    write(tmp_path, 11, 12, (100, 100, 0, 0))
    write(tmp_path, 13, 1, (5, 5, 0, 0))
    (tmp_path / "self").mkdir()
    (tmp_path / "14").mkdir()
    assert strangers_ns(tmp_path, own=10) == 20 * 10_000_000


def test_this_process_is_a_stranger_to_its_child() -> None:
    seen = strangers_ns()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    seen_by_it = strangers_ns(own=child.pid)
    child.communicate(b"\n")
    assert 0 < seen < seen_by_it


def test_they_count_as_stolen(tmp_path: Path) -> None:
    empty = read_disturbances(tmp_path).stolen_ns
    write(tmp_path, 99, 1, (0, 0, 0, 1_000_000))
    assert read_disturbances(tmp_path).stolen_ns - empty >= 10**13
