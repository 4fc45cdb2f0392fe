"""``engine serve`` that ends, with its queries answered, when who started it is gone.

Started as ``python -m surplus.engine.cli.serve_tied``; a line of JSON on standard input has its
options. What a server needs is imported before they are read: one that still waits for them is a
spare, which serves a moment after it is told to. Standard input is the other end of who started it,
and closes however that one ends.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading

from surplus.engine.cli.main import main

_NEEDED = (
    "surplus.engine.cli.serve",
    "surplus.engine.cli.loaded_with_progress",
    "surplus.engine.serving.life",
    "surplus.engine.serving.live_loads",
    "surplus.engine.serving.live_start",
    "surplus.engine.serving.loads",
    "surplus.engine.pipeline.first_answer",
    "surplus.engine.pipeline.loading",
    "surplus.engine.pipeline.opening",
    "surplus.engine.trial.first_run",
    "surplus.placement.policies",
)
"""What brings nearly all along that a server imports otherwise when it is asked to serve."""


def warm() -> None:
    """Import what a server needs."""
    for name in _NEEDED:
        importlib.import_module(name)


def _words() -> list[str] | None:
    """The options, when they come; None if who would say them is gone."""
    line = b""
    while not line.endswith(b"\n"):
        if not (read := os.read(0, 1 << 16)):
            return None
        line += read
    words: list[str] = json.loads(line)
    return words


def _wait() -> None:
    while os.read(0, 1 << 12):  # not by sys.stdin, whose lock the interpreter's end waits for
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _run() -> int:
    warm()
    if (words := _words()) is None:
        return 0
    threading.Thread(target=_wait, daemon=True).start()
    return main(["serve", *words])


if __name__ == "__main__":
    sys.exit(_run())
