"""Memory of a process and all that descend from it, at one moment."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")


def tree_bytes(pid: int) -> int:
    """Bytes in memory; a page that several of them map counts once."""
    return sum(map(_proportional_bytes, _tree(pid)))


def _tree(root: int) -> list[int]:
    children = defaultdict(list)
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError):  # it has ended meanwhile
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                children[int(fields[1])].append(int(folder.name))
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
