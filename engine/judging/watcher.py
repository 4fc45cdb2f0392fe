"""The one thread of a process that has its models judged while they serve (judge.py).

It holds no model, sleeps for a second at a time, and ends with the last model, and before the
interpreter does.
"""

from __future__ import annotations

import atexit
import logging
import threading
import weakref
from typing import Protocol

from surplus.engine.devices import after_fork

_log = logging.getLogger(__name__)

_PERIOD_S = 1.0


class Watched(Protocol):
    """A model with a judge."""

    def judge(self) -> None:
        """Do what is due; quick, but where sessions are opened."""


class Watcher:
    """Steps every model once a second, and when it is woken. Thread-safe."""

    def __init__(self, period_s: float = _PERIOD_S) -> None:
        self._period_s = period_s
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._subjects: weakref.WeakSet[Watched] = weakref.WeakSet()
        self._due = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def watch(self, subject: Watched) -> None:
        """Step it from now on, until nobody else holds it."""
        with self._lock:
            if self._is_closed:
                return
            self._subjects.add(subject)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="judge", daemon=True)
                self._thread.start()

    def wake(self) -> None:
        """Step soon."""
        self._due.set()

    def close(self) -> None:
        """End, after the step that is under way."""
        with self._lock:
            self._is_closed = True
            thread = self._thread
        self._due.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def leave_behind(self) -> None:
        """Begin anew in a forked child, where the thread is not (after_fork.py)."""
        self._begin()

    def _work(self) -> None:
        while True:
            self._due.wait(self._period_s)
            self._due.clear()
            with self._lock:
                subjects = list(self._subjects)
                if self._is_closed or not subjects:
                    self._thread = None
                    return
            while subjects:  # no reference stays behind while it sleeps
                _step(subjects.pop())


def _step(subject: Watched) -> None:
    try:
        subject.judge()
    except Exception:
        _log.exception("a plan is not judged")


WATCHER = Watcher()
after_fork.watch(WATCHER)
atexit.register(WATCHER.close)
