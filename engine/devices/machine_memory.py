"""How much memory the machine says it has, and this process holds."""

from __future__ import annotations

from pathlib import Path

from surplus.placement.process_memory import resident_bytes as resident_bytes


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
