"""Processes as the kernel tells of them: memory and time of one and all that descend from it."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Process(NamedTuple):
    """One of them, at one moment.

    Parameters
    ----------
    pid, parent : int
    ticks, ended_ticks : int
        CPU time of its own, and of its children that have ended.
    """

    pid: int
    parent: int
    ticks: int
    ended_ticks: int


def processes(proc: Path = PROC) -> list[Process]:
    """All that there are."""
    found = []
    for folder in proc.glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            # Behind the name, which may have spaces and parentheses in it (proc_pid_stat(5)).
            words = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            user, system, ended_user, ended_system = map(int, words[11:15])
            times = user + system, ended_user + ended_system
            found.append(Process(int(folder.name), int(words[1]), *times))
    return found


def tree(root: int, among: Iterable[Process]) -> list[int]:
    """A process and all that descend from it, by number."""
    children = defaultdict(list)
    for process in among:
        children[process.parent].append(process.pid)
    found = [root]
    for pid in found:
        found += children[pid]
    return found


def tree_bytes(pid: int) -> int:
    """Bytes in memory; a page that several of them map counts once."""
    return sum(map(_proportional_bytes, tree(pid, processes())))


def tree_cpu_s(pid: int) -> float:
    """CPU seconds of those that run, since each began; a hundredth exact for each of them."""
    found = processes()
    own = set(tree(pid, found))
    return sum(process.ticks for process in found if process.pid in own) / TICKS_PER_S


def _proportional_bytes(pid: int) -> int:
    with suppress(OSError):
        for line in (PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    return 0
