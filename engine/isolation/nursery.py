"""A process that forks workers: with everything imported, one is there within milliseconds."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager

from surplus.engine.errors import UnavailableError

_MODULE = "surplus.engine.isolation.nursery_process"
_LINE_BYTES = 64

# What computes here are lanes; and a process with threads cannot be forked.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class Nursery(AbstractContextManager["Nursery"]):
    """Starts workers until the end of its block, and then ends all that are left.

    It begins to import as it is made; :meth:`fork` awaits that. One event loop uses it.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._asking = asyncio.Lock()
        self._start()

    def __exit__(self, *_: object) -> None:
        self._end()

    async def fork(self, descriptors: Sequence[int]) -> int:
        """Fork a worker that gets these; returns its process.

        Raises
        ------
        UnavailableError
            If it cannot be forked.
        """
        async with self._asking:
            for _ in range(2):
                try:
                    return await asyncio.to_thread(self._forked, descriptors)
                except OSError as error:
                    failed = error
                    self._end()
                    self._start()
        raise UnavailableError(str(failed))

    async def end_of(self, process: int) -> str:
        """How a worker ended, in words; one that has not ended yet is ended."""
        async with self._asking:
            try:
                status = int(await asyncio.to_thread(self._asked, f"ended {process}".encode()))
            except (OSError, ValueError):
                return "has ended"
        return _end_text(status)

    def _asked(self, question: bytes) -> bytes:
        assert self._socket is not None
        self._socket.send(question)
        return self._socket.recv(_LINE_BYTES)

    def _forked(self, descriptors: Sequence[int]) -> int:
        assert self._socket is not None
        socket.send_fds(self._socket, [b"fork"], list(descriptors))
        answer = self._socket.recv(_LINE_BYTES)
        if not answer:
            raise OSError("what starts them has ended")
        process = int(answer)
        if process <= 0:
            raise OSError(-process, os.strerror(-process))
        return process

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _MODULE, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env=os.environ | _ONE_THREAD,
                process_group=0,  # Ctrl-C is the server's
            )
        ours.settimeout(30.0)
        self._socket = ours

    def _end(self) -> None:
        """It ends its workers when nobody holds the socket."""
        if self._socket is not None:
            self._socket.close()
        if self._process is not None:
            try:
                self._process.wait(10.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


def _end_text(status: int) -> str:
    if status >= 0:
        return f"has ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"
