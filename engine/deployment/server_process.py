"""A node's server as a process: started, started again when it ends, and ended."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_LOG = logging.getLogger(__name__)
_TOLD = {
    "grpc": re.compile(r"serving .* on (\S+:\d+) \(gRPC"),
    "http": re.compile(r"HTTP: https?://(\S+:\d+)/"),
    "metrics": re.compile(r"metrics: https?://(\S+:\d+)/"),
}
"""How a server says where it listens, in this order."""

_SOON_S = 5.0
"""Who ends so soon after its start is not started again at once."""
_LONGEST_WAIT_S = 10.0


@dataclass(frozen=True)
class Addresses:
    """``HOST:PORT`` of each; empty before it is known."""

    grpc: str = ""
    http: str = ""
    metrics: str = ""


class ServerProcess:
    """A server that is kept up by a thread.

    Parameters
    ----------
    options : sequence of str
        Of ``engine serve``; but for ports.
    host : str
        To listen on.
    log : Path
        Gets its standard error.
    drain_s : float
        Given to queries in flight when it is ended.
    """

    def __init__(self, options: Sequence[str], host: str, log: Path, drain_s: float) -> None:
        self._options = options
        self._host = host
        self._log = log
        self._drain_s = drain_s
        self._is_closed = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self._ports: tuple[str, ...] = ("0",) * len(_TOLD)
        self._told: dict[str, str] = {}
        self.addresses = Addresses()
        self.starts = 0
        self._thread = threading.Thread(target=self._keep_up, name="surplus server", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        """Of the process that runs now; 0 if none does."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else 0

    @property
    def last_words(self) -> str:
        """The last line that it wrote to its log."""
        try:
            lines = self._log.read_text(errors="replace").strip().splitlines()
        except OSError:
            return ""
        return lines[-1][:500] if lines else ""

    def kill(self) -> None:
        """End it at once, for it to be started again: it does not answer."""
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """Have it answer what it has, and end; blocks until then."""
        self._is_closed.set()
        process = self._process
        if process is not None:
            process.terminate()
            try:
                process.wait(self._drain_s + 10)
            except subprocess.TimeoutExpired:
                process.kill()
        self._thread.join()

    def _keep_up(self) -> None:
        wait_s = 0.0
        while not self._is_closed.wait(wait_s):
            began_s = time.monotonic()
            self._run()
            if self._is_closed.is_set():
                return
            lived_s = time.monotonic() - began_s
            if not self.addresses.grpc:
                self._ports = ("0",) * len(_TOLD)  # perhaps somebody else has taken them
            self.addresses = Addresses()
            wait_s = 0.0 if lived_s > _SOON_S else min(max(0.5, 2 * wait_s), _LONGEST_WAIT_S)
            _LOG.warning("the server has ended: %s", self.last_words)

    def _run(self) -> None:
        """Start it, read where it listens, wait for its end."""
        module = "surplus.engine.cli.serve_tied"
        ports = zip(("--port", "--http-port", "--metrics-port"), self._ports, strict=True)
        words = [*self._options, "--host", self._host, "--drain", str(self._drain_s)]
        words += [word for pair in ports for word in pair]
        with self._log.open("a", encoding="utf-8") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", module, *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        with process:
            self._process = process
            if self._is_closed.is_set():  # since before it was there to be ended
                process.terminate()
            self.starts += 1
            assert process.stdout is not None
            for line in process.stdout:
                self._heard(line)

    def _heard(self, line: str) -> None:
        """Note addresses as they are told; all of them count when the last is there."""
        for key, pattern in _TOLD.items():
            if found := pattern.match(line):
                self._told[key] = found[1]
                if key == "metrics":
                    self.addresses = Addresses(**self._told)
                    self._ports = tuple(self._told[own].rsplit(":", 1)[1] for own in _TOLD)
