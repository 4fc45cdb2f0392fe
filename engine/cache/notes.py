"""Small documents of the cache, each with a checksum, so that a damaged one counts as none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from surplus.engine import _core
from surplus.engine.cache.private import read_private, write_private


def write_note(path: Path, document: Any) -> None:
    """Keep a document that JSON can hold, whole or not at all.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    text = json.dumps(document).encode()
    write_private(path, b"%016x\n%b" % (_core.checksum(text), text))


def read_note(path: Path) -> Any:
    """What was kept; None where there is nothing, or not what was written."""
    try:
        checksum, _, text = read_private(path).partition(b"\n")
    except OSError:
        return None
    return json.loads(text) if checksum == b"%016x" % _core.checksum(text) else None
