"""How often the threads of a process have slept and been woken."""

from __future__ import annotations

import re
from pathlib import Path

_VOLUNTARY = re.compile(r"^voluntary_ctxt_switches:\s+(\d+)$", re.MULTILINE)


def voluntary_switches(process: str = "self") -> int:
    """Of all its threads that live, since each began."""
    return sum(_of(path) for path in Path(f"/proc/{process}/task").glob("*/status"))


def _of(path: Path) -> int:
    try:
        found = _VOLUNTARY.search(path.read_text(encoding="ascii", errors="replace"))
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return 0
    return int(found.group(1)) if found else 0
