"""Processes that press on caches and memory, stopped and let go on in turns."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

_SETTLE_S = 0.02
_READ_BYTES = 32 << 20
_COPIED_BYTES = 256 << 20
_PROGRAM = """
import os, sys
import numpy as np
core, kind, size = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
os.sched_setaffinity(0, {core})
a, b = np.ones(size // 8), np.ones(size // 8)
print("ready", flush=True)
while True:
    a.sum() if kind == "reads" else np.copyto(a, b)
"""


@dataclass(frozen=True)
class Presser:
    """Who presses: on which cores, counted from the last, and how.

    Parameters
    ----------
    name : str
    cores : int
        So many processes, each on a core of its own.
    kind : str
        ``reads`` of 32 MiB, over and over: the last cache. ``copies`` of 256 MiB: memory.
    """

    name: str
    cores: int
    kind: str


NOBODY = Presser("alone", 0, "reads")
LEVELS = (
    NOBODY,
    Presser("reads beside", 1, "reads"),
    Presser("copies beside", 1, "copies"),
    Presser("copies on both", 2, "copies"),
)


class Pressing:
    """All pressers, of which one is let go on at a time."""

    def __init__(self, levels: Sequence[Presser]) -> None:
        cores = sorted(os.sched_getaffinity(0), reverse=True)
        self._processes = {
            level.name: [_started(cores[k % len(cores)], level.kind) for k in range(level.cores)]
            for level in levels
        }
        for processes in self._processes.values():
            _signal(processes, signal.SIGSTOP)

    @contextmanager
    def at(self, level: Presser) -> Iterator[None]:
        """While one presses."""
        own = self._processes[level.name]
        _signal(own, signal.SIGCONT)
        time.sleep(_SETTLE_S)
        try:
            yield
        finally:
            _signal(own, signal.SIGSTOP)

    def end(self) -> None:
        """End them all."""
        for processes in self._processes.values():
            for process in processes:
                process.kill()
                process.wait()


def _started(core: int, kind: str) -> subprocess.Popen[str]:
    size = _READ_BYTES if kind == "reads" else _COPIED_BYTES
    words = [sys.executable, "-c", _PROGRAM, str(core), kind, str(size)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def _signal(processes: Sequence[subprocess.Popen[str]], number: signal.Signals) -> None:
    for process in processes:
        process.send_signal(number)
