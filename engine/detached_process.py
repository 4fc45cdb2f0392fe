"""A process that works for this one without being its child (core, isolation/detached.hpp)."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Self

from surplus.engine import _core
from surplus.engine.interpreter import environment_below


class DetachedProcess:
    """A running program with a pipe to its standard input and one from its standard output.

    Whoever waits for all children of this process never hears of it. It goes on when this process
    ends, unless it ends with its standard input (lifeline.py). Use as a context manager: at the end
    it is killed, and its pipes are closed. Thread-safe.

    Parameters
    ----------
    command : sequence of str
        The path of a program, and its arguments.
    environment : mapping of str to str, optional
        What is set beside this process's own environment, and how deep it stands.

    Raises
    ------
    OSError
        If it cannot be started.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> None:
        given, stdin = os.pipe()
        try:
            stdout, written = os.pipe()
            try:
                whole = {**os.environ, **environment_below(), **(environment or {})}
                rows = [os.fsencode(f"{name}={value}") for name, value in whole.items()]
                program = [os.fsencode(word) for word in command]
                self.pid, self._ended = _core.start_detached(program, rows, given, written)
            except BaseException:
                os.close(stdout)
                raise
            finally:
                os.close(written)
        except BaseException:
            os.close(stdin)
            raise
        finally:
            os.close(given)
        self.stdin = open(stdin, "wb")  # noqa: SIM115, PTH123
        self.stdout = open(stdout, "rb")  # noqa: SIM115, PTH123

    def kill(self) -> None:
        """End it and what it has forked; where it has ended, nothing happens."""
        if not self.wait(0):
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)  # it leads a session

    def wait(self, timeout_s: float | None = None) -> bool:
        """Whether it has ended; waits until then, or for so long."""
        return bool(select.select([self._ended], [], [], timeout_s)[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        with suppress(OSError):  # what it no longer reads
            self.stdin.close()
        self.stdout.close()
        with suppress(ChildProcessError):  # a process that adopts orphans is its parent after all
            os.waitid(os.P_PIDFD, self._ended, os.WEXITED)
        os.close(self._ended)
