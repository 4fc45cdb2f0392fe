"""How much memory the machine says it has, and this process holds."""

from __future__ import annotations

import mmap
from pathlib import Path


def machine_bytes(what: str, root: Path = Path("/")) -> int:
    """A line of ``/proc/meminfo``, as ``MemTotal``; 0 where there is none.

    Parameters
    ----------
    root : Path
        Where ``proc`` lies; another folder in tests.
    """
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
    except OSError:
        return 0
    found = (line.split()[1] for line in lines if line.startswith(f"{what}:"))
    return int(next(found, 0)) << 10


def resident_bytes() -> int:
    """What this process holds of the machine's memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
