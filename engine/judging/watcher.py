"""The one thread of a process that has its models judged while they serve (judge.py).

It holds no model and sleeps until one is to be stepped: while none is asked, for good. It ends when
it has found no model left for a while, and before the interpreter does: a program that loads and
drops models again and again has one thread, too.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
import weakref
from collections.abc import Callable
from typing import Protocol

from surplus.engine.devices import after_fork

_log = logging.getLogger(__name__)

_FIRST_NS = 1_000_000_000


class Watched(Protocol):
    """A model with a judge."""

    def judge(self) -> int | None:
        """Do what is due; quick, but where sessions are opened.

        Returns
        -------
        int or None
            Nanoseconds until the next step is due; None if that is not before it is woken.
        """


class Watcher:
    """Steps each model when it asked to be, and when it is woken. Thread-safe.

    Parameters
    ----------
    first_ns : int
        From when a model is watched to its first step.
    clock : callable
        In nanoseconds.
    """

    def __init__(
        self, first_ns: int = _FIRST_NS, clock: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._first_ns = first_ns
        self._clock = clock
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._subjects: weakref.WeakSet[Watched] = weakref.WeakSet()
        self._due_ns: weakref.WeakKeyDictionary[Watched, int] = weakref.WeakKeyDictionary()
        self._called = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def watch(self, subject: Watched) -> None:
        """Step it from now on, until nobody else holds it."""
        with self._lock:
            if self._is_closed:
                return
            self._subjects.add(subject)
            self._due_ns[subject] = self._clock() + self._first_ns
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="judge", daemon=True)
                self._thread.start()
        self._called.set()

    def wake(self, subject: Watched | None = None) -> None:
        """Step one soon; None: all of them."""
        with self._lock:
            for woken in [subject] if subject is not None else list(self._subjects):
                self._due_ns[woken] = self._clock()
        self._called.set()

    def close(self) -> None:
        """End, after the step that is under way."""
        with self._lock:
            self._is_closed = True
            thread = self._thread
        self._called.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def leave_behind(self) -> None:
        """Begin anew in a forked child, where the thread is not (after_fork.py)."""
        self._begin()

    def _work(self) -> None:
        while True:
            is_called = self._called.wait(self._rest_s())
            self._called.clear()
            with self._lock:
                if self._is_closed or not (self._subjects or is_called):
                    self._thread = None
                    return
                subjects = self._taken()
            while subjects:  # no reference stays behind while it sleeps
                self._step(subjects.pop())

    def _rest_s(self) -> float | None:
        """Until the next step is due, or one could be; None if there is none."""
        with self._lock:
            due_ns = min(self._due_ns.values(), default=None)
            if due_ns is None:
                return None if self._subjects else self._first_ns / 1e9
        return max(0, due_ns - self._clock()) / 1e9

    def _taken(self) -> list[Watched]:
        """Those that are due now, who are not any more."""
        now_ns = self._clock()
        due = [subject for subject, due_ns in self._due_ns.items() if due_ns <= now_ns]
        for subject in due:
            del self._due_ns[subject]
        return due

    def _step(self, subject: Watched) -> None:
        after_ns: int | None = self._first_ns
        try:
            after_ns = subject.judge()
        except Exception:
            _log.exception("a plan is not judged")
        if after_ns is None:
            return
        with self._lock:  # it may have been woken meanwhile
            due_ns = self._clock() + after_ns
            self._due_ns[subject] = min(due_ns, self._due_ns.get(subject, due_ns))


WATCHER = Watcher()
after_fork.watch(WATCHER)
atexit.register(WATCHER.close)
