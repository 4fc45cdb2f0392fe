"""The child that makes a conformance table while the process that wants it does without.

It is of the idle class, so that it takes what nobody else wants of the cores, ends with the process
that began it, and is begun once in a process.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading

from surplus.engine.detached_process import DetachedProcess
from surplus.engine.interpreter import find_interpreter

_log = logging.getLogger(__name__)

_START = (
    "import sys; sys.path[:] = PATH;"
    " from surplus.engine.kernels.conformance.background import main; main()"
)

_GRACE_S = 5.0
"""After it is first wanted: what begins then has the machine for itself."""


class BackgroundMaking:
    """The children of a process, one a library. Thread-safe.

    Parameters
    ----------
    grace_s : float
        Seconds that each waits before it begins.
    start : str
        What the child's interpreter executes; ``PATH`` stands for where modules are found.
    """

    def __init__(self, grace_s: float = _GRACE_S, start: str = _START) -> None:
        self._grace_s = grace_s
        self._start = start
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._threads: dict[str, threading.Thread] = {}
        self._owner = os.getpid()
        self._children: set[DetachedProcess] = set()

    def begin(self, library: str, version: str) -> bool:
        """Make a library's table unless that was begun; whether it is begun now.

        Nothing is where no interpreter can be started, as in a frozen program.
        """
        if find_interpreter() is None or os.getpid() != self._owner:
            return False
        with self._lock:
            if library in self._threads or self._ending.is_set():
                return False
            thread = threading.Thread(
                target=self._make, args=(library, version), name="conformance", daemon=True
            )
            self._threads[library] = thread
        thread.start()
        return True

    def end(self) -> None:
        """End the children; at exit."""
        if os.getpid() != self._owner:
            return
        self._ending.set()
        with self._lock:
            for child in self._children:
                child.kill()
        for thread in self._threads.values():
            thread.join()

    def _make(self, library: str, version: str) -> None:
        if self._ending.wait(self._grace_s):
            return
        interpreter = find_interpreter()
        with self._lock:
            if interpreter is None or self._ending.is_set():
                return
            start = self._start.replace("PATH", repr(sys.path))
            child = DetachedProcess([interpreter, "-c", start, library, version])
            self._children.add(child)
        with child:
            child.wait()
            with self._lock:
                self._children.discard(child)
        _log.info("%s: the child that made its conformance table has ended", library)


_MAKING = BackgroundMaking()
atexit.register(_MAKING.end)


def make_in_background(library: str, version: str) -> None:
    """Begin to make a library's table in a child, which stores it; once in a process."""
    _MAKING.begin(library, version)


def main() -> None:
    """Make and store the table that the arguments name."""
    from surplus.engine.kernels.conformance.making import make_table
    from surplus.engine.kernels.conformance.table import keep_table
    from surplus.engine.lifeline import end_with_parent

    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    end_with_parent()
    library, version = sys.argv[1:]
    keep_table(make_table(library, version, is_idle=True))
    os._exit(0)
