"""A node's server as a process: started, started again when it ends, and ended.

Beside one that serves a spare one waits, which has imported what a server needs, to take its place.
"""

from __future__ import annotations

import logging
import re
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from surplus.engine.deployment import tied_process
from surplus.engine.deployment.held_ports import HeldPorts
from surplus.engine.deployment.restart_pauses import RestartPauses

_LOG = logging.getLogger(__name__)
_TOLD = {
    "grpc": re.compile(r"serving .* on (\S+:\d+) \(gRPC"),
    "http": re.compile(r"HTTP: https?://(\S+:\d+)/"),
    "metrics": re.compile(r"metrics: https?://(\S+:\d+)/"),
}
"""How a server says where it listens, in this order."""


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
        self._spare: subprocess.Popen[str] | None = None
        self._held: HeldPorts | None = None
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
        pauses = RestartPauses()
        wait_s = 0.0
        while not self._is_closed.wait(wait_s):
            if self._held is None:
                self._hold_ports()
            began_s = time.monotonic()
            self._run()
            if self._is_closed.is_set():
                break
            has_served = bool(self.addresses.grpc)
            if not has_served:
                self._let_ports_go()  # perhaps it could not have them
            self.addresses = Addresses()
            wait_s = pauses.after(time.monotonic() - began_s, has_served)
            _LOG.warning("the server has ended: %s", self.last_words)
        if self._spare is not None:
            tied_process.end(self._spare)
        self._let_ports_go()

    def _run(self) -> None:
        """Start it, read where it listens, wait for its end."""
        process, self._spare = self._spare, None
        if process is not None and process.poll() is not None:
            tied_process.end(process)
            process = None
        with process or tied_process.begin(self._log) as process:
            self._process = process
            if self._is_closed.is_set():  # since before it was there to be ended
                process.terminate()
            self.starts += 1
            tied_process.tell(process, self._words())
            assert process.stdout is not None
            for line in process.stdout:
                self._heard(line)

    def _words(self) -> list[str]:
        held = (0,) * len(_TOLD) if self._held is None else self._held.ports
        ports = zip(("--port", "--http-port", "--metrics-port"), map(str, held), strict=True)
        words = [*self._options, "--host", self._host, "--drain", str(self._drain_s)]
        return words + [word for pair in ports for word in pair]

    def _hold_ports(self) -> None:
        try:
            self._held = HeldPorts(self._host, len(_TOLD))
        except OSError:
            self._held = None  # the server says what is wrong with the host

    def _let_ports_go(self) -> None:
        if self._held is not None:
            self._held.close()
        self._held = None

    def _heard(self, line: str) -> None:
        """Note addresses as they are told; all of them count when the last is there."""
        for key, pattern in _TOLD.items():
            if found := pattern.match(line):
                self._told[key] = found[1]
                if key == "metrics":
                    self.addresses = Addresses(**self._told)
                    self._spare = tied_process.begin(self._log)
