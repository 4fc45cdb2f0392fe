"""What processes hold of the machine's memory."""

from __future__ import annotations

import mmap
from pathlib import Path


def resident_bytes(process: int | str = "self") -> int:
    """Of a process; 0 if it has ended, or where nobody can tell."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * mmap.PAGESIZE
    except (OSError, IndexError):
        return 0
