"""Processes that have ONNX Runtime loaded and fork for each trial (child.py).

Starting an interpreter and loading the library takes longer than most models' first runs. Such a
process has one thread and no session, so its forks are sound. A fork that has survived a trial does
the next one, too, unless it has become large; all end when nobody asks for a while.
"""

from __future__ import annotations

import atexit
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from surplus.engine import _core
from surplus.engine.native import find_library

_CHILD = Path(__file__).with_name("child.py")
_MOST_IDLE = 4

ENDED = re.compile(rb"^ended (-?[0-9]+)\n\Z", re.MULTILINE)
"""The last line of a trial: the exit code of its process."""

READ_OR_ENDED = re.compile(rb'^\["read"|' + ENDED.pattern, re.MULTILINE)
OPENED_OR_ENDED = re.compile(rb'^\["opened"|' + ENDED.pattern, re.MULTILINE)


class ServerEndedError(Exception):
    """The process is gone: nothing is known of the model."""


class TrialServer:
    """One such process. For one trial at a time."""

    def __init__(self) -> None:
        self._said = b""
        held, self._lifeline = os.pipe()
        command = (sys.executable, "-I", "-S", str(_CHILD))
        try:
            self._process = subprocess.Popen(
                [*command, str(held), _core.__file__, str(find_library())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=(held,),
                process_group=0,
            )
        except BaseException:
            os.close(self._lifeline)
            raise
        finally:
            os.close(held)

    @property
    def is_alive(self) -> bool:
        """Whether it may still answer."""
        return self._process.poll() is None

    @property
    def has_said(self) -> bool:
        """Whether the trial has said anything."""
        return bool(self._said)

    def begin(self, question: bytes) -> None:
        """Have it fork for a question.

        Raises
        ------
        ServerEndedError
            If it is gone.
        """
        assert self._process.stdin, "it is a pipe"
        self._said = b""
        try:
            self._process.stdin.write(question)
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise ServerEndedError from error

    def hear(self, until: re.Pattern[bytes], end_s: float | None) -> re.Match[bytes]:
        """What the trial has said, a line a step, once that is in it.

        Parameters
        ----------
        end_s : float, optional
            On ``time.monotonic``'s clock.

        Raises
        ------
        TimeoutError
            If it has not said so in time; the server must be ended then.
        ServerEndedError
            If the server itself is gone.
        """
        assert self._process.stdout, "it is a pipe"
        pipe = self._process.stdout.fileno()
        while (found := until.search(self._said)) is None:
            left_s = None if end_s is None else max(0.0, end_s - time.monotonic())
            if not select.select([pipe], [], [], left_s)[0]:
                raise TimeoutError
            part = os.read(pipe, 1 << 16)
            if not part:
                raise ServerEndedError
            self._said += part
        return found

    def end(self) -> None:
        """End it and the trial that it forked for."""
        if self.is_alive:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()
        os.close(self._lifeline)


class TrialServers:
    """Those of this process that are idle. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[TrialServer] = []

    def start(self, count: int = 1) -> None:
        """Have so many load their library already: trials are coming."""
        with self._lock:
            while len(self._idle) < min(count, _MOST_IDLE):
                self._idle.append(TrialServer())

    def begun(self, question: bytes) -> TrialServer:
        """An idle one, or a new one, that forks for a question: to be given back, or ended.

        Raises
        ------
        ServerEndedError
            If a new server ends by itself.
        """
        server = self._taken()
        if server is not None:
            try:
                server.begin(question)
                return server
            except ServerEndedError:  # since nobody had asked for a while
                server.end()
        server = TrialServer()
        server.begin(question)
        return server

    def give_back(self, server: TrialServer) -> None:
        """Keep it for the next trial."""
        with self._lock:
            if len(self._idle) < _MOST_IDLE:
                self._idle.append(server)
                return
        server.end()

    def _taken(self) -> TrialServer | None:
        with self._lock:
            while self._idle:
                server = self._idle.pop()
                if server.is_alive:
                    return server
                server.end()
        return None

    def end(self) -> None:
        """End all that are idle."""
        with self._lock:
            ended, self._idle = self._idle, []
        for server in ended:
            server.end()

    def leave_behind(self) -> None:
        """Begin anew in a forked child: these are the parent's children."""
        self.__init__()  # type: ignore[misc]


SERVERS = TrialServers()
os.register_at_fork(after_in_child=SERVERS.leave_behind)
atexit.register(SERVERS.end)
