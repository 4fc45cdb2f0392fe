"""Memory and time of a process and all that descend from it, at one moment."""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_USER, _SYSTEM = 11, 12
"""Of what follows the name in a process's stat."""


def tree_bytes(pid: int) -> int:
    """Bytes in memory; a page that several of them map counts once."""
    return sum(map(_proportional_bytes, _tree(pid)))


def tree_cpu_s(pid: int) -> float:
    """CPU seconds of those that run, since each began; a hundredth exact for each of them."""
    return sum(map(_cpu_ticks, _tree(pid))) * _TICK_S


def _cpu_ticks(pid: int) -> int:
    with suppress(OSError):
        fields = _fields(pid)
        return int(fields[_USER]) + int(fields[_SYSTEM])
    return 0


def _fields(pid: int) -> list[str]:
    return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()


def _tree(root: int) -> list[int]:
    children = defaultdict(list)
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError):  # it has ended meanwhile
                children[int(_fields(int(folder.name))[1])].append(int(folder.name))
    found = [root]
    for pid in found:
        found += children[pid]
    return found


def _proportional_bytes(pid: int) -> int:
    with suppress(OSError):
        for line in (_PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    return 0
