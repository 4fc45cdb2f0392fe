"""A process that serves what it is told to, and ends when who started it is gone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_MODULE = "surplus.engine.cli.serve_tied"


def begin(log: Path) -> subprocess.Popen[str]:
    """Start one; it imports what it needs, and waits for its options.

    Parameters
    ----------
    log : Path
        Gets its standard error.
    """
    with log.open("a", encoding="utf-8") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )


def tell(process: subprocess.Popen[str], words: Sequence[str]) -> None:
    """Have it serve with these options of ``engine serve``; nothing, if it has ended."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        os.write(process.stdin.fileno(), json.dumps(list(words)).encode() + b"\n")


def end(process: subprocess.Popen[str]) -> None:
    """End one that serves nothing; blocks until it has."""
    process.kill()
    with process:
        pass
